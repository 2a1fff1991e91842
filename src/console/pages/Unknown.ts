import { Effect, Result, Schema, Stream } from "effect"
import { type ComponentChild, h } from "preact"
import { Currency, isCurrency } from "../../domain/Currency.ts"
import { AppId, isReference, Mode } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import { maskedText } from "../../domain/Masking.ts"
import { fromDecimal } from "../../domain/Money.ts"
import { may } from "../../domain/Operator.ts"
import { RULING_HEADER } from "../../domain/RulingFile.ts"
import { elapsed } from "../../services/Attention.ts"
import { ACKNOWLEDGED_HOURS, restingUntil } from "../../services/ports/Acknowledgements.ts"
import { ProviderRegistry } from "../../services/ports/ProviderRegistry.ts"
import {
  type UnsettledFilter,
  UnsettledKind,
  type UnsettledPlace,
  UnsettledState,
  type UnsettledSum,
  type UnsettledTransaction,
  UnsettledWork
} from "../../services/ports/UnsettledWork.ts"
import { HANDLED_AT_MOST, type Handled, UnsettledQueue } from "../../services/settlement/UnsettledQueue.ts"
import { LONGEST_ACKNOWLEDGEMENT } from "../AcknowledgeForm.ts"
import {
  badge,
  choice,
  field,
  hidden,
  link,
  minute,
  money,
  said,
  section,
  type Tone,
  table,
  transactionLink
} from "../Elements.ts"
import type { Room } from "../Handler.ts"
import { noteText } from "../HappeningText.ts"
import { type Answer, auditOf, page, redirect, type Visit } from "../Route.ts"

const ROWS_SHOWN = 50
/** Of a file. */
const ROWS_WRITTEN = 1_000
const TITLE = "Unknown outcomes"

/** Everything whose outcome is unknown or overdue, and what is done about many of it at once. */
export const makeUnknown = Effect.gen(function* () {
  const work = yield* UnsettledWork
  const queue = yield* UnsettledQueue
  const { known } = yield* ProviderRegistry

  const show = Effect.fn("UnknownPage.show")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const { filter, mistakes } = filterOf(visit.query, visit.at)
    const form = filterForm(visit.query, mistakes, known)
    if (mistakes.length > 0) return page(TITLE, form, { status: 422 })
    const [rows, sums] = [yield* work.list(filter, placeOf(visit.query), ROWS_SHOWN + 1), yield* work.count(filter)]
    const shown = rows.slice(0, ROWS_SHOWN)
    const last = rows.length > ROWS_SHOWN ? shown.at(-1) : undefined
    return page(TITLE, [
      form,
      section("What fits", summary(visit, sums), last === undefined ? null : pager(visit, last), listed(visit, shown, sums)),
      evidenceForm(visit)
    ])
  })

  /** A file to fill in: those that wait for a person, with the outcome left open. */
  const template = Effect.fn("UnknownPage.template")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const { filter } = filterOf(visit.query, visit.at)
    const rows = yield* work.list({ ...filter, state: "review" }, null, ROWS_WRITTEN)
    const lines = rows.map(({ currency, reference }) => `${reference},,,${currency}\n`)
    return {
      _tag: "CsvFile",
      name: "rulings.csv",
      text: Stream.make(`${RULING_HEADER}\n`, ...lines)
    }
  })

  const act = Effect.fn("UnknownPage.act")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const { form } = visit
    const [wanted = "", whose] = (form.get("do") ?? "").split(" ")
    const asked = new URLSearchParams(form.get("filter") ?? "")
    const back = `/unknown?${asked}`
    const note = maskedText((form.get("taken") ?? "").trim().slice(0, LONGEST_ACKNOWLEDGEMENT))
    if (note === "") return redirect(back, "reason-missing")
    const { filter, mistakes } = filterOf(asked, visit.at)
    const seenUntil = Number(form.get("seen"))
    if (mistakes.length > 0 || !Number.isSafeInteger(seenUntil)) return redirect(back)
    const before = Math.max(0, Math.min(filter.createdBefore ?? seenUntil, seenUntil, visit.at))
    const references =
      whose === "all" ? yield* queue.matching({ ...filter, createdBefore: before }) : form.getAll("id").filter(isReference)
    if (references.length === 0) return redirect(back, "none-ticked")
    const audit = (action: string, details: Readonly<Record<string, string>>) => (reference: string) =>
      auditOf(visit, action, reference, { ...details, note, together: String(references.length) })
    if (wanted === "ask") return ended(yield* queue.ask(references, audit("transaction ask", {})), back)
    const hours = ACKNOWLEDGED_HOURS.usual
    const acknowledged = yield* queue.acknowledge(
      references,
      restingUntil(visit.at, hours),
      audit("review acknowledge", { hours: String(hours) })
    )
    return ended(acknowledged, back)
  })

  return {
    place: { to: "/unknown", name: "Unknown" },
    routes: [
      { method: "GET", path: "/unknown", permission: "look", answer: show },
      { method: "GET", path: "/unknown/rulings.csv", permission: "look", answer: template },
      { method: "POST", path: "/unknown/act", permission: "resolve", answer: act }
    ]
  } satisfies Room
})

const columnsOf = (mayAct: boolean) => [
  ...(mayAct ? ["Choose"] : []),
  "Reference",
  "Tenant",
  "What",
  "Provider",
  "Amount",
  "State",
  "Open for",
  "Last asked",
  "Acknowledged",
  "Last answer"
]

const tones: Readonly<Record<UnsettledState, Tone>> = { unknown: "wait", overdue: "wait", review: "bad" }

const rowOf = (visit: Visit, row: UnsettledTransaction): ReadonlyArray<ComponentChild> => [
  ...(may(visit.visitor.role, "resolve")
    ? [h("input", { type: "checkbox", name: "id", value: row.reference, "aria-label": `Choose ${row.reference}` })]
    : []),
  transactionLink(row.reference),
  row.appId,
  `${row.kind}, ${row.mode}`,
  row.provider,
  money(row.amount, row.amountCurrency),
  row.state === "review" ? link(`/reviews/${row.reference}`, badge("review", tones.review)) : badge(row.state, tones[row.state]),
  elapsed(visit.at, row.createdAt) ?? "",
  `${elapsed(visit.at, row.heardAt)} ago`,
  row.acknowledgedUntil !== null && row.acknowledgedUntil > visit.at ? ["until ", minute(row.acknowledgedUntil)] : "not yet",
  said(noteText(row.note))
]

const summary = ({ query }: Visit, sums: ReadonlyArray<UnsettledSum>): ComponentChild => {
  const all = sums.reduce((total, { count }) => total + count, 0)
  return h(
    "p",
    null,
    all === 0 ? "Nothing." : `${all} in all: `,
    sums.map(({ amount, count, currency }, at) => [at === 0 ? "" : ", ", `${count} of `, money(amount, currency)]),
    all === 0
      ? null
      : [". ", link(`/unknown/rulings.csv?${filterText(query)}`, "Those that wait for a person, as a file to fill in")]
  )
}

const pager = ({ query }: Visit, { createdAt, reference }: UnsettledTransaction): ComponentChild => {
  const next = new URLSearchParams(filterText(query))
  next.set("after", `${createdAt}.${reference}`)
  return h("p", { class: "pager" }, link(`/unknown?${next}`, "Younger ones"))
}

const placeOf = (query: URLSearchParams): UnsettledPlace | null => {
  const [, at, reference = ""] = /^(\d{1,15})\.(\w{26})$/.exec(query.get("after") ?? "") ?? []
  return at === undefined ? null : { createdAt: Number(at), reference }
}

const listed = (visit: Visit, rows: ReadonlyArray<UnsettledTransaction>, sums: ReadonlyArray<UnsettledSum>): ComponentChild => {
  const mayAct = may(visit.visitor.role, "resolve")
  const list = table(
    "The oldest first",
    columnsOf(mayAct),
    rows.map((row) => rowOf(visit, row)),
    "Nothing that fits is unknown or overdue."
  )
  if (!mayAct || rows.length === 0) return list
  const all = Math.min(
    HANDLED_AT_MOST,
    sums.reduce((total, { count }) => total + count, 0)
  )
  const button = (what: string, text: string, tone = "plain") =>
    h("button", { type: "submit", name: "do", value: what, class: tone }, text)
  return h(
    "form",
    { method: "post", action: "/unknown/act" },
    hidden("form_token", visit.visitor.formToken),
    hidden("filter", filterText(visit.query)),
    hidden("seen", String(visit.at)),
    field({
      name: "taken",
      label: "What you did about it, for the audit log of each",
      isRequired: true,
      maxLength: LONGEST_ACKNOWLEDGEMENT
    }),
    h("p", { class: "inline" }, [
      button("ask ticked", "Ask about the ticked again", "strong"),
      button("ask all", `Ask about all ${all} again`),
      button("acknowledge ticked", "Acknowledge the ticked for a day"),
      button("acknowledge all", `Acknowledge all ${all} for a day`)
    ]),
    list
  )
}

const ends: ReadonlyArray<readonly [Handled["what"], string]> = [
  ["settled", "settled: the provider said what became of it"],
  ["asked", "asked, and still without an outcome"],
  ["acknowledged", "acknowledged: its alerts rest for a day"],
  ["left", "left as it is"]
]
/** So many of a kind are named. */
const NAMED = 100

/** The end of each. */
const ended = (handled: ReadonlyArray<Handled>, back: string): Answer =>
  page("What became of them", [
    ends.flatMap(([what, text]) => {
      const these = handled.filter((one) => one.what === what)
      return these.length === 0
        ? []
        : [
            section(
              `${these.length} ${text}`,
              table(
                these.length > NAMED ? `The first ${NAMED}` : "Each",
                ["Reference", "Why"],
                these.slice(0, NAMED).map(({ reference, why }) => [transactionLink(reference), why])
              )
            )
          ]
    }),
    h("p", null, link(back, "Back to the list"))
  ])

const names = ["provider", "kind", "mode", "app", "state", "age", "currency", "from", "to"] as const
const ages: ReadonlyArray<readonly [string, number, string]> = [
  ["1m", 60_000, "a minute"],
  ["1h", 3_600_000, "an hour"],
  ["24h", 86_400_000, "a day"]
]
const kinds = UnsettledKind.literals
const isTenant = Schema.is(AppId)

/** The members of an address that narrow the list. */
const filterText = (query: URLSearchParams): string =>
  new URLSearchParams(names.flatMap((name) => (query.get(name) ? [[name, query.get(name) ?? ""]] : []))).toString()

const oneOf = <A extends string>(all: ReadonlyArray<A>, given: string | null): A | null =>
  all.find((one) => one === given) ?? null

const filterOf = (
  query: URLSearchParams,
  now: Instant
): { readonly filter: UnsettledFilter; readonly mistakes: ReadonlyArray<string> } => {
  const mistakes: Array<string> = []
  const given = (name: (typeof names)[number]) => query.get(name)?.trim() || null
  const app = given("app")
  if (app !== null && !isTenant(app)) mistakes.push("A tenant has 1 to 40 characters of a-z, 0-9, _ and -.")
  const currency = given("currency")
  const amount = (name: "from" | "to"): bigint | null => {
    const text = given(name)
    if (text === null) return null
    const units = isCurrency(currency) ? Result.getOrNull(fromDecimal(text.replaceAll(",", ""), currency)) : null
    if (units === null)
      mistakes.push(
        isCurrency(currency) ? "An amount is one of that currency, as 1,000 or 12.50." : "An amount needs its currency."
      )
    return units
  }
  const age = ages.find(([name]) => name === given("age"))
  const filter = {
    provider: given("provider"),
    kind: oneOf(kinds, given("kind")),
    mode: oneOf(Mode.literals, given("mode")),
    appId: app !== null && isTenant(app) ? app : null,
    state: oneOf(UnsettledState.literals, given("state")),
    createdBefore: age === undefined ? null : now - age[1],
    currency: isCurrency(currency) ? currency : null,
    amountFrom: amount("from"),
    amountTo: amount("to")
  }
  return { filter, mistakes: [...new Set(mistakes)] }
}

const filterForm = (
  query: URLSearchParams,
  mistakes: ReadonlyArray<string>,
  providers: ReadonlyArray<string>
): ComponentChild => {
  const value = (name: (typeof names)[number]) => query.get(name) ?? ""
  const any = (name: (typeof names)[number], label: string, all: ReadonlyArray<readonly [string, string]>) =>
    choice(name, label, [["", "any"], ...all], value(name))
  const words = (all: ReadonlyArray<string>) => all.map((one) => [one, one] as const)
  return section(
    "Narrow it down",
    mistakes.map((mistake) => h("p", { class: "warning", role: "alert" }, mistake)),
    h(
      "form",
      { method: "get", action: "/unknown", class: "filters" },
      any("provider", "Provider", words(providers)),
      any("kind", "Kind", words(kinds)),
      any("mode", "Mode", words(Mode.literals)),
      field({ name: "app", label: "Tenant", value: value("app"), maxLength: 40 }),
      any("state", "State", words(UnsettledState.literals)),
      any(
        "age",
        "Open for longer than",
        ages.map(([name, , text]) => [name, text] as const)
      ),
      any("currency", "Currency", words(Currency.literals)),
      field({ name: "from", label: "Amount from", value: value("from"), maxLength: 30 }),
      field({ name: "to", label: "Amount up to", value: value("to"), maxLength: 30 }),
      h("button", { type: "submit", class: "strong" }, "Show")
    )
  )
}

const evidenceForm = (visit: Visit): ComponentChild =>
  may(visit.visitor.role, "resolve")
    ? section(
        "Rule on many by one file",
        h(
          "p",
          null,
          "A file of the provider's word on each: reference, outcome (successful or failed), fee_minor, and the currency of what it names. It is looked through first, and nothing is booked before another person approves it."
        ),
        h(
          "form",
          { method: "post", action: "/unknown/files", enctype: "multipart/form-data", class: "stacked" },
          hidden("form_token", visit.visitor.formToken),
          h(
            "p",
            { class: "field" },
            h("label", { for: "field-file" }, "The file, as CSV"),
            h("input", { id: "field-file", name: "file", type: "file", accept: ".csv,text/csv", required: true })
          ),
          h("button", { type: "submit" }, "Look it through")
        )
      )
    : null
