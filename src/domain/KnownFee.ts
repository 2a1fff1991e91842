import { type MinorUnits, ZERO } from "./Money.ts"
import type { Collection, Payout } from "./Payment.ts"

// What is known of the fee of a record that a person rules on.

/** What a collection brought: what the provider saw, where that is in our currency. */
export const broughtBy = (collection: Collection): MinorUnits =>
  spokeOfAnother(collection) ? collection.amount : (collection.observedAmount ?? collection.amount)

/**
 * The fee of a movement of so much: what was booked with it, or what the provider named for it. Null where nobody knows it, and nobody
 * guesses: the fee of another amount is another fee.
 */
export const knownFee = (record: Collection | Payout, amount: MinorUnits): MinorUnits | null => {
  const booked = record.kind === "payout" ? record.principal : broughtBy(record)
  if (record.status === "successful" && amount === booked) return record.fees ?? ZERO
  return record.reported?.amount === amount ? record.reported.fee : null
}

/** The fee that a success books where nobody says one; null where it has to be said. */
export const feeUnlessSaid = (record: Collection | Payout): MinorUnits | null => {
  if (record.kind === "payout") return knownFee(record, record.principal) ?? record.heldFee
  return spokeOfAnother(record) ? null : knownFee(record, broughtBy(record))
}

/** The provider named another currency than the one that was asked for, and so said nothing of the amount in it. */
export const spokeOfAnother = ({ currency, observedCurrency }: Collection): boolean =>
  observedCurrency !== null && observedCurrency !== currency
