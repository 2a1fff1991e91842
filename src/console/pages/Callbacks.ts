import { Effect, Option } from "effect"
import { type ComponentChild, h } from "preact"
import type { CsvValue } from "../../domain/CsvText.ts"
import { isReference } from "../../domain/Ids.ts"
import { iso } from "../../domain/Instant.ts"
import { may } from "../../domain/Operator.ts"
import { type CallbackCount, PeriodCounts } from "../../services/ports/PeriodCounts.ts"
import { type CallbackFilter, CallbackStatus, ProviderInbox, type StoredCallback } from "../../services/ports/ProviderInbox.ts"
import { ProviderRegistry } from "../../services/ports/ProviderRegistry.ts"
import { badge, code, field, folded, form, link, said, section, table, time, transactionLink } from "../Elements.ts"
import type { Room } from "../Handler.ts"
import { listFile } from "../ListFile.ts"
import {
  type Filter,
  filterForm,
  keptOf,
  listEnd,
  modeFilter,
  oneOf,
  type Place,
  placeOf,
  placeText,
  providerFilter,
  ROWS_SHOWN,
  readingOf,
  timeFilters
} from "../ListFilters.ts"
import { type Answer, auditOf, maskedField, page, redirect, type Visit } from "../Route.ts"

const LONGEST_REASON = 200
const HOUR_MS = 3_600_000

/** Providers' callbacks; a callback that matched nothing can be replayed or closed. */
export const makeCallbacks = Effect.gen(function* () {
  const inbox = yield* ProviderInbox
  const periods = yield* PeriodCounts

  const filters = filtersOf((yield* ProviderRegistry).known)

  const show = Effect.fn("CallbacksPage.show")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const { query } = visit
    const { filter, mistakes } = filters.read(query)
    const form = filterForm({ to: "/callbacks", filters: filters.all, asked: query, mistakes })
    if (mistakes.size > 0) return page("Callbacks", form, { status: 422 })
    const { items, next } = yield* inbox.search(filter, { limit: ROWS_SHOWN, after: placeOf(query) })
    const came = yield* periods.callbacks(visit.at - HOUR_MS)
    return page("Callbacks", [
      h("p", { class: "inline" }, link("/callbacks?status=parked", "Parked"), link("/callbacks", "All")),
      section("Received within an hour", arrivalTable(came)),
      form,
      section(
        "Results",
        table(
          "The newest first, of every node",
          ["Received", "Provider", "Status", "Reference", "Transaction", ""],
          items.map((callback) => callbackRow(visit, callback)),
          next === null ? "There are none." : "None yet: look further back."
        ),
        listEnd({ to: "/callbacks", kept: keptOf(filters.all, query), next: next === null ? null : placeText(next) })
      )
    ])
  })

  const file = Effect.fn("CallbacksPage.file")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const { filter, mistakes } = filters.read(visit.query)
    if (mistakes.size > 0) return yield* show(visit)
    return listFile({
      name: "callbacks",
      columns,
      read: (way: { readonly limit: number; readonly after: Place | null }) =>
        Effect.map(inbox.search(filter, way), ({ items, next }) => ({ rows: items, next }))
    })
  })

  const idOf = ({ params }: Visit) => Option.filter(Option.some(params["id"] ?? ""), isReference)

  const replay = Effect.fn("CallbacksPage.replay")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const id = idOf(visit)
    if (Option.isNone(id)) return redirect("/callbacks", "no-callback")
    const replayed = yield* inbox.replay(id.value, visit.at, auditOf(visit, "inbox replay", id.value))
    return redirect("/callbacks", Option.isSome(replayed) ? "replayed" : "no-callback")
  })

  const body = Effect.fn("CallbacksPage.body")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const id = idOf(visit)
    const reason = maskedField(visit, "reason", LONGEST_REASON)
    if (reason === "") return redirect("/callbacks?status=parked", "reason-missing")
    const found = Option.isSome(id)
      ? yield* inbox.body(id.value, auditOf(visit, "inbox read", id.value, { reason }))
      : Option.none()
    if (Option.isNone(id) || Option.isNone(found)) return redirect("/callbacks?status=parked", "no-callback")
    return page(`The callback ${id.value}`, [
      h("p", { class: "soft" }, "Masked before it was stored. That you read it, and why, is in the audit log."),
      section("What it said", h("pre", { tabIndex: 0 }, said(found.value ?? "It is kept no more: the callback is done."))),
      h("p", null, link("/callbacks?status=parked", "Back to the callbacks"))
    ])
  })

  const close = Effect.fn("CallbacksPage.close")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const id = idOf(visit)
    const reason = maskedField(visit, "reason", LONGEST_REASON)
    if (reason === "") return redirect("/callbacks?status=parked", "reason-missing")
    if (Option.isNone(id)) return redirect("/callbacks?status=parked", "no-callback")
    const closed = yield* inbox.close(id.value, auditOf(visit, "inbox close", id.value, { reason }))
    return redirect("/callbacks?status=parked", Option.isSome(closed) ? "closed" : "no-callback")
  })

  return {
    place: { to: "/callbacks", name: "Callbacks" },
    routes: [
      { method: "GET", path: "/callbacks", permission: "look", answer: show },
      { method: "GET", path: "/callbacks.csv", permission: "look", answer: file },
      { method: "POST", path: "/callbacks/:id/replay", permission: "redeliver", answer: replay },
      { method: "POST", path: "/callbacks/:id/body", permission: "raw", answer: body },
      { method: "POST", path: "/callbacks/:id/close", permission: "redeliver", answer: close }
    ]
  } satisfies Room
})

const received = timeFilters("Received")
const status = oneOf("status", "Status", CallbackStatus.literals)

const filtersOf = (providers: ReadonlyArray<string>) => {
  const provider = providerFilter(providers)
  return {
    all: [status, provider, modeFilter, received.from, received.to] satisfies ReadonlyArray<Filter<unknown>>,
    read: (asked: URLSearchParams) => {
      const { mistakes, value } = readingOf(asked)
      const filter: CallbackFilter = {
        status: value(status),
        provider: value(provider),
        mode: value(modeFilter),
        receivedFrom: value(received.from),
        receivedTo: value(received.to)
      }
      return { filter, mistakes }
    }
  }
}

const columns: ReadonlyArray<readonly [string, (callback: StoredCallback) => CsvValue]> = [
  ["id", ({ id }) => id],
  ["received_at", ({ receivedAt }) => iso(receivedAt)],
  ["provider", ({ provider }) => provider],
  ["mode", ({ mode }) => mode],
  ["status", (one) => one.status],
  ["names", ({ hint }) => hint.reference ?? hint.providerReference],
  ["says", ({ hint }) => (hint.says === undefined ? null : String(hint.says))],
  ["transaction", ({ matched }) => matched],
  ["looks", ({ looks }) => looks]
]

/** Includes rejected callbacks, of which nothing else is stored. */
const arrivalTable = (came: ReadonlyArray<CallbackCount>): ComponentChild => {
  const accounts = Map.groupBy(came, ({ mode, provider }) => `${provider}, ${mode}`)
  const counted = (rows: ReadonlyArray<CallbackCount>, wanted: string) =>
    rows.reduce((sum, { count, outcome }) => (outcome === wanted ? sum + count : sum), 0)
  return table(
    "By account, at all nodes",
    ["Provider", "New", "Repeated", "Refused: not signed by it"],
    [...accounts].map(([account, rows]) => {
      const refused = counted(rows, "refused")
      return [
        account,
        String(counted(rows, "new")),
        String(counted(rows, "repeated")),
        refused === 0 ? "0" : badge(String(refused), "bad")
      ]
    }),
    "None came."
  )
}

const callbackRow = (visit: Visit, callback: StoredCallback): ReadonlyArray<ComponentChild> => {
  const { hint, matched, mode, provider, receivedAt, status } = callback
  return [
    time(receivedAt),
    `${provider}, ${mode}`,
    badge(status, status === "parked" ? "bad" : status === "due" ? "wait" : "good"),
    code(hint.reference ?? hint.providerReference ?? "nothing"),
    matched === null ? "none found" : transactionLink(matched),
    may(visit.visitor.role, "redeliver") ? buttons(visit, callback) : null
  ]
}

const buttons = (visit: Visit, { id, status }: StoredCallback): ComponentChild => [
  form(visit, { to: `/callbacks/${id}/replay`, button: "Reprocess", about: id }),
  status === "done" || !may(visit.visitor.role, "raw")
    ? null
    : reasonForm(visit, { id, to: "body", title: "Read it", button: "Show it", label: "Why you read it, for the audit log" }),
  status === "parked"
    ? reasonForm(visit, { id, to: "close", title: "Close", button: "Close it", label: "Whose it is, for the audit log" })
    : null
]

interface ReasonForm {
  readonly id: string
  readonly to: "body" | "close"
  readonly title: string
  readonly button: string
  readonly label: string
}

const reasonForm = (visit: Visit, { button, id, label, title, to }: ReasonForm): ComponentChild =>
  folded(
    title,
    form(visit, {
      to: `/callbacks/${id}/${to}`,
      button,
      about: id,
      fields: [field({ name: "reason", id: `${to}-reason-${id}`, label, isRequired: true, maxLength: LONGEST_REASON })]
    })
  )
