import { expect, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { type AmountCap, capWindowUse } from "../../../src/domain/AmountCaps.ts"
import { GlobalCeilingReached, VelocityLimitExceeded } from "../../../src/domain/errors/Retriable.ts"
import { iso } from "../../../src/domain/Instant.ts"
import { minor } from "../../../src/domain/Money.ts"
import { ceilingWindowUse, type VelocityLimit, windowUse } from "../../../src/domain/VelocityLimits.ts"
import { Velocity } from "../../../src/services/admission/Velocity.ts"
import { VelocityLimits } from "../../../src/services/ports/VelocityLimits.ts"
import { fake } from "../../fakes/Fake.ts"
import { appId, caller } from "../../support/PaymentRequests.ts"
import { NOON } from "../../support/SampleTransactions.ts"

const hourly: VelocityLimit = { mode: "live", direction: "payout", window: "hour", count: 3 }
const daily: VelocityLimit = { mode: "live", direction: "payout", window: "day", count: 5_000 }
const dailyAmount: AmountCap = { mode: "live", direction: "payout", window: "day", currency: "UGX", amount: minor(20_000n) }
const moved = { currency: "UGX", amount: 4_000n } as const

/** A tenant with three payouts an hour, UGX 20,000 of them a day, and a ceiling of 1,000,000 UGX a day at one provider. */
const limits = fake(VelocityLimits, {
  own: (tenant) => Effect.succeed(tenant === appId ? [hourly] : []),
  caps: (tenant) => Effect.succeed(tenant === appId ? [dailyAmount] : []),
  used: (windows) => Effect.succeed(windows.map((window) => ({ ...window, used: 17_000n }))),
  ceiling: (provider, currency) =>
    Effect.succeed(provider === "eversend" && currency === "UGX" ? Option.some(minor(1_000_000n)) : Option.none())
})
const at =
  (time: number) =>
  <A, E>(use: (velocity: Velocity["Service"]) => Effect.Effect<A, E>) =>
    Effect.gen(function* () {
      yield* TestClock.setTime(time)
      return yield* use(yield* Velocity)
    }).pipe(Effect.provide(Layer.provide(Velocity.layer, limits)))
const atNoon = at(NOON)

it.effect(
  "a payout counts in the tenant's hour and day and in those of its number, by the tenant's own limits first, and then in its caps",
  () =>
    Effect.gen(function* () {
      const windows = yield* atNoon(({ windows: named }) => named(caller, "payout", Uint8Array.of(10, 255), moved))
      expect(windows).toStrictEqual([
        windowUse(appId, hourly, "0aff", NOON),
        windowUse(appId, daily, "0aff", NOON),
        windowUse(appId, { ...hourly, window: "destination", count: 20 }, "0aff", NOON),
        windowUse(appId, { ...hourly, window: "destination_day", count: 100 }, "0aff", NOON),
        capWindowUse(dailyAmount, { caller, party: "0aff", at: NOON }, 4_000n)
      ])
      const shillings = { ...moved, currency: "KES" } as const
      const others = yield* atNoon(({ windows: named }) => named(caller, "payout", Uint8Array.of(10, 255), shillings))
      expect(others).toStrictEqual(windows.slice(0, 4))
    })
)

it.effect("a window has room up to its bound, and the first full one refuses", () =>
  Effect.gen(function* () {
    const hour = { ...windowUse(appId, hourly, "", NOON), used: 2n }
    const day = { ...windowUse(appId, daily, "", NOON), used: 4_999n }
    expect(yield* atNoon(({ requireRoom }) => requireRoom([hour, day]))).toBeUndefined()
    expect(yield* atNoon(({ requireRoom }) => requireRoom([]))).toBeUndefined()
    const refusals = yield* at(NOON + 60_000)(({ requireRoom }) =>
      Effect.all([
        Effect.flip(
          requireRoom([
            { ...hour, used: 3n },
            { ...day, used: 5_000n }
          ])
        ),
        Effect.flip(requireRoom([hour, { ...day, used: 5_000n }]))
      ])
    )
    expect(refusals.map(({ _tag, retry_after_seconds, window }) => [_tag, window, retry_after_seconds])).toStrictEqual([
      ["velocity_limit_exceeded", "hour", 3_600 - 60],
      ["velocity_limit_exceeded", "day", 16 * 3_600 - 60]
    ])
  })
)

it.effect("a full cap says which it is, of what, how much it has and when it ends, read early or by the ledger", () =>
  Effect.gen(function* () {
    const cap = capWindowUse(dailyAmount, { caller, party: "0aff", at: NOON }, 4_000n)
    const early = yield* atNoon(({ requireRoom }) => Effect.flip(requireRoom([{ ...cap, used: 16_001n }])))
    const refused = new VelocityLimitExceeded({
      window: "day",
      retry_after_seconds: 16 * 3_600,
      scope: "amount",
      applies_to: "tenant",
      currency: "UGX",
      maximum_minor: minor(20_000n),
      used_minor: minor(16_001n),
      window_ends_at: iso(NOON + 16 * 3_600_000)
    })
    expect(early).toStrictEqual(refused)
    expect(yield* atNoon(({ requireRoom }) => requireRoom([{ ...cap, used: 16_000n }]))).toBeUndefined()
    expect(yield* atNoon(({ refusal }) => Effect.flip(refusal(cap)))).toMatchObject({ scope: "amount", used_minor: 17_000n })
  })
)

it.effect("a cap that the ledger found full refuses also where nobody can read how much is used", () =>
  Effect.gen(function* () {
    const cap = capWindowUse(dailyAmount, { caller, party: "0aff", at: NOON }, 4_000n)
    const unreadable = fake(VelocityLimits, { used: () => Effect.die(new Error("the connection is gone")) })
    const refused = yield* Effect.flatMap(Velocity, ({ refusal }) => Effect.flip(refusal(cap))).pipe(
      Effect.provide(Layer.provide(Velocity.layer, unreadable))
    )
    expect(refused).toMatchObject({ _tag: "velocity_limit_exceeded", scope: "amount", maximum_minor: 20_000n })
    expect(refused).not.toHaveProperty("used_minor")
  })
)

it.effect("a payout through an account with a ceiling counts in the day in which it is recorded", () =>
  Effect.gen(function* () {
    const own = [windowUse(appId, hourly, "", NOON)]
    const spend = {
      provider: "eversend",
      mode: "live",
      currency: "UGX",
      total: minor(11_000n),
      recordedAt: NOON + 60_000
    } as const
    const { currency, mode, provider, recordedAt, total: amount } = spend
    expect(yield* atNoon(({ addCeiling }) => addCeiling(own, spend))).toStrictEqual([
      ...own,
      ceilingWindowUse({ provider, mode, currency, amount, bound: 1_000_000n }, recordedAt)
    ])
    expect(yield* atNoon(({ addCeiling }) => addCeiling(own, { ...spend, provider: "pawapay" }))).toStrictEqual(own)
  })
)

it.effect(
  "what the ledger found full is refused by its name; a ceiling, and what has no name, names none; read early it is the day's",
  () =>
    Effect.gen(function* () {
      const spend = { provider: "eversend", mode: "live", currency: "UGX", amount: 1n, bound: 1n } as const
      const refusalOf = (counter: Parameters<Velocity["Service"]["refusal"]>[0]) =>
        atNoon(({ refusal }) => Effect.flip(refusal(counter)))
      expect(yield* refusalOf(windowUse(appId, hourly, "", NOON))).toStrictEqual(
        new VelocityLimitExceeded({ window: "hour", retry_after_seconds: 3_600 })
      )
      const early = { ...ceilingWindowUse(spend, NOON), used: 1n }
      expect(yield* atNoon(({ requireRoom }) => Effect.flip(requireRoom([early])))).toMatchObject({ window: "day" })
      expect(yield* refusalOf(ceilingWindowUse(spend, NOON))).toStrictEqual(new GlobalCeilingReached({}))
      expect(yield* refusalOf(undefined)).toStrictEqual(new GlobalCeilingReached({}))
    })
)
