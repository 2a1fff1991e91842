import { Context, type Effect, type Option } from "effect"
import type { AmountCap } from "../../domain/AmountCaps.ts"
import type { Currency } from "../../domain/Currency.ts"
import type { AppId, Reference } from "../../domain/Ids.ts"
import type { MinorUnits } from "../../domain/Money.ts"
import type { UsedWindow, VelocityLimit, WindowUse } from "../../domain/VelocityLimits.ts"
import type { AuditEntry } from "./AuditLog.ts"

/**
 * Velocity limits and amount caps of tenants, daily ceilings of provider accounts, and how much of each window is used.
 * `FloatLedger.open` counts and decides under row locks; a value read here may be outdated: it only refuses early.
 */
export class VelocityLimits extends Context.Service<
  VelocityLimits,
  {
    /** A tenant's own limits, without the defaults. Every node sees a change within a second. */
    readonly own: (appId: AppId) => Effect.Effect<ReadonlyArray<VelocityLimit>>
    readonly ceiling: (provider: string, currency: Currency) => Effect.Effect<Option.Option<MinorUnits>>
    /** False when there is no such tenant. */
    readonly set: (appId: AppId, limit: VelocityLimit, audit: AuditEntry) => Effect.Effect<boolean>
    /** A tenant's amount caps. Every node sees a change within a second. */
    readonly caps: (appId: AppId) => Effect.Effect<ReadonlyArray<AmountCap>>
    /** Sets a cap, replacing the one for the same window and currency. False when there is no such tenant. */
    readonly setCap: (appId: AppId, cap: AmountCap, audit: AuditEntry) => Effect.Effect<boolean>
    /** False when there is no such cap. */
    readonly removeCap: (appId: AppId, cap: Omit<AmountCap, "amount">, audit: AuditEntry) => Effect.Effect<boolean>
    /** The present use of each of a tenant's windows, in the given order. */
    readonly used: (windows: ReadonlyArray<WindowUse>) => Effect.Effect<ReadonlyArray<UsedWindow>>
    readonly setCeiling: (provider: string, currency: Currency, amount: MinorUnits, audit: AuditEntry) => Effect.Effect<void>
    /**
     * Gives back, once, a pending payout's share of the ceiling in which it was counted, because that account never received
     * it. Does nothing when it was counted in none or has ended.
     */
    readonly giveBackCeiling: (appId: AppId, reference: Reference) => Effect.Effect<void>
    /** Removes up to `limit` windows that ended before `before`. Returns the number removed. */
    readonly prune: (before: number, limit: number) => Effect.Effect<number>
  }
>()("gateway/services/ports/VelocityLimits") {}
