import { Context, type Effect, type Option } from "effect"
import type { AppId, Mode, Reference } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"

/** The newest charge that was placed for one number of one tenant in one mode. */
export interface Holder {
  readonly reference: Reference
  readonly at: Instant
}

/** Reads who holds a payer's number; FloatLedger.open and Codes.begin hand it over, by comparing with what was read here. */
export class PayerLocks extends Context.Service<
  PayerLocks,
  {
    /** None when no charge was placed, or its code was wrong. Prepares the row that the next charge locks. */
    readonly holder: (appId: AppId, mode: Mode, partyHash: Uint8Array) => Effect.Effect<Option.Option<Holder>>
  }
>()("gateway/services/ports/PayerLocks") {}
