import { Context, type Effect, Schema } from "effect"
import type { AppId, Mode } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"

/** A tenant may begin more than can be looked at for a page: of more, the newest so many are counted. */
export const ACTIVITY_COUNTED_AT_MOST = 20_000

/** The transactions of one kind that have this status now. */
export const ActivityCount = Schema.Struct({
  kind: Schema.Literals(["payout", "collection", "exchange"]),
  status: Schema.String,
  count: Schema.Number
})
export type ActivityCount = typeof ActivityCount.Type

export class TenantActivity extends Context.Service<
  TenantActivity,
  {
    /** The transactions that began from then on; none where the tenant began none, and for no such tenant. */
    readonly begun: (appId: AppId, mode: Mode, from: Instant) => Effect.Effect<ReadonlyArray<ActivityCount>>
  }
>()("gateway/services/ports/TenantActivity") {}
