import { Context, type Effect } from "effect"
import type { AppId, Mode, Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"

export interface PlacedCharge {
  readonly reference: Reference
  readonly at: Instant
}

/** The charges that were placed for one number of one tenant in one mode. */
export interface PayerCharges {
  /** The newest; null when there is none, or its code was wrong. A request that places another charge compares with it in its commit. */
  readonly holder: Reference | null
  /** Those of the last hour at least, newest first, whatever became of them, and those whose code was called wrong as well. */
  readonly placed: ReadonlyArray<PlacedCharge>
}

/**
 * The charges of a payer's number, for the double-charge guard. This port only reads. Two requests may read the same state;
 * `FloatLedger.open` and `Codes.begin` compare the holder in their own commit, and the second one gets `PayerBusy`.
 */
export class PayerLocks extends Context.Service<
  PayerLocks,
  {
    /** Empty for a number that was never charged. Prepares the row that the next charge locks. */
    readonly charges: (appId: AppId, mode: Mode, partyHash: Uint8Array) => Effect.Effect<PayerCharges>
  }
>()("gateway/services/ports/PayerLocks") {}
