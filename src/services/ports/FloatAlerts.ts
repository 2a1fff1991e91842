import { Context, type Effect } from "effect"
import type { Currency } from "../../domain/Currency.ts"
import type { AppId, Mode } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { MinorUnits } from "../../domain/Money.ts"
import type { TenantChange } from "./AuditLog.ts"
import type { FloatName } from "./FloatEntries.ts"

/** A float's alert threshold and its available balance. */
export interface FloatAlert {
  readonly currency: Currency
  readonly below: MinorUnits
  readonly available: MinorUnits
}

/** The thresholds below which tenants are notified about their floats, at most one per float. */
export class FloatAlerts extends Context.Service<
  FloatAlerts,
  {
    /** Ordered by currency; empty where the tenant set none. */
    readonly list: (appId: AppId, mode: Mode) => Effect.Effect<ReadonlyArray<FloatAlert>>
    /** Sets a float's threshold, or removes it with null, and writes the audit row. Repeating the call changes nothing. */
    readonly set: (float: FloatName, below: MinorUnits | null, change: TenantChange) => Effect.Effect<void>
    /**
     * Writes an event for each float that has fallen below its threshold, once per fall even when several nodes check, and
     * records which floats have risen above it again. Checks a bounded number of floats and returns the number of events.
     */
    readonly tell: (at: Instant) => Effect.Effect<number>
  }
>()("gateway/services/ports/FloatAlerts") {}
