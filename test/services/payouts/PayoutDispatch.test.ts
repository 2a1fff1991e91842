import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { Codes } from "../../../src/services/ports/Codes.ts"
import { Vault } from "../../../src/services/ports/Vault.ts"
import { fakeProvider } from "../../fakes/FakeProvider.ts"
import { charge, FLOAT, floatNow, Holder, jane, pay } from "../../support/PaymentRequests.ts"
import { onlyRecord, routedTo } from "../../support/RoutedGateway.ts"
import { NOON } from "../../support/SampleTransactions.ts"
import type { Interference } from "../../support/ServicesOnPostgres.ts"

/** The process stands still between the reservation's commit and the sending. */
const standingStill =
  (duration: "29 seconds" | "31 seconds"): Interference =>
  (step, effect) =>
    step === "open" ? Effect.tap(effect, () => TestClock.adjust(duration)) : effect

it.effect("a payout that was recorded too long ago is not sent, and its float is returned", () =>
  Effect.gen(function* () {
    const alpha = fakeProvider("alpha")
    const { node } = yield* routedTo([alpha], standingStill("31 seconds"))
    yield* Effect.gen(function* () {
      expect(yield* pay("one")).toBe("provider_unavailable")
      expect(alpha.calls).not.toContain("send")
      expect((yield* onlyRecord).transaction.status).toBe("failed")
      expect(yield* floatNow).toStrictEqual([FLOAT, 0n])
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped)
)

it.effect("a payout that was recorded a moment ago is sent", () =>
  Effect.gen(function* () {
    const alpha = fakeProvider("alpha")
    const { node } = yield* routedTo([alpha], standingStill("29 seconds"))
    yield* Effect.gen(function* () {
      expect(yield* pay("one")).toBe("pending")
      expect(alpha.executed).toHaveLength(1)
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped)
)

it.effect("a charge that was recorded too long ago is not sent", () =>
  Effect.gen(function* () {
    const alpha = fakeProvider("alpha")
    const { node } = yield* routedTo([alpha], standingStill("31 seconds"))
    yield* Effect.gen(function* () {
      expect(yield* charge("one")).toBe("provider_unavailable")
      expect(alpha.executed).toEqual([])
      expect((yield* onlyRecord).transaction.status).toBe("failed")
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped)
)

it.effect("a charge with its payer's code that was recorded too long ago is not sent", () =>
  Effect.gen(function* () {
    const alpha = fakeProvider("alpha")
    const { node } = yield* routedTo([alpha], standingStill("31 seconds"))
    yield* Effect.gen(function* () {
      const number = { appId: yield* Holder, mode: "live", partyHash: (yield* Vault).hash("party", Redacted.make(jane)) } as const
      yield* (yield* Codes).sent({ ...number, pinId: "sent", account: null }, NOON)
      expect(yield* charge("one", jane, { pinId: "sent", pin: Redacted.make("123456") })).toBe("provider_unavailable")
      expect(alpha.executed).toEqual([])
      expect((yield* onlyRecord).transaction.status).toBe("failed")
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped)
)

it.effect("a payout that came too late goes to no other provider", () =>
  Effect.gen(function* () {
    const [alpha, beta] = [fakeProvider("alpha"), fakeProvider("beta")]
    const { node } = yield* routedTo([alpha, beta], standingStill("31 seconds"))
    yield* Effect.gen(function* () {
      expect(yield* pay("one")).toBe("provider_unavailable")
      expect(yield* charge("two")).toBe("provider_unavailable")
      expect([...alpha.executed, ...beta.executed]).toEqual([])
      expect(yield* floatNow).toStrictEqual([FLOAT, 0n])
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped)
)

it.effect("a payout or charge whose process stood still within the first provider's call goes to no other provider", () =>
  Effect.gen(function* () {
    const stoodStill = Effect.asVoid(TestClock.adjust("31 seconds"))
    const [alpha, beta] = [fakeProvider("alpha", { sending: "never sent", moneyGate: stoodStill }), fakeProvider("beta")]
    const { node } = yield* routedTo([alpha, beta])
    yield* Effect.gen(function* () {
      expect(yield* pay("one")).toBe("provider_unavailable")
      expect(yield* charge("two")).toBe("provider_unavailable")
      expect(alpha.calls).toContain("send")
      expect(alpha.calls).toContain("charge")
      expect([...alpha.executed, ...beta.executed]).toEqual([])
      expect(yield* floatNow).toStrictEqual([FLOAT, 0n])
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped)
)

it.effect("a payout that was moved to the next provider too long ago is not sent there", () =>
  Effect.gen(function* () {
    const [alpha, beta] = [fakeProvider("alpha", { sending: "never sent" }), fakeProvider("beta")]
    const stoodStill: Interference = (step, effect) =>
      step === "apply" ? Effect.tap(effect, () => TestClock.adjust("31 seconds")) : effect
    const { node } = yield* routedTo([alpha, beta], stoodStill)
    yield* Effect.gen(function* () {
      expect(yield* pay("one")).toBe("provider_unavailable")
      expect(yield* charge("two")).toBe("provider_unavailable")
      expect([...alpha.executed, ...beta.executed]).toEqual([])
      expect(yield* floatNow).toStrictEqual([FLOAT, 0n])
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped)
)
