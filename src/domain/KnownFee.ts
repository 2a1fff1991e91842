import { type MinorUnits, ZERO } from "./Money.ts"
import type { Collection, Payout } from "./Payment.ts"

// Finds the known fee of a record that a person rules on.

/** The amount that a collection brought in: the provider's figure, where that is in our currency. */
export const broughtBy = (collection: Collection): MinorUnits =>
  spokeOfAnother(collection) ? collection.amount : (collection.observedAmount ?? collection.amount)

/**
 * The fee of a movement of this amount: the fee that was booked with it, that the provider named for it, or that the contract
 * stated for a collection when it was opened. Null where it is unknown. It is never estimated: another amount has another fee.
 */
export const knownFee = (record: Collection | Payout, amount: MinorUnits): MinorUnits | null => {
  const booked = record.kind === "payout" ? record.principal : broughtBy(record)
  if (record.status === "successful" && amount === booked) return record.fees ?? ZERO
  if (record.reported?.amount === amount) return record.reported.fee
  return record.kind === "collection" && amount === record.amount ? (record.contractFee ?? null) : null
}

/** The fee that a success books when the person gives none; null where the person has to give one. */
export const feeUnlessSaid = (record: Collection | Payout): MinorUnits | null => {
  if (record.kind === "payout") return knownFee(record, record.principal) ?? quotedFee(record)
  return spokeOfAnother(record) ? null : knownFee(record, broughtBy(record))
}

/** The fee that the provider which has the payout quoted: it may be less than the held one, where it took the payout over. */
export const quotedFee = ({ heldFee, quotedFee: own = heldFee }: Payout): MinorUnits => own

/** Whether the provider named a currency other than the requested one, and so gave no amount in the requested one. */
export const spokeOfAnother = ({ currency, observedCurrency }: Collection): boolean =>
  observedCurrency !== null && observedCurrency !== currency
