import { Effect, Option, Result, Schedule, Stream } from "effect"
import { HttpServerResponse } from "effect/http"
import type { Currency } from "../../domain/Currency.ts"
import type { RateLimited } from "../../domain/errors/Retriable.ts"
import { ValidationFailed } from "../../domain/errors/Terminal.ts"
import { RawJson } from "../../domain/Json.ts"
import type { StatementPage, StatementPosition } from "../../services/ports/FloatEntries.ts"
import { entryView } from "../api/Statement.ts"
import { childPath, issueAt } from "../json/Issues.ts"

/** So many entries are in memory at once. */
const ENTRIES_A_READ = 1_000
/** A read between two others of the tenant's may be shed; the file goes on after a pause, so often. */
const PAUSES = 60
const PAUSE = Schedule.spaced("1 second")

const COLUMNS = [
  "id",
  "at",
  "type",
  "reference",
  "external_id",
  "available_change_minor",
  "reserved_change_minor",
  "fee_minor",
  "available_after_minor",
  "reserved_after_minor",
  "metadata"
] as const

/** Whether a request asks for CSV. */
export const wantsCsv = (accept: ReadonlyArray<string>): boolean =>
  accept.some((value) => value.split(",").some((range) => range.split(";")[0]?.trim().toLowerCase() === "text/csv"))

/** A file holds all of its interval: it has no pages. */
export const wholeInterval = (query: { readonly limit?: unknown; readonly cursor?: unknown }) => {
  const issues = (["limit", "cursor"] as const)
    .filter((name) => query[name] !== undefined)
    .map((name) => issueAt(childPath(null, name), "is not for text/csv, which holds every entry of the interval"))
  return issues.length === 0 ? Result.succeed(undefined) : Result.fail(new ValidationFailed({ issues }))
}

/**
 * The entries as CSV (RFC 4180), read and written page by page as the client takes them. The first page is read before anything is answered, so
 * that a refusal is an envelope; a later failure ends the connection before the end of the body.
 */
export const statementCsv = Effect.fnUntraced(function* <E>(
  currency: Currency,
  read: (page: {
    readonly limit: number
    readonly after: StatementPosition | null
  }) => Effect.Effect<StatementPage, E | RateLimited | ValidationFailed>
) {
  const first = yield* read({ limit: ENTRIES_A_READ, after: null })
  const next = (after: StatementPosition) =>
    read({ limit: ENTRIES_A_READ, after }).pipe(
      Effect.retry({ while: isShed, times: PAUSES, schedule: PAUSE }),
      Effect.map(stepOf)
    )
  const rest = first.next === null ? Stream.empty : Stream.paginate(first.next, next)
  const body = Stream.concat(Stream.make(`${COLUMNS.join(",")}\r\n${textOf(first)}`), rest)
  return HttpServerResponse.stream(Stream.encodeText(body), {
    contentType: "text/csv; charset=utf-8; header=present",
    headers: { "content-disposition": `attachment; filename="statement-${currency}.csv"` }
  })
})

const isShed = (error: unknown): boolean =>
  typeof error === "object" && error !== null && "_tag" in error && error._tag === "rate_limited"

const stepOf = (page: StatementPage) => [[textOf(page)], Option.fromNullOr(page.next)] as const

const textOf = ({ items }: StatementPage): string =>
  items
    .map((item) => {
      const view = entryView(item)
      return `${COLUMNS.map((column) => fieldOf(view[column])).join(",")}\r\n`
    })
    .join("")

/** A text that a spreadsheet would take for a formula begins with an apostrophe; a number, also a negative one, stays a number. */
const fieldOf = (value: string | bigint | RawJson | null): string => {
  if (value === null) return ""
  if (typeof value === "bigint") return value.toString()
  const text = value instanceof RawJson ? value.text : value
  const harmless = /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
