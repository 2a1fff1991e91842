import type { Currency } from "./Currency.ts"
import { feeUnlessSaid } from "./KnownFee.ts"
import { type MinorUnits, ZERO } from "./Money.ts"
import { type Resolution, rulingOn } from "./Resolution.ts"
import type { Transaction } from "./Transaction.ts"

/** From this amount on, in minor units, a ruling needs two people, both in the console and on the command line. */
export type ApprovalAmounts = Readonly<Record<Currency, MinorUnits>>

/** Whether a ruling on this record needs a second person; without a resolution, whether a ruling that gives no figures would. */
export const needsTwo = (amounts: ApprovalAmounts, record: Transaction, resolution: Resolution | null): boolean =>
  sumsOf(record, resolution).some(({ amount, currency }) => (amount < 0n ? -amount : amount) >= amounts[currency])

interface Sum {
  readonly amount: bigint
  readonly currency: Currency
}

/**
 * The amount of the record, and each line that this ruling would post, or that either outcome without further figures would
 * post. For a given case the answer therefore depends only on the ruling.
 */
const sumsOf = (record: Transaction, resolution: Resolution | null): ReadonlyArray<Sum> => [
  { amount: record.amount, currency: record.kind === "exchange" ? record.currency : record.amountCurrency },
  ...[plain(record, "successful"), plain(record, "failed"), ...(resolution === null ? [] : [resolution])].flatMap((one) =>
    postedBy(record, one)
  )
]

/** An unknown fee counts as zero. */
const plain = (record: Transaction, outcome: Resolution["outcome"]): Resolution => {
  const isUnknown = record.kind === "collection" && outcome === "successful" && feeUnlessSaid(record) === null
  return { outcome, amount: null, fee: isUnknown ? ZERO : null, evidence: "" }
}

const NOTHING_BOOKED = 0n

/** Empty where the ruling cannot be made. The gateway's share of a fee counts in full, whatever of it is booked already. */
const postedBy = (record: Transaction, resolution: Resolution): ReadonlyArray<Sum> => {
  const ruling = rulingOn(record, resolution, record.updatedAt, NOTHING_BOOKED)
  return typeof ruling === "string" ? [] : (ruling.entry?.postings ?? [])
}
