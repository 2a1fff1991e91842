import { Effect, Stream } from "effect"
import { type ComponentChild, h } from "preact"
import { isReference } from "../../domain/Ids.ts"
import { may } from "../../domain/Operator.ts"
import { RULING_HEADER } from "../../domain/RulingFile.ts"
import { elapsed } from "../../services/Attention.ts"
import { ACKNOWLEDGED_HOURS, restingUntil } from "../../services/ports/Acknowledgements.ts"
import { ProviderRegistry } from "../../services/ports/ProviderRegistry.ts"
import {
  type UnsettledState,
  type UnsettledSum,
  type UnsettledTransaction,
  UnsettledWork
} from "../../services/ports/UnsettledWork.ts"
import { HANDLED_AT_MOST, type Handled, UnsettledQueue } from "../../services/settlement/UnsettledQueue.ts"
import { LONGEST_ACKNOWLEDGEMENT } from "../AcknowledgeForm.ts"
import { badge, field, hidden, link, minute, money, said, section, type Tone, table, transactionLink } from "../Elements.ts"
import type { Room } from "../Handler.ts"
import { noteText } from "../HappeningText.ts"
import { listFile } from "../ListFile.ts"
import { filterForm, keptOf, listEnd, placeOf, placeText, ROWS_SHOWN } from "../ListFilters.ts"
import { type Answer, auditOf, maskedField, page, redirect, type Visit } from "../Route.ts"
import { unsettledAfter, unsettledColumns, unsettledFilters, unsettledNext, unsettledPages } from "../UnsettledList.ts"

/** The most rows of a template for rulings. */
const RULINGS_AT_MOST = 1_000
const TITLE = "Unknown outcomes"

/** Everything whose outcome is unknown or overdue, and actions on many of them at once. */
export const makeUnknown = Effect.gen(function* () {
  const work = yield* UnsettledWork
  const queue = yield* UnsettledQueue
  const filters = unsettledFilters((yield* ProviderRegistry).known)

  const show = Effect.fn("UnknownPage.show")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const { query } = visit
    const { filter, mistakes } = filters.read(query, visit.at)
    const form = filterForm({ to: "/unknown", filters: filters.all, asked: query, mistakes })
    if (mistakes.size > 0) return page(TITLE, form, { status: 422 })
    const rows = yield* work.list(filter, unsettledAfter(placeOf(query)), ROWS_SHOWN + 1)
    const sums = yield* work.count(filter)
    const [shown, next, kept] = [rows.slice(0, ROWS_SHOWN), unsettledNext(rows, ROWS_SHOWN), keptOf(filters.all, query)]
    return page(TITLE, [
      form,
      section(
        "Results",
        summary(sums, kept),
        listed(visit, shown, { sums, kept }),
        listEnd({ to: "/unknown", kept, next: next === null ? null : placeText(next), older: "Younger ones" })
      ),
      evidenceForm(visit)
    ])
  })

  const file = Effect.fn("UnknownPage.file")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const { filter, mistakes } = filters.read(visit.query, visit.at)
    if (mistakes.size > 0) return yield* show(visit)
    return listFile({ name: "unknown", columns: unsettledColumns(visit.at), read: unsettledPages(work, filter) })
  })

  /** A file to fill in: the transactions that wait for a person, with the outcome left blank. */
  const template = Effect.fn("UnknownPage.template")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const { filter, mistakes } = filters.read(visit.query, visit.at)
    if (mistakes.size > 0) return yield* show(visit)
    const rows = yield* work.list({ ...filter, state: "review" }, null, RULINGS_AT_MOST)
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
    const note = maskedField(visit, "taken", LONGEST_ACKNOWLEDGEMENT)
    if (note === "") return redirect(back, "reason-missing")
    const { filter, mistakes } = filters.read(asked, visit.at)
    const seenUntil = Number(form.get("seen"))
    if (mistakes.size > 0 || !Number.isSafeInteger(seenUntil)) return redirect(back)
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
      { method: "GET", path: "/unknown.csv", permission: "look", answer: file },
      { method: "GET", path: "/unknown/rulings.csv", permission: "look", answer: template },
      { method: "POST", path: "/unknown/act", permission: "resolve", answer: act }
    ]
  } satisfies Room
})

const columnsOf = (mayAct: boolean) => [
  ...(mayAct ? ["Choose"] : []),
  "Reference",
  "Tenant",
  "Kind",
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
  row.state === "review"
    ? [link(`/reviews/${row.reference}`, badge("review", tones.review)), " waits for a person"]
    : [badge(row.state, tones[row.state]), " asked until ", minute(row.askedUntil)],
  elapsed(visit.at, row.createdAt) ?? "",
  `${elapsed(visit.at, row.heardAt)} ago`,
  row.acknowledgedUntil !== null && row.acknowledgedUntil > visit.at ? ["until ", minute(row.acknowledgedUntil)] : "not yet",
  said(noteText(row.note))
]

const summary = (sums: ReadonlyArray<UnsettledSum>, kept: URLSearchParams): ComponentChild => {
  const all = sums.reduce((total, { count }) => total + count, 0)
  return h(
    "p",
    null,
    all === 0 ? "Nothing." : `${all} in all: `,
    sums.map(({ amount, count, currency }, at) => [at === 0 ? "" : ", ", `${count} of `, money(amount, currency)]),
    all === 0
      ? null
      : [
          ". ",
          link(`/unknown/rulings.csv?${kept}`, "Those that wait for a person, as a file to fill in"),
          "; the providers of the others are asked until the time in their rows, and then they wait for one, too."
        ]
  )
}

const listed = (
  visit: Visit,
  rows: ReadonlyArray<UnsettledTransaction>,
  { kept, sums }: { readonly kept: URLSearchParams; readonly sums: ReadonlyArray<UnsettledSum> }
): ComponentChild => {
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
    hidden("filter", kept.toString()),
    hidden("seen", String(visit.at)),
    field({
      name: "taken",
      label: "What you did about it, for the audit log of each",
      isRequired: true,
      maxLength: LONGEST_ACKNOWLEDGEMENT
    }),
    h("p", { class: "inline" }, [
      button("ask ticked", "Ask again about selected", "strong"),
      button("ask all", `Ask again about all ${all}`),
      button("acknowledge ticked", "Acknowledge selected for a day"),
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
/** The most of each kind that are named. */
const NAMED = 100

const ended = (handled: ReadonlyArray<Handled>, back: string): Answer =>
  page("Results", [
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
