import { Context, type Effect } from "effect"
import type { AppId, Mode, Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"

export interface PlacedCharge {
  readonly reference: Reference
  readonly at: Instant
}

/** The charges that were placed for one number of one tenant and mode. */
export interface PayerCharges {
  /** The newest charge; null when none, or its code was wrong. A request for another one compares it again in its commit. */
  readonly holder: Reference | null
  /** At least those of the last hour, newest first, whatever their outcome; charges whose code was wrong are included. */
  readonly placed: ReadonlyArray<PlacedCharge>
}

/**
 * The charges of a payer's number, for the double-charge guard. This port only reads. Two requests may read the same state;
 * `FloatLedger.open` and `Codes.begin` compare the holder in their own commit, and the second request gets `PayerBusy`.
 */
export class PayerLocks extends Context.Service<
  PayerLocks,
  {
    /** Empty for a number that was never charged. Also creates the row that the next charge locks. */
    readonly charges: (appId: AppId, mode: Mode, partyHash: Uint8Array) => Effect.Effect<PayerCharges>
  }
>()("gateway/services/ports/PayerLocks") {}
