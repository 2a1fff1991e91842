import { Effect, Option } from "effect"
import { type ComponentChild, h } from "preact"
import type { Currency } from "../../domain/Currency.ts"
import { feeUnlessSaid } from "../../domain/KnownFee.ts"
import { maskedText } from "../../domain/Masking.ts"
import type { MinorUnits } from "../../domain/Money.ts"
import { may } from "../../domain/Operator.ts"
import type { Collection, Payout } from "../../domain/Payment.ts"
import { actionsFor, meaningOf, type Resolution } from "../../domain/Resolution.ts"
import { lastReport, reviewReason } from "../../domain/ReviewReason.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import { ReviewApprovals } from "../../services/approvals/ReviewApprovals.ts"
import { Acknowledgements } from "../../services/ports/Acknowledgements.ts"
import { Proposals } from "../../services/ports/Proposals.ts"
import { ProviderRegistry } from "../../services/ports/ProviderRegistry.ts"
import { type StoredTransaction, Transactions } from "../../services/ports/Transactions.ts"
import { type UnsettledTransaction, UnsettledWork } from "../../services/ports/UnsettledWork.ts"
import { acknowledgeForm, acknowledgementText } from "../AcknowledgeForm.ts"
import {
  amountText,
  choice,
  facts,
  field,
  form,
  link,
  money,
  said,
  section,
  table,
  time,
  toChoose,
  transactionLink,
  warning,
  words
} from "../Elements.ts"
import type { Room } from "../Handler.ts"
import { listFile } from "../ListFile.ts"
import { filterForm, keptOf, listEnd, placeOf, placeText, ROWS_SHOWN } from "../ListFilters.ts"
import { proposalTable } from "../ProposalTable.ts"
import { amountCurrencyOf, partyName, partyOf, recordFinder, statusBadge } from "../RecordText.ts"
import { type Answer, acting, missing, page, redirect, type Visit } from "../Route.ts"
import { amountOf, notAnAmount } from "../TypedText.ts"
import { unsettledAfter, unsettledColumns, unsettledFilters, unsettledNext, unsettledPages } from "../UnsettledList.ts"

/** Waiting proposals come first; all of them are under Approvals. */
const PROPOSALS_SHOWN = 15

/** The queue of transactions that need a person, and the page for the ruling. */
export const makeReviews = Effect.gen(function* () {
  const transactions = yield* Transactions
  const proposals = yield* Proposals
  const approvals = yield* ReviewApprovals
  const acknowledgements = yield* Acknowledgements
  const work = yield* UnsettledWork
  const filters = unsettledFilters((yield* ProviderRegistry).known)

  const caseOf = Effect.fnUntraced(function* (one: UnsettledTransaction) {
    const stored = yield* transactions.byReference(one.reference)
    const history = yield* transactions.history(one.reference)
    const why = Option.match(stored, { onNone: () => "", onSome: ({ transaction }) => reviewReason(transaction, history) })
    return caseRow(one, why)
  })

  const queue = Effect.fn("ReviewsPage.queue")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const { query } = visit
    const { filter, mistakes } = filters.read(query, visit.at)
    const form = filterForm({ to: "/reviews", filters: filters.common, asked: query, mistakes })
    if (mistakes.size > 0) return page("Reviews", form, { status: 422 })
    const cases = yield* work.list({ ...filter, state: "review" }, unsettledAfter(placeOf(query)), ROWS_SHOWN + 1)
    const rows = yield* Effect.forEach(cases.slice(0, ROWS_SHOWN), caseOf)
    const next = unsettledNext(cases, ROWS_SHOWN)
    const waiting = yield* proposals.list({ kinds: ["review resolve"], about: null }, PROPOSALS_SHOWN)
    return page("Reviews", [
      form,
      section(
        "Needs review",
        table("The oldest first", caseColumns, rows, "Nothing needs a person."),
        listEnd({
          to: "/reviews",
          kept: keptOf(filters.common, query),
          next: next === null ? null : placeText(next),
          older: "Younger ones"
        })
      ),
      section("Open and decided approvals", proposalTable(visit, waiting))
    ])
  })

  const file = Effect.fn("ReviewsPage.file")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const { filter, mistakes } = filters.read(visit.query, visit.at)
    if (mistakes.size > 0) return yield* queue(visit)
    const read = unsettledPages(work, { ...filter, state: "review" })
    return listFile({ name: "reviews", columns: unsettledColumns(visit.at), read })
  })

  const find = recordFinder(transactions)

  const shown = Effect.fnUntraced(function* (visit: Visit, stored: StoredTransaction, problem: string | null) {
    const { revision, transaction: record } = stored
    const history = yield* transactions.history(record.reference)
    const own = yield* proposals.list({ kinds: ["review resolve"], about: record.reference }, PROPOSALS_SHOWN)
    const resting = acknowledgementText(yield* acknowledgements.standing(record.reference, visit.at))
    const body = [
      warning(problem),
      section(
        "The case",
        caseFacts(record, reviewReason(record, history), lastReport(history)),
        resting === null ? null : h("p", null, "Acknowledged: ", resting),
        acknowledgeForm(visit, record, `/reviews/${record.reference}`)
      ),
      own.length === 0 ? null : section("Proposals", proposalTable(visit, own)),
      record.needsReview && may(visit.visitor.role, "resolve")
        ? rulingSection(visit, record, revision, approvals.needsTwo(record, null))
        : null
    ]
    return page(`Review of ${record.reference}`, body, { status: problem === null ? 200 : 422 })
  })

  const show = Effect.fn("ReviewsPage.show")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const found = yield* find(visit)
    return Option.isNone(found) ? noCase : yield* shown(visit, found.value, null)
  })

  const resolve = Effect.fn("ReviewsPage.resolve")(function* (visit: Visit): Effect.fn.Return<Answer> {
    const found = yield* find(visit)
    if (Option.isNone(found)) return noCase
    const { reference } = found.value.transaction
    const ruling = rulingOf(visit.form, found.value.transaction)
    if (typeof ruling === "string") return yield* shown(visit, found.value, ruling)
    return yield* approvals.rule({ reference, ...ruling }, acting(visit)).pipe(
      Effect.map((how): Answer => redirect(`/reviews/${reference}`, how)),
      Effect.catch(({ message }) => shown(visit, found.value, message))
    )
  })

  return {
    place: { to: "/reviews", name: "Reviews" },
    routes: [
      { method: "GET", path: "/reviews", permission: "look", answer: queue },
      { method: "GET", path: "/reviews.csv", permission: "look", answer: file },
      { method: "GET", path: "/reviews/:reference", permission: "look", answer: show },
      { method: "POST", path: "/reviews/:reference/resolve", permission: "resolve", answer: resolve }
    ]
  } satisfies Room
})

const noCase = missing("case", "/reviews", "All reviews")

const caseColumns = ["Reference", "Open since", "Tenant", "Kind", "Provider", "Amount", "Why"]

const caseRow = (
  { amount, amountCurrency, appId, createdAt, kind, mode, provider, reference }: UnsettledTransaction,
  why: string
): ReadonlyArray<ComponentChild> => [
  link(`/reviews/${reference}`, h("code", null, reference)),
  time(createdAt),
  appId,
  `${kind}, ${mode}`,
  provider,
  money(amount, amountCurrency),
  why
]

const caseFacts = (record: Transaction, why: string, word: string | null): ComponentChild =>
  facts([
    ["Transaction", transactionLink(record.reference)],
    ["Why", why],
    ["Status", statusBadge(record)],
    ["Tenant", `${record.appId}, ${record.mode}`],
    ["Kind", record.kind],
    ["Amount", money(record.amount, amountCurrencyOf(record))],
    ["Expected amount", record.kind === "exchange" ? money(record.destinationAmount, record.destinationCurrency) : null],
    ["Held fee", record.kind === "payout" ? money(record.heldFee, record.currency) : null],
    [
      "Observed amount",
      record.kind === "collection" ? money(record.observedAmount, record.observedCurrency ?? record.currency) : null
    ],
    [partyName(record), partyOf(record)],
    ["Provider", record.provider],
    ["Asked", `${record.asked} times since its last news`],
    ["Last answer", word === null ? "none" : said(maskedText(word))]
  ])

const rulingSection = (visit: Visit, record: Transaction, revision: bigint, needsTwo: boolean): ComponentChild => {
  const actions = actionsFor(record)
  return section(
    "Rule on it",
    h(
      "ul",
      null,
      rulingOutcomes.map((outcome) => h("li", null, h("strong", null, outcome), `: ${meaningOf(outcome, actions[outcome])}`))
    ),
    needsTwo
      ? h("p", { class: "soft" }, "From this amount on it takes two people: another one has to approve what you propose.")
      : null,
    form(visit, {
      to: `/reviews/${record.reference}/resolve`,
      button: needsTwo ? "Propose" : "Resolve",
      tone: "strong",
      hidden: { seen: revision.toString() },
      fields: rulingFields(record)
    })
  )
}

const LONGEST_EVIDENCE = 500

const rulingOutcomes: ReadonlyArray<Resolution["outcome"]> = ["successful", "failed"]

/** The fields of the form. `rulingOf` reads it, with each amount in the currency that its label names. */
export const rulingFields = (record: Transaction): ReadonlyArray<ComponentChild> => {
  const { amount, currency } = expectedAmount(record)
  return [
    choice("outcome", "What really happened", toChoose(rulingOutcomes)),
    words({
      name: "evidence",
      label: "How that is known",
      hint: "For the history and the audit log, such as a line of the provider's statement."
    }),
    field({ name: "amount", label: `Amount, ${currency}, if another than ${amountText(amount, currency)}`, maxLength: 30 }),
    // An exchange has no fee beside its rate.
    record.kind === "exchange"
      ? null
      : field({
          name: "fee",
          label: `Provider's fee, ${record.currency}, ${feeHint(record)}; of what failed, what it kept`,
          maxLength: 30
        })
  ]
}

const feeHint = (record: Collection | Payout): string => {
  const fee = feeUnlessSaid(record)
  return fee === null
    ? "which the provider has not named: 0 where it took nothing"
    : `if another than ${amountText(fee, record.currency)}`
}

/** The amount that a ruling books if it gives no other, in the booked currency. */
const expectedAmount = (record: Transaction): { readonly amount: MinorUnits; readonly currency: Currency } => {
  switch (record.kind) {
    case "payout":
      return { amount: record.principal, currency: record.currency }
    case "collection": {
      // An observed amount in another currency says nothing about the amount in ours.
      const isOurs = record.observedCurrency === null || record.observedCurrency === record.currency
      return { amount: (isOurs ? record.observedAmount : null) ?? record.amount, currency: record.currency }
    }
    case "exchange":
      return { amount: record.destinationAmount, currency: record.destinationCurrency }
  }
}

/** The ruling from the form, or its error as one line. */
export const rulingOf = (
  form: URLSearchParams,
  record: Transaction
): { readonly resolution: Resolution; readonly seen: bigint } | string => {
  const outcome = form.get("outcome")
  if (outcome !== "successful" && outcome !== "failed") return "Choose what really happened."
  const evidence = (form.get("evidence") ?? "").trim()
  if (evidence === "" || evidence.length > LONGEST_EVIDENCE)
    return `Say how that is known, in at most ${LONGEST_EVIDENCE} characters.`
  const seen = form.get("seen") ?? ""
  if (!/^\d{1,18}$/.test(seen)) return "The form is not whole: read the page again."
  const { currency } = expectedAmount(record)
  const amount = amountOf(form.get("amount"), currency)
  if (amount === undefined) return notAnAmount(currency)
  const fee = amountOf(form.get("fee"), record.currency)
  if (fee === undefined) return notAnAmount(record.currency)
  return { resolution: { outcome, evidence, amount, fee }, seen: BigInt(seen) }
}
