import { Context, type Effect } from "effect"
import type { Currency } from "../../domain/Currency.ts"
import type { AppId, Mode } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { MinorUnits } from "../../domain/Money.ts"
import type { TenantChange } from "./AuditLog.ts"
import type { FloatName } from "./FloatEntries.ts"

/** An amount that a float should not fall below, and what is available now. */
export interface FloatAlert {
  readonly currency: Currency
  readonly below: MinorUnits
  readonly available: MinorUnits
}

/** The amounts below which tenants want to know of their floats, at most one a float. */
export class FloatAlerts extends Context.Service<
  FloatAlerts,
  {
    /** Ordered by currency; empty where the tenant set none. */
    readonly list: (appId: AppId, mode: Mode) => Effect.Effect<ReadonlyArray<FloatAlert>>
    /** Sets the amount of a float, or with null ends its alert, with the record of the change. The same again changes nothing. */
    readonly set: (float: FloatName, below: MinorUnits | null, change: TenantChange) => Effect.Effect<void>
    /**
     * Writes the event of each float that fell below its amount since the last event, once per fall however many nodes look, and notes which ones
     * rose above it again. Answers how many events; it looks at a bounded number of floats.
     */
    readonly tell: (at: Instant) => Effect.Effect<number>
  }
>()("gateway/services/ports/FloatAlerts") {}
