import { Context, type Effect, Schema } from "effect"
import type { AppId, Mode } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"

/** At most this many of the newest transactions are counted. */
export const ACTIVITY_COUNTED_AT_MOST = 20_000

/** How many transactions of one kind have this status now. */
export const ActivityCount = Schema.Struct({
  kind: Schema.Literals(["payout", "collection", "exchange"]),
  status: Schema.String,
  count: Schema.Number
})
export type ActivityCount = typeof ActivityCount.Type

export class TenantActivity extends Context.Service<
  TenantActivity,
  {
    /** Counts the transactions that began since `from`; empty when there is none, or no such tenant. */
    readonly begun: (appId: AppId, mode: Mode, from: Instant) => Effect.Effect<ReadonlyArray<ActivityCount>>
  }
>()("gateway/services/ports/TenantActivity") {}
