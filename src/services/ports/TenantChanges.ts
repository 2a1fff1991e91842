import { Context, type Effect } from "effect"
import type { AppId, Mode } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { AuditedChange, TenantChange } from "./AuditLog.ts"

/** Of each tenant, mode and action the newest so many are kept: no tenant fills the database by asking for deliveries again. */
export const TENANT_CHANGES_KEPT_AT_MOST = 10_000
/**
 * No number of changes pushes these out: they tell where events went and who had recipients removed. How many there are is bounded by how many
 * changes a tenant may make a day.
 */
export const neverPrunedActions: ReadonlyArray<string> = ["beneficiaries purge", "webhook endpoint", "webhook endpoint remove"]
/** All of a tenant's keys in one mode together; each is counted where it is asked for, also one that then changes nothing. */
export const TENANT_CHANGES_A_DAY = 200
/** And each is kept for so long. */
export const TENANT_CHANGES_KEPT_MS = 400 * 24 * 3_600_000

export interface TenantChangeRow extends TenantChange {
  /** Counted for the tenant and mode, from 1 on; what is gone leaves a gap. */
  readonly place: bigint
}

export const isChangeByTenant = (change: AuditedChange): change is TenantChange => "tenant" in change

/**
 * The audit stream of what tenants changed themselves: their webhook endpoint, its secret, redeliveries, a purge. The port that makes a change
 * writes it in the same commit; this port reads and prunes.
 */
export class TenantChanges extends Context.Service<
  TenantChanges,
  {
    /** Newest first, at most `limit`; of both modes where none is given. Empty for a tenant that changed nothing, and for none. */
    readonly list: (appId: AppId, mode: Mode | null, limit: number) => Effect.Effect<ReadonlyArray<TenantChangeRow>>
    /** Removes at most `limit` that were made before, and answers how many. */
    readonly prune: (before: Instant, limit: number) => Effect.Effect<number>
  }
>()("gateway/services/ports/TenantChanges") {}
