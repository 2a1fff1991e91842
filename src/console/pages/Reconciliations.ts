import { Effect, Option } from "effect"
import { type ComponentChild, h } from "preact"
import { isReference } from "../../domain/Ids.ts"
import { isTerminal } from "../../domain/Payment.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import {
  KEPT_AT_MOST,
  type KeptDifference,
  type ReconciliationResult,
  Reconciliations
} from "../../services/ports/Reconciliations.ts"
import { Transactions } from "../../services/ports/Transactions.ts"
import { badge, code, facts, link, said, section, table, time, transactionLink } from "../Elements.ts"
import type { Room } from "../Handler.ts"
import { statusBadge } from "../RecordText.ts"
import { type Answer, missing, page, type Visit } from "../Route.ts"

const RESULTS_SHOWN = 60
const DIFFERENCES_SHOWN = 50

/** The results of comparisons with providers' accounts, with links from each difference to its record and to a ruling. */
export const makeReconciliations = Effect.gen(function* () {
  const reconciliations = yield* Reconciliations
  const transactions = yield* Transactions

  const all = Effect.fn("ReconciliationsPage.all")(function* () {
    const results = yield* reconciliations.list(RESULTS_SHOWN)
    return page("Reconciliation", [
      section(
        "Results",
        h("p", { class: "soft" }, "Each is of ", code("gateway reconcile"), ", the last of its provider and day."),
        table(
          `The newest days first, ${RESULTS_SHOWN} at most`,
          ["Provider", "Day", "Compared at", "Ours", "Theirs", "Unreadable", "Differences", "Explained"],
          results.map(resultRow),
          "No comparison was made within 90 days."
        )
      )
    ])
  })

  const rowOf = Effect.fnUntraced(function* (difference: KeptDifference) {
    const { reference } = difference
    const found = reference !== null && isReference(reference) ? yield* transactions.byReference(reference) : Option.none<never>()
    return differenceRow(difference, Option.isNone(found) ? null : found.value.transaction)
  })

  const one = Effect.fn("ReconciliationsPage.one")(function* ({ params, query }: Visit): Effect.fn.Return<Answer> {
    const { day = "", provider = "" } = params
    const result = yield* reconciliations.find(provider, day)
    if (Option.isNone(result)) return noResult
    const { found, ...figures } = result.value
    const from = Math.max(0, Number.parseInt(query.get("from") ?? "0", 10) || 0)
    const shown = found.slice(from, from + DIFFERENCES_SHOWN)
    const rows = yield* Effect.forEach(shown, rowOf)
    const path = `/reconciliations/${provider}/${day}`
    return page(`Reconciliation of ${provider}, ${day}`, [
      section("The comparison", resultFacts(figures, found.length)),
      section(
        "What was found",
        table("What nothing explains comes first", differenceColumns, rows, "Nothing: their account and ours agree."),
        h("p", { class: "pager" }, [
          from === 0 ? null : link(`${path}?from=${Math.max(0, from - DIFFERENCES_SHOWN)}`, "Those before"),
          from + DIFFERENCES_SHOWN < found.length ? link(`${path}?from=${from + DIFFERENCES_SHOWN}`, "Next ones") : null
        ])
      )
    ])
  })

  return {
    place: { to: "/reconciliations", name: "Reconciliation" },
    routes: [
      { method: "GET", path: "/reconciliations", permission: "look", answer: all },
      { method: "GET", path: "/reconciliations/:provider/:day", permission: "look", answer: one }
    ]
  } satisfies Room
})

const noResult = missing("result", "/reconciliations", "All results")

const differencesBadge = ({ differences }: ReconciliationResult): ComponentChild =>
  badge(String(differences), differences === 0 ? "good" : "bad")

const resultRow = (result: ReconciliationResult): ReadonlyArray<ComponentChild> => [
  link(`/reconciliations/${result.provider}/${result.day}`, result.provider),
  result.day,
  time(result.at),
  String(result.ours),
  String(result.theirs),
  String(result.unreadable),
  differencesBadge(result),
  String(result.explained)
]

const resultFacts = (result: ReconciliationResult, kept: number): ComponentChild =>
  facts([
    ["Compared at", time(result.at)],
    ["Ours", `${result.ours} transactions that began on that day`],
    ["Theirs", `${result.theirs} rows of their account`],
    ["Unreadable", result.unreadable === 0 ? null : `${result.unreadable} rows or lists of theirs, which may be any movement`],
    ["Differences", [differencesBadge(result), " that nothing explains"]],
    ["Explained", `${result.explained} that are booked, open, or in review already`],
    [
      "Kept",
      kept === result.differences + result.explained
        ? null
        : `the first ${KEPT_AT_MOST}: gateway reconcile ${result.provider} --day ${result.day} prints all`
    ]
  ])

/** The meaning of each kind, as in the runbook. */
const meanings: Readonly<Record<string, string>> = {
  missing_here: "they moved money that we do not know of",
  missing_there: "they know nothing of what we hold to be sent",
  doubled: "one reference of ours stands for several movements",
  state: "the state differs",
  amount: "the amount differs",
  currency: "the currency differs",
  fee: "the fee differs",
  unanswered: "it could not be found out",
  unreadable: "it cannot be read",
  unsteady: "their list shows it sometimes"
}

const reasons: Readonly<Record<string, string>> = {
  in_review: "a person is to rule on it",
  pending: "it is still open",
  drift_booked: "the difference is booked"
}

const differenceColumns = ["What differs", "Mode", "Reference", "Ours", "Theirs", "Their reference", "Explained by", "Now"]

const differenceRow = (difference: KeptDifference, record: Transaction | null): ReadonlyArray<ComponentChild> => {
  const { account, because, kind, mode, ours, providerReference, reference, theirs } = difference
  return [
    meanings[kind] ?? kind,
    account === "current" ? mode : `${mode}, account ${account}`,
    reference === null ? "none of ours" : record === null ? code(reference) : transactionLink(reference),
    ours === null ? "" : said(ours),
    theirs === null ? "" : said(theirs),
    providerReference === null ? "" : code(providerReference),
    because === null ? badge("nothing", "bad") : (reasons[because] ?? because),
    record === null ? "" : nowOf(record)
  ]
}

/** The state of the record, and a link to what can be done about it. */
const nowOf = (record: Transaction): ComponentChild => {
  const { needsReview, reference } = record
  if (needsReview) return [statusBadge(record), " ", link(`/reviews/${reference}`, "Rule on it")]
  return isTerminal(record)
    ? statusBadge(record)
    : [statusBadge(record), " ", link(`/transactions/${reference}`, "Ask its provider")]
}
