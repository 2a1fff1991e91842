import type { Instant } from "./Instant.ts"
import { broughtBy } from "./KnownFee.ts"
import { type MinorUnits, ZERO } from "./Money.ts"
import type { Collection } from "./Payment.ts"
import type { WindowUse } from "./VelocityLimits.ts"

/** How long a payer's number is known by its hash, and so how long a collection can be refunded (contract PAY-45). */
export const REFUNDABLE_MS = 90 * 24 * 3_600_000

/** The most payouts that may refund one collection, including the failed ones: each is read to compute the remainder. */
export const REFUNDS_AT_MOST = 100

/** The window that counts the decisions about a collection's refunds; no limit of an operator's has this name. */
export const REFUND_WINDOW = "refund"

/** A collection that may be refunded, as one read found it. */
export interface RefundableCollection {
  readonly collection: Collection
  /** The keyed HMAC of the payer's number; null where there was none, or where it was removed after its time. */
  readonly partyHash: Uint8Array | null
  /** The payouts to its payer that are open or successful, without fees and without what came back. */
  readonly refunded: bigint
  /** How many payouts refund it, whatever their outcome. */
  readonly refunds: bigint
  /** How often a refund of it was opened, or a person ruled on it or on one of its refunds. */
  readonly decided: bigint
}

/** The part of it that a payout may still refund; zero where it was reversed. */
export const leftToRefund = ({ collection, refunded }: RefundableCollection): bigint =>
  broughtIn(collection) > refunded ? broughtIn(collection) - refunded : 0n

/** The amount that a collection brought in and that was not taken back, before the fee. */
export const broughtIn = (collection: Collection): MinorUnits =>
  collection.status === "successful" && collection.reversed === null ? broughtBy(collection) : ZERO

/**
 * Commits a refund only if no decision about the collection's refunds was made since they were read: two concurrent refunds may
 * each fit, but not both. The use of the window is permanent, even where the payout fails, and is stored for longer than the
 * collection can be refunded.
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
