import { Clock, Context, Effect, Layer, Option } from "effect"
import type { Direction } from "../../domain/Corridor.ts"
import type { Currency } from "../../domain/Currency.ts"
import { GlobalCeilingReached, VelocityLimitExceeded } from "../../domain/errors/Retriable.ts"
import type { Mode } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { MinorUnits } from "../../domain/Money.ts"
import type { Caller } from "../../domain/Tenant.ts"
import {
  ceilingWindowUse,
  effectiveLimits,
  retryAfterSeconds,
  type UsedWindow,
  type WindowUse,
  windowUse
} from "../../domain/VelocityLimits.ts"
import { VelocityLimits } from "../ports/VelocityLimits.ts"

/** The debit of a payout from a provider's account: principal and fee. */
export interface ProviderAccountDebit {
  readonly provider: string
  readonly mode: Mode
  readonly currency: Currency
  readonly total: MinorUnits
  readonly recordedAt: Instant
}

/**
 * Velocity caps: how many transactions a tenant and a number may make in a window, and a provider account's daily ceiling. `FloatLedger.open`
 * decides; this names the windows and refuses early. The figures, and which windows a direction has, are in `domain/VelocityLimits`.
 */
export class Velocity extends Context.Service<
  Velocity,
  {
    /** The windows that a transaction will be counted in. */
    readonly windows: (caller: Caller, direction: Direction, partyHash: Uint8Array) => Effect.Effect<ReadonlyArray<WindowUse>>
    /** Refuses at once when one of the windows was full when it was read. */
    readonly requireRoom: (windows: ReadonlyArray<UsedWindow>) => Effect.Effect<void, VelocityLimitExceeded>
    /** The same windows and, where the provider's account has a ceiling, that of the day in which the payout is recorded. */
    readonly addCeiling: (
      counters: ReadonlyArray<WindowUse>,
      spend: ProviderAccountDebit
    ) => Effect.Effect<ReadonlyArray<WindowUse>>
    /** The refusal for an OverCap of FloatLedger.open. */
    readonly refusal: (counter: WindowUse | undefined) => Effect.Effect<never, VelocityLimitExceeded | GlobalCeilingReached>
  }
>()("gateway/services/Velocity") {
  static readonly layer = Layer.effect(
    Velocity,
    Effect.gen(function* () {
      const limits = yield* VelocityLimits

      const windows = Effect.fnUntraced(function* (caller: Caller, direction: Direction, partyHash: Uint8Array) {
        const now = yield* Clock.currentTimeMillis
        const own = yield* limits.own(caller.appId)
        const subject = Buffer.from(partyHash).toString("hex")
        return effectiveLimits(caller.mode, direction, own).map((limit) => windowUse(caller.appId, limit, subject, now))
      })

      const requireRoom = Effect.fnUntraced(function* (used: ReadonlyArray<UsedWindow>) {
        const full = used.find((window) => window.used + window.amount > window.bound)
        if (full !== undefined) return yield* exceeded(full, yield* Clock.currentTimeMillis)
      })

      const addCeiling = Effect.fnUntraced(function* (counters: ReadonlyArray<WindowUse>, spend: ProviderAccountDebit) {
        const { currency, mode, provider, recordedAt, total } = spend
        const ceiling = yield* limits.ceiling(provider, currency)
        if (Option.isNone(ceiling)) return counters
        return [...counters, ceilingWindowUse({ provider, mode, currency, amount: total, bound: ceiling.value }, recordedAt)]
      })

      const refusal = Effect.fnUntraced(function* (counter: WindowUse | undefined) {
        if (counter === undefined || counter.window === null) return yield* new GlobalCeilingReached({})
        return yield* exceeded(counter, yield* Clock.currentTimeMillis)
      })

      return Velocity.of({ windows, requireRoom, addCeiling, refusal })
    })
  )
}

const exceeded = (counter: WindowUse, now: Instant) =>
  new VelocityLimitExceeded({ window: counter.window ?? "day", retry_after_seconds: retryAfterSeconds(counter, now) })
