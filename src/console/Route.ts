import type { Effect, Stream } from "effect"
import { type ComponentChildren, h } from "preact"
import type { Instant } from "../domain/Instant.ts"
import { maskedText } from "../domain/Masking.ts"
import type { Permission } from "../domain/Operator.ts"
import { consoleActor } from "../domain/Operator.ts"
import { type Acting } from "../services/approvals/Deciding.ts"
import type { AuditEntry } from "../services/ports/AuditLog.ts"
import type { Visitor } from "../services/SignIn.ts"

/** A request of a person who is signed in and has the permission to make it. */
export interface Visit {
  readonly visitor: Visitor
  readonly at: Instant
  /** The path as it is in the address. */
  readonly path: string
  /** The values of `:name` in the route's path. */
  readonly params: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  readonly form: URLSearchParams
}

/** The content of a page, inside the frame that every page has. */
export interface Page {
  readonly _tag: "Page"
  readonly status: number
  readonly title: string
  readonly body: ComponentChildren
  /** Seconds after which the page is fetched again, where scripts run; null: never. */
  readonly refreshSeconds: number | null
}

/** After a change, the browser fetches a page by its address, so that a reload sends nothing twice. */
export interface Redirect {
  readonly _tag: "Redirect"
  readonly to: string
}

/** A file to download, written while it is read. If it fails, the connection is closed before the end of the body. */
export interface CsvFile {
  readonly _tag: "CsvFile"
  readonly name: string
  readonly text: Stream.Stream<string, unknown>
}

export type Answer = Page | Redirect | CsvFile

/** One address of the console. The permission is checked before the answer is computed. */
export interface Route {
  readonly method: "GET" | "POST"
  /** As "/transactions/:reference". */
  readonly path: string
  readonly permission: Permission
  readonly answer: (visit: Visit) => Effect.Effect<Answer>
}

export const page = (
  title: string,
  body: ComponentChildren,
  more: Partial<Pick<Page, "status" | "refreshSeconds">> = {}
): Page => ({
  _tag: "Page",
  status: 200,
  title,
  body,
  refreshSeconds: null,
  ...more
})

/** `said` names one of the notices, which is shown on the next page. */
export const redirect = (to: string, said?: string): Redirect => ({
  _tag: "Redirect",
  to: said === undefined ? to : `${to}${to.includes("?") ? "&" : "?"}said=${encodeURIComponent(said)}`
})

/** The audit row of an action that a person takes in the console. */
export const auditOf = (
  { at, visitor }: Visit,
  action: string,
  subject: string,
  details: Readonly<Record<string, string>> = {}
): AuditEntry => ({ at, actor: consoleActor(visitor.name), action, subject, details })

/** The person who acts, and when. */
export const acting = ({ at, visitor }: Visit): Acting => ({ by: visitor.name, at })

/** A text of the form, masked and cut; empty where nothing was typed. */
export const maskedField = ({ form }: Visit, name: string, maxLength: number): string =>
  maskedText((form.get(name) ?? "").trim().slice(0, maxLength))

/** 404, with a link to all that there are. */
export const missing = (what: string, to: string, all: string): Page =>
  page(`There is no such ${what}`, h("p", null, h("a", { href: to }, all)), { status: 404 })

/** Names, references and ids; nothing that would have to be decoded. */
export const ROUTE_PARAMETER = /^[A-Za-z0-9_.-]{1,80}$/
