import { Context, type Effect } from "effect"
import type { AppId, Mode } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Change, TenantChange } from "./AuditLog.ts"

/** Of each tenant and mode the newest so many are kept: no tenant fills the database by changing its endpoint to and fro. */
export const TENANT_CHANGES_AT_MOST = 10_000
/** And each for so long. */
export const TENANT_CHANGES_KEPT_MS = 400 * 24 * 3_600_000

export interface TenantChangeRow extends TenantChange {
  /** Counted for the tenant and mode, from 1 on, without a gap but for the oldest that are gone. */
  readonly place: bigint
}

export const isTenants = (change: Change): change is TenantChange => "tenant" in change

/** What tenants changed themselves: their webhook endpoint, its secret, deliveries asked for again, a purge. Written with the change, by its port. */
export class TenantChanges extends Context.Service<
  TenantChanges,
  {
    /** Newest first, at most `limit`; of both modes where none is given. Empty for a tenant that changed nothing, and for none. */
    readonly list: (appId: AppId, mode: Mode | null, limit: number) => Effect.Effect<ReadonlyArray<TenantChangeRow>>
    /** Removes at most `limit` that were made before, and answers how many. */
    readonly sweep: (before: Instant, limit: number) => Effect.Effect<number>
  }
>()("gateway/services/ports/TenantChanges") {}
