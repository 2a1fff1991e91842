import { Effect, Option, Result } from "effect"
import { type ComponentChild } from "preact"
import type { CsvValue } from "../../domain/CsvText.ts"
import type { AppId } from "../../domain/Ids.ts"
import { maskedText } from "../../domain/Masking.ts"
import { may } from "../../domain/Operator.ts"
import { maskedSender, type Sender, senderFrom } from "../../domain/Sender.ts"
import type { Tenant } from "../../domain/Tenant.ts"
import { Tenants } from "../../services/ports/Tenants.ts"
import { badge, field, form, link, section, table, warning } from "../Elements.ts"
import type { Room } from "../Handler.ts"
import { listFile } from "../ListFile.ts"
import { type Filter, oneOf, readingOf } from "../ListFilters.ts"
import { type Answer, auditOf, missing, page, redirect, type Visit } from "../Route.ts"
import { fittingTenants, mistakesIn, tenantFinder, tenantList } from "../TenantList.ts"
import { lineOf } from "../TypedText.ts"

const LONGEST_NOTE = 500
/** Known senders are cached in memory; this many others are read at once. */
const READ_TOGETHER = 100
const UNREADABLE =
  "What is kept does not open: it is damaged, or of another master key. It is sent to no provider. Type it again."

/** The sender of each tenant, as it is sent to providers where a country requires one. An administrator sets it. */
export const makeSenders = Effect.gen(function* () {
  const tenants = yield* Tenants

  const withSender = (tenant: Tenant) => Effect.map(tenants.sender(tenant.appId), (sender): Paying => ({ tenant, sender }))
  const together = { concurrency: READ_TOGETHER }

  /** The tenants whose sender has the requested state. */
  const wanted = Effect.fnUntraced(function* (asked: URLSearchParams) {
    const list = yield* tenants.list
    const state = readingOf(asked).value(own.state)
    if (state === null) return list
    const paying = yield* Effect.forEach(list, withSender, together)
    return paying.flatMap(({ sender, tenant }) => (stateOf(sender) === state ? [tenant] : []))
  })

  const all = Effect.fn("SendersPage.all")(function* ({ query }: Visit) {
    const { end, form, shown, status } = tenantList(yield* wanted(query), "/senders", query, { own: [own.state], hasFile: true })
    const rows = (yield* Effect.forEach(shown, withSender, together)).map(({ sender, tenant: { appId } }) => [
      link(`/senders/${appId}`, appId),
      badge(stateOf(sender), sender === null ? "quiet" : sender === "unreadable" ? "bad" : "good")
    ])
    const list = section("Who pays, for each tenant", table("By name", ["Tenant", "Sender"], rows), end)
    return page("Senders", [form, list], { status })
  })

  const file = Effect.fn("SendersPage.file")(function* (visit: Visit): Effect.fn.Return<Answer> {
    if (mistakesIn(visit.query, [own.state]).size > 0) return yield* all(visit)
    const found = fittingTenants(yield* wanted(visit.query), visit.query)
    return listFile({
      name: "senders",
      columns,
      read: ({ after, limit }: { readonly limit: number; readonly after: number | null }) => {
        const end = (after ?? 0) + limit
        return Effect.map(Effect.forEach(found.slice(after ?? 0, end), withSender, together), (rows) => ({
          rows,
          next: end < found.length ? end : null
        }))
      }
    })
  })

  const find = tenantFinder(tenants)

  const shown = Effect.fnUntraced(function* (visit: Visit, appId: AppId, problem: string | null) {
    const sender = yield* tenants.sender(appId)
    const shown = sender === null || sender === "unreadable" ? null : maskedSender(sender)
    const rows = shown === null ? [] : [[shown.name, shown.country, shown.number, shown.address]]
    const body = [
      warning(problem),
      warning(sender === "unreadable" ? UNREADABLE : null),
      section(
        "As it is sent",
        table("Masked; what was typed is kept sealed", ["Name", "Country", "Number", "Address"], rows, "Nobody is named.")
      ),
      may(visit.visitor.role, "configure") ? changeForms(visit, appId, sender !== null) : null
    ]
    return page(`Sender of ${appId}`, body, { status: problem === null ? 200 : 422 })
  })

  const one = Effect.fn("SendersPage.one")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const found = yield* find(visit)
    return Option.isNone(found) ? noTenant : yield* shown(visit, found.value.appId, null)
  })

  const set = Effect.fn("SendersPage.set")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const found = yield* find(visit)
    if (Option.isNone(found)) return noTenant
    const { appId } = found.value
    const typed = (name: string) => visit.form.get(name) ?? ""
    const sender = senderFrom({
      name: typed("name"),
      country: typed("country").trim(),
      number: typed("number"),
      address: typed("address")
    })
    const why = lineOf(visit.form.get("why"), LONGEST_NOTE)
    if (Result.isFailure(sender)) return yield* shown(visit, appId, `Nothing was done: ${sender.failure}.`)
    if (why === null) return yield* shown(visit, appId, `Say why, in at most ${LONGEST_NOTE} characters.`)
    const details = { ...maskedSender(sender.success), reason: maskedText(why) }
    yield* tenants.setSender(appId, sender.success, auditOf(visit, "tenant sender", appId, details))
    return redirect(`/senders/${appId}`, "sender-set")
  })

  const remove = Effect.fn("SendersPage.remove")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const found = yield* find(visit)
    if (Option.isNone(found)) return noTenant
    const { appId } = found.value
    const why = lineOf(visit.form.get("why"), LONGEST_NOTE)
    if (why === null) return yield* shown(visit, appId, `Say why, in at most ${LONGEST_NOTE} characters.`)
    yield* tenants.setSender(appId, null, auditOf(visit, "tenant sender remove", appId, { reason: maskedText(why) }))
    return redirect(`/senders/${appId}`, "sender-removed")
  })

  return {
    place: { to: "/senders", name: "Senders" },
    routes: [
      { method: "GET", path: "/senders", permission: "look", answer: all },
      { method: "GET", path: "/senders.csv", permission: "look", answer: file },
      { method: "GET", path: "/senders/:app", permission: "look", answer: one },
      { method: "POST", path: "/senders/:app/set", permission: "configure", answer: set },
      { method: "POST", path: "/senders/:app/remove", permission: "configure", answer: remove }
    ]
  } satisfies Room
})

interface Paying {
  readonly tenant: Tenant
  readonly sender: Sender | "unreadable" | null
}

const states = ["nobody", "set", "does not open"] as const
const own = { state: oneOf("state", "Sender", states) } satisfies Readonly<Record<string, Filter<unknown>>>

const stateOf = (sender: Paying["sender"]): (typeof states)[number] =>
  sender === null ? "nobody" : sender === "unreadable" ? "does not open" : "set"

/** Masked, as on the tenant's own page. */
const memberOf =
  (name: keyof ReturnType<typeof maskedSender>) =>
  ({ sender }: Paying): CsvValue =>
    sender === null || sender === "unreadable" ? null : maskedSender(sender)[name]

const columns: ReadonlyArray<readonly [string, (paying: Paying) => CsvValue]> = [
  ["app_id", ({ tenant }) => tenant.appId],
  ["status", ({ tenant }) => tenant.status],
  ["sender", ({ sender }) => stateOf(sender)],
  ["name", memberOf("name")],
  ["country", memberOf("country")],
  ["number", memberOf("number")],
  ["address", memberOf("address")]
]

const noTenant = missing("tenant", "/senders", "All tenants")

const changeForms = (visit: Visit, appId: AppId, isTold: boolean): ComponentChild => {
  const typed = (name: string) => visit.form.get(name) ?? ""
  const why = (id: string) =>
    field({ name: "why", id, label: "Why, for the audit log", value: typed("why"), isRequired: true, maxLength: LONGEST_NOTE })
  const own = (name: string, label: string, hint: string) => field({ name, label, hint, value: typed(name), isRequired: true })
  return [
    section(
      "Say who pays",
      form(visit, {
        to: `/senders/${appId}/set`,
        button: isTold ? "Replace it" : "Keep it",
        tone: "strong",
        fields: [
          own("name", "Full name", "A company's or a person's, as in its papers"),
          own("country", "Country", "Two capital letters, such as KE"),
          own("number", "Phone number", "With or without the country's prefix"),
          own("address", "Address", "In one line"),
          why("why-set")
        ]
      })
    ),
    isTold
      ? section(
          "Name nobody",
          form(visit, { to: `/senders/${appId}/remove`, button: "Remove it", tone: "danger", fields: [why("why-remove")] })
        )
      : null
  ]
}
