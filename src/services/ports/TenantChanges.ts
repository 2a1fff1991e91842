import { Context, type Effect } from "effect"
import type { AppId, Mode } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { AuditedChange, TenantChange } from "./AuditLog.ts"

/** How many of the newest changes are kept per tenant, mode and action: no tenant fills the database by redeliveries. */
export const TENANT_CHANGES_KEPT_AT_MOST = 10_000
/** Never pruned by number: they show where events were sent and who removed beneficiaries. `TENANT_CHANGES_A_DAY` bounds them. */
export const neverPrunedActions: ReadonlyArray<string> = ["beneficiaries purge", "webhook endpoint", "webhook endpoint remove"]
/** For all of a tenant's keys in one mode together. A change counts when it is requested, even when it then changes nothing. */
export const TENANT_CHANGES_A_DAY = 200
/** Each change is kept at most this long. */
export const TENANT_CHANGES_KEPT_MS = 400 * 24 * 3_600_000

export interface TenantChangeRow extends TenantChange {
  /** Numbered per tenant and mode, from 1; a pruned row leaves a gap. */
  readonly place: bigint
}

export const isChangeByTenant = (change: AuditedChange): change is TenantChange => "tenant" in change

/**
 * The audit stream of changes that tenants made themselves: webhook endpoints, their secrets, redeliveries, purges of
 * beneficiaries. The port that makes a change writes the row in the same commit; this port reads and prunes.
 */
export class TenantChanges extends Context.Service<
  TenantChanges,
  {
    /** Newest first, at most `limit`; `mode` null: both. Empty for a tenant without changes, and when there is no such tenant. */
    readonly list: (appId: AppId, mode: Mode | null, limit: number) => Effect.Effect<ReadonlyArray<TenantChangeRow>>
    /** Removes at most `limit` changes older than `before`. Returns the number removed. */
    readonly prune: (before: Instant, limit: number) => Effect.Effect<number>
  }
>()("gateway/services/ports/TenantChanges") {}
