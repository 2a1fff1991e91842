import { Context, type Effect, type Option } from "effect"
import type { AmountCap } from "../../domain/AmountCaps.ts"
import type { Currency } from "../../domain/Currency.ts"
import type { AppId, Reference } from "../../domain/Ids.ts"
import type { MinorUnits } from "../../domain/Money.ts"
import type { UsedWindow, VelocityLimit, WindowUse } from "../../domain/VelocityLimits.ts"
import type { AuditEntry } from "./AuditLog.ts"

/**
 * Velocity limits and caps of amounts of tenants, daily ceilings of provider accounts, and how much of each window is used. `FloatLedger.open` counts and decides
 * under the rows' locks; what is read here may be overtaken, and only refuses early.
 */
export class VelocityLimits extends Context.Service<
  VelocityLimits,
  {
    /** A tenant's own limits; the defaults are not among them. Seen by every node within a second. */
    readonly own: (appId: AppId) => Effect.Effect<ReadonlyArray<VelocityLimit>>
    readonly ceiling: (provider: string, currency: Currency) => Effect.Effect<Option.Option<MinorUnits>>
    /** False when there is no such tenant. */
    readonly set: (appId: AppId, limit: VelocityLimit, audit: AuditEntry) => Effect.Effect<boolean>
    /** A tenant's caps of amounts. Seen by every node within a second. */
    readonly caps: (appId: AppId) => Effect.Effect<ReadonlyArray<AmountCap>>
    /** Replaces a cap of the same window and currency. False when there is no such tenant. */
    readonly setCap: (appId: AppId, cap: AmountCap, audit: AuditEntry) => Effect.Effect<boolean>
    /** False when there is no such cap. */
    readonly removeCap: (appId: AppId, cap: Omit<AmountCap, "amount">, audit: AuditEntry) => Effect.Effect<boolean>
    /** How much of each of a tenant's own windows is used by now, in their order. */
    readonly used: (windows: ReadonlyArray<WindowUse>) => Effect.Effect<ReadonlyArray<UsedWindow>>
    readonly setCeiling: (provider: string, currency: Currency, amount: MinorUnits, audit: AuditEntry) => Effect.Effect<void>
    /**
     * Lowers the ceiling that a pending payout was counted in when it was recorded, once: the account that it was counted for never got it. Nothing where
     * it was counted in none, or has ended.
     */
    readonly giveBackCeiling: (appId: AppId, reference: Reference) => Effect.Effect<void>
    /** Removes up to `limit` windows that ended before; answers how many. */
    readonly prune: (before: number, limit: number) => Effect.Effect<number>
  }
>()("gateway/services/ports/VelocityLimits") {}
