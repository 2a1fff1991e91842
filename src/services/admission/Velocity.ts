import { Clock, Context, Effect, Exit, Option } from "effect"
import { capsOn, capWindowUse, type MovedAmount } from "../../domain/AmountCaps.ts"
import type { Direction } from "../../domain/Corridor.ts"
import type { Currency } from "../../domain/Currency.ts"
import { GlobalCeilingReached, VelocityLimitExceeded } from "../../domain/errors/Retriable.ts"
import type { Mode } from "../../domain/Ids.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import { type MinorUnits, nearestAmount } from "../../domain/Money.ts"
import type { Caller } from "../../domain/Tenant.ts"
import {
  ceilingWindowUse,
  effectiveLimits,
  retryAfterSeconds,
  type UsedWindow,
  type WindowUse,
  windowUse
} from "../../domain/VelocityLimits.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { VelocityLimits } from "../ports/VelocityLimits.ts"

/** The debit of a payout from a provider's account: principal and fee. */
interface ProviderAccountDebit {
  readonly provider: string
  readonly mode: Mode
  readonly currency: Currency
  readonly total: MinorUnits
  readonly recordedAt: Instant
}

/**
 * Limits on how many transactions a tenant and a number may make in a window, caps on how much money a tenant, a number and a
 * key may move in one, and a provider account's daily ceiling. `FloatLedger.open` decides; this service names the windows and
 * refuses early. The default values, and which windows a direction has, are in `domain/VelocityLimits` and `domain/AmountCaps`.
 */
export class Velocity extends Context.Service<
  Velocity,
  {
    /** The windows in which a transaction counts: those of limits, then those of caps on amounts. */
    readonly windows: (
      caller: Caller,
      direction: Direction,
      partyHash: Uint8Array,
      moved: MovedAmount
    ) => Effect.Effect<ReadonlyArray<WindowUse>>
    /** Refuses at once when one of the windows was already full when it was read. */
    readonly requireRoom: (windows: ReadonlyArray<UsedWindow>) => Effect.Effect<void, VelocityLimitExceeded>
    /** The same windows, plus the ceiling of the provider's account, if it has one, for the day in which the payout is recorded. */
    readonly addCeiling: (
      counters: ReadonlyArray<WindowUse>,
      spend: ProviderAccountDebit
    ) => Effect.Effect<ReadonlyArray<WindowUse>>
    /** The refusal for an OverCap of FloatLedger.open. */
    readonly refusal: (counter: WindowUse | undefined) => Effect.Effect<never, VelocityLimitExceeded | GlobalCeilingReached>
  }
>()("gateway/services/Velocity") {
  static readonly layer = layerOf(Velocity)(function* () {
    const limits = yield* VelocityLimits

    /** Only adds a figure to a refusal that is certain. When it cannot be read, the refusal omits it, and its key is released. */
    const usedNow = Effect.fnUntraced(function* (counter: WindowUse) {
      const read = yield* Effect.exit(limits.used([counter]))
      if (Exit.isSuccess(read)) return read.value[0]
      return yield* Effect.as(Effect.logWarning("a window that is full could not be read for its refusal", read.cause), undefined)
    })

    return {
      windows: Effect.fnUntraced(function* (caller, direction, partyHash, { amount, currency }) {
        const { appId, mode } = caller
        const at = yield* Clock.currentTimeMillis
        const own = yield* limits.own(appId)
        const caps = yield* limits.caps(appId)
        const party = Buffer.from(partyHash).toString("hex")
        return [
          ...effectiveLimits(mode, direction, own).map((limit) => windowUse(appId, limit, party, at)),
          ...capsOn(caps, { mode, direction, currency }).map((cap) => capWindowUse(cap, { caller, party, at }, amount))
        ]
      }),

      requireRoom: Effect.fnUntraced(function* (used) {
        const full = used.find((window) => window.used + window.amount > window.bound)
        if (full !== undefined) return yield* exceeded(full, yield* Clock.currentTimeMillis)
      }),

      addCeiling: Effect.fnUntraced(function* (counters, spend) {
        const { currency, mode, provider, recordedAt, total } = spend
        const ceiling = yield* limits.ceiling(provider, currency)
        if (Option.isNone(ceiling)) return counters
        return [...counters, ceilingWindowUse({ provider, mode, currency, amount: total, bound: ceiling.value }, recordedAt)]
      }),

      refusal: Effect.fnUntraced(function* (counter) {
        if (counter === undefined || counter.window === null) return yield* new GlobalCeilingReached({})
        const read = counter.cap === undefined ? undefined : yield* usedNow(counter)
        return yield* exceeded(read ?? counter, yield* Clock.currentTimeMillis)
      })
    }
  })
}

const exceeded = (counter: WindowUse | UsedWindow, now: Instant) =>
  new VelocityLimitExceeded({
    window: counter.window ?? "day",
    retry_after_seconds: retryAfterSeconds(counter, now),
    ...(counter.cap === undefined ? {} : capDetails(counter, counter.cap))
  })

/** Describes the cap to the refused tenant. */
const capDetails = (counter: WindowUse | UsedWindow, { currency, of }: NonNullable<WindowUse["cap"]>) => ({
  scope: "amount" as const,
  applies_to: of,
  currency,
  maximum_minor: nearestAmount(counter.bound),
  ...("used" in counter ? { used_minor: nearestAmount(counter.used) } : {}),
  window_ends_at: iso(counter.endsAt)
})
