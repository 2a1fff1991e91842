import type { Effect, Result } from "effect"
import type { LedgerRecord } from "../../domain/Exchange.ts"
import type { ApiError } from "../../domain/errors/ApiError.ts"
import type { Caller } from "../../domain/Tenant.ts"
import type { WindowUse } from "../../domain/VelocityLimits.ts"
import type { PartyRefusal, ScreenedClaim } from "../../services/admission/PartyScreening.ts"
import type { Body } from "../body/Body.ts"
import type { JsonTree } from "../json/StrictJson.ts"

/** An endpoint that moves money: what its body means, and what is done once for each key. */
export interface MoneyStep<C> {
  /** The route's method and template, as "POST /v1/payouts". */
  readonly endpoint: string
  readonly decode: (tree: JsonTree) => Result.Result<Body<C>, ApiError>
  /** The windows that its transaction would be counted in; they are read where the key is claimed. Reads only. */
  readonly windows?: (caller: Caller, command: C) => Effect.Effect<ReadonlyArray<WindowUse>>
  /** Whether the other side may be dealt with: found out while the key is claimed, and said to `run`. Reads only. */
  readonly screen?: (command: C) => Effect.Effect<void, PartyRefusal>
  readonly run: (caller: Caller, command: C, fresh: ScreenedClaim) => Effect.Effect<LedgerRecord, ApiError>
  /** Only for an endpoint whose key is optional (a collection's code): what is done without one. */
  readonly keyless?: (caller: Caller, command: C) => Effect.Effect<LedgerRecord, ApiError>
  /** The transaction that it is about, where that exists already. */
  readonly about?: string
  /** The operation's own success status; 201 where none is named. */
  readonly successStatus?: number
}
