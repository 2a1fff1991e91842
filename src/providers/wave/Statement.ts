import { Effect } from "effect"
import { isReference } from "../../domain/Ids.ts"
import { minor } from "../../domain/Money.ts"
import type { Statement, StatementLine } from "../../domain/ReconciliationDifference.ts"
import { sumOf } from "../ProviderStatus.ts"
import { type ListReader, lineOf, pagedList } from "../Statements.ts"
import { StatementRow, TRANSACTIONS_PATH, TransactionsAnswer } from "./Wire.ts"

/** `undoes`: the row reverses a movement that has its own row. */
type Meaning = Pick<StatementLine, "direction" | "status"> & { readonly of: "payout" | "charge"; readonly undoes?: true }

// Wave does not say whether outgoing money has arrived; incoming money can be returned in a row of its own.
const types: ReadonlyMap<string, Meaning> = new Map<string, Meaning>([
  ["api_payout", { of: "payout", direction: "payout", status: "debited" }],
  ["api_payout_reversal", { of: "payout", direction: "payout", status: "returned", undoes: true }],
  ["api_checkout", { of: "charge", direction: "collection", status: "credited" }],
  ["api_checkout_refund", { of: "charge", direction: "payout", status: "debited", undoes: true }]
])

const rows = pagedList({
  operation: "statement",
  path: ({ day: date }, _page, before: typeof TransactionsAnswer.Type | undefined) => {
    const after = before?.page_info.end_cursor ?? null
    return `${TRANSACTIONS_PATH}?${new URLSearchParams(after === null ? { date } : { date, after })}`
  },
  schema: TransactionsAnswer,
  rows: ({ items }) => items,
  isLast: ({ page_info }) => !page_info.has_next_page,
  row: StatementRow,
  members: {
    id: "transaction_id",
    reference: "client_reference",
    currency: ["currency"],
    status: "transaction_type",
    sum: ["amount", "fee"],
    beganAt: ["timestamp"]
  },
  lineOf: (row) => {
    const { checkout_api_session_id, client_reference: reference = null, currency, timestamp: beganAt, transaction_id: id } = row
    const meaning = types.get(row.transaction_type ?? "")
    // Payments in the portal, at a till or by treasury are not movements of ours, whatever Wave calls them.
    if (meaning === undefined) return isReference(reference) ? "status" : "foreign"
    const { direction, of, status: standing, undoes = false } = meaning
    // If Wave shows a reversal with the identifier of the reversed movement, both rows are kept.
    const providerReference = undoes ? `${id} ${standing}` : id
    const isRefund = undoes && of === "charge"
    const sum = movedBy(row, of)
    const line = lineOf({
      direction,
      providerReference,
      reference: isRefund ? null : reference,
      currency,
      standing,
      sum,
      beganAt
    })
    if (typeof line === "string" || !isRefund) return line
    return { ...line, refundOf: [reference, checkout_api_session_id].flatMap((name) => name || []) }
  }
})

/** A row's amount is its effect on the balance: for a payout including its fee, for a charge net of it. */
const movedBy = ({ amount, currency, fee }: StatementRow, of: Meaning["of"]) => {
  const unsigned = (text: string) => text.replace(/^-/, "")
  const sum = sumOf({ amount: unsigned(amount), currency, fee: fee ? unsigned(fee) : null })
  if (sum === undefined || sum.fee === null) return sum
  const moved = of === "payout" ? sum.amount - sum.fee : sum.amount + sum.fee
  return moved < 0n ? undefined : { ...sum, amount: minor(moved) }
}

/** The movements in a wallet on a UTC day. A payout that was reversed on the same day is one line. */
export const transactions: ListReader = (connection, days) => Effect.map(rows(connection, days), withoutReversed)

const withoutReversed = ({ lines, ...rest }: Statement): Statement => {
  const reversals = lines.filter(({ status }) => status === "returned").map(({ reference }) => reference)
  // A reversal cancels the one payout that it names; a refund of a charge has no reference here.
  const isReversed = ({ reference, status }: StatementLine): boolean => {
    const at = status === "debited" && reference !== null ? reversals.indexOf(reference) : -1
    return at >= 0 && reversals.splice(at, 1).length > 0
  }
  return { ...rest, lines: lines.filter((line) => !isReversed(line)) }
}
