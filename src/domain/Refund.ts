import type { Instant } from "./Instant.ts"
import { broughtBy } from "./KnownFee.ts"
import { type MinorUnits, ZERO } from "./Money.ts"
import type { Collection } from "./Payment.ts"
import type { WindowUse } from "./VelocityLimits.ts"

/** So long a payer is known by the hash of its number, and so long a collection can be refunded (contract PAY-45). */
export const REFUNDABLE_MS = 90 * 24 * 3_600_000

/** So many payouts refund one collection at most, the failed ones among them: each is read to say what is left. */
export const REFUNDS_AT_MOST = 100

/** The window that counts how often it was decided about a collection's refunds; no limit of an operator's has this name. */
export const REFUND_WINDOW = "refund"

/** A collection that may be refunded, as one read found it. */
export interface RefundableCollection {
  readonly collection: Collection
  /** The keyed HMAC of the payer's number; null where there was none, or where it was removed after its time. */
  readonly partyHash: Uint8Array | null
  /** Payouts to its payer that are under way or successful, without fees and without what came back. */
  readonly refunded: bigint
  /** How many payouts refund it, whatever became of them. */
  readonly refunds: bigint
  /** How often a refund of it was opened, and a person ruled on it or on one of them. */
  readonly decided: bigint
}

/** A part of it that a payout may still bring back; nothing where it was taken back. */
export const leftToRefund = ({ collection, refunded }: RefundableCollection): bigint =>
  broughtIn(collection) > refunded ? broughtIn(collection) - refunded : 0n

/** The amount that a collection brought and that was not taken back, before the fee. */
export const broughtIn = (collection: Collection): MinorUnits =>
  collection.status === "successful" && collection.reversed === null ? broughtBy(collection) : ZERO

/**
 * Commits a refund only where nothing about the collection's refunds was decided since they were read: two refunds at once may each fit, and
 * not both. The window is counted for good, also where the payout fails, and is kept for longer than the collection can be refunded.
 */
export const refundFence = ({ collection, decided }: RefundableCollection): WindowUse => ({
  appId: collection.appId,
  mode: collection.mode,
  name: REFUND_WINDOW,
  subject: collection.reference,
  startsAt: refundableUntil(collection),
  endsAt: refundableUntil(collection),
  amount: 1n,
  bound: decided + 1n,
  window: null
})

export const refundableUntil = ({ createdAt }: Collection): Instant => createdAt + REFUNDABLE_MS
