import { expect, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { describe } from "vitest"
import { LARGEST_AMOUNT } from "../../../src/domain/Money.ts"
import { RateLimitsMemory } from "../../../src/persistence/requests/RateLimitsMemory.ts"
import { RateLimits } from "../../../src/services/ports/RateLimits.ts"
import { fakeGateway } from "../../fakes/FakeGateway.ts"
import { fakeRecords } from "../../fakes/FakeMemory.ts"
import { fakeProvider } from "../../fakes/FakeProvider.ts"
import { charge, FLOAT, floatNow, pay } from "../../support/PaymentRequests.ts"

it.effect(
  "a fee that makes the total exceed the largest amount refuses the payout as terminal, and nothing is reserved or sent",
  () => {
    const greedy = fakeProvider("greedy", { fee: LARGEST_AMOUNT - 9_999n })
    return Effect.gen(function* () {
      expect(yield* pay("over")).toBe("insufficient_tenant_float")
      greedy.script.fee = LARGEST_AMOUNT - 10_000n
      expect(yield* pay("just")).toBe("insufficient_tenant_float")
      expect(yield* fakeRecords).toStrictEqual([])
      expect(yield* floatNow).toStrictEqual([FLOAT, 0n])
      expect(greedy.calls).not.toContain("send")
    }).pipe(Effect.provide(fakeGateway({ providers: [greedy] })))
  }
)

it.effect("an amount that the provider does not quote and the float does not cover is refused for the float", () => {
  const choosy = fakeProvider("choosy", { refusesQuotes: "amount" })
  return Effect.gen(function* () {
    expect(yield* pay("within", { amount: FLOAT })).toBe("validation_failed")
    for (const kind of ["amount", "too_much", "other"] as const) {
      choosy.script.refusesQuotes = kind
      expect(yield* pay(`over ${kind}`, { amount: FLOAT + 1n })).toBe("insufficient_tenant_float")
    }
    choosy.script.refusesQuotes = "party"
    expect(yield* pay("nobody", { amount: FLOAT + 1n })).toBe("validation_failed")
    expect(choosy.calls).not.toContain("send")
  }).pipe(Effect.provide(fakeGateway({ providers: [choosy] })))
})

it.effect("a payout that the float does not cover is refused without advice where the other corridors are read too late", () =>
  Effect.gen(function* () {
    expect(yield* pay("over", { amount: FLOAT + 1n })).toBe("insufficient_tenant_float")
    expect(yield* fakeRecords).toStrictEqual([])
  }).pipe(Effect.provide(fakeGateway({ lateCorridors: "lists" })))
)

it.effect("a payment whose reads come too late is shed, and nothing is recorded or reserved for it", () =>
  Effect.gen(function* () {
    expect([yield* pay("payout"), yield* charge("charge")]).toStrictEqual(["rate_limited", "rate_limited"])
    expect([yield* fakeRecords, yield* floatNow]).toStrictEqual([[], [FLOAT, 0n]])
  }).pipe(Effect.provide(fakeGateway({ lateCorridors: "all" })))
)

// Issue 38, lines 10 and 14.
describe("the holder of a mobile-money account", () => {
  const holders = Effect.map(fakeRecords, (all) =>
    all.map(({ transaction }) => (transaction.kind === "payout" ? transaction.holder : "no payout"))
  )

  it.effect("is shown masked, and compared with the name that the tenant gave; another name refuses nothing", () => {
    const knowing = fakeProvider("knowing", { mobileHolder: { name: Redacted.make("DOE JANE") } })
    return Effect.gen(function* () {
      for (const name of [undefined, "Jane Döe", "John Doe"]) expect(yield* pay(`to ${name}`, { name })).toBe("pending")
      const maskedName = "D•• J•••"
      expect(yield* holders).toStrictEqual([null, true, false].map((isNamed) => ({ maskedName, isNamed })))
      expect(knowing.calls.slice(0, 3)).toStrictEqual(["quote", "holder", "send"])
    }).pipe(Effect.provide(fakeGateway({ providers: [knowing] })))
  })

  it.effect("has to be active where the provider says so: nobody else is asked, and nothing is reserved or sent", () => {
    const [first, next] = [fakeProvider("first", { mobileHolder: "inactive" }), fakeProvider("next")]
    return Effect.gen(function* () {
      expect(yield* pay("to nobody")).toBe("validation_failed")
      expect([yield* fakeRecords, yield* floatNow]).toStrictEqual([[], [FLOAT, 0n]])
      expect([first.calls, next.calls]).toStrictEqual([["quote", "holder"], []])
    }).pipe(Effect.provide(fakeGateway({ providers: [first, next] })))
  })

  // Issue 38, line 14: else any number could be asked about for nothing, by payouts that nobody could make.
  it.effect("is asked about no payout that could not be opened: what refuses it refuses it for every number", () => {
    const nosy = fakeProvider("nosy", { mobileHolder: "inactive" })
    return Effect.gen(function* () {
      expect(yield* pay("over the float by its fee", { amount: FLOAT - 999n })).toBe("insufficient_tenant_float")
      expect(yield* pay("under the minimum", { amount: 1_499n, deduct: true })).toBe("amount_below_minimum")
      expect(nosy.calls).not.toContain("holder")
      expect(yield* pay("all of the float", { amount: FLOAT - 1_000n })).toBe("validation_failed")
      expect(yield* pay("the minimum", { amount: 1_500n, deduct: true })).toBe("validation_failed")
      expect(nosy.calls.filter((call) => call === "holder")).toHaveLength(2)
    }).pipe(Effect.provide(fakeGateway({ providers: [nosy] })))
  })

  it.effect(
    "is asked by no more than 60 payouts at once, and 30 a minute, that are not made; further ones go on without it",
    () => {
      const asked = fakeProvider("asked", { mobileHolder: "inactive" })
      const lookups = () => asked.calls.filter((call) => call === "holder").length
      const payEach = (name: string, count: number) =>
        Effect.forEach(
          Array.from({ length: count }, (_, index) => `${name} ${index}`),
          (key, index) => pay(key, { amount: 1_000n, number: `+256772${100_000 + index}` }),
          { concurrency: 8 }
        )
      return Effect.gen(function* () {
        const guesses = yield* payEach("guess", 65)
        expect(guesses.filter((one) => one === "validation_failed")).toHaveLength(60)
        expect(guesses.filter((one) => one === "pending")).toHaveLength(5)
        expect([lookups(), (yield* holders).filter((holder) => holder === null)]).toStrictEqual([60, Array(5).fill(null)])
        yield* TestClock.adjust("4 seconds")
        expect(yield* payEach("later", 3)).toStrictEqual(["validation_failed", "validation_failed", "pending"])

        // Each payout that is made gives its question back.
        yield* TestClock.adjust("10 minutes")
        asked.script.mobileHolder = { name: Redacted.make("Jane Doe") }
        const before = lookups()
        expect(new Set(yield* payEach("wage", 200))).toStrictEqual(new Set(["pending"]))
        expect(lookups() - before).toBe(200)
      }).pipe(Effect.provide(fakeGateway({ providers: [asked], float: 1_000_000n, limits: RateLimitsMemory })))
    }
  )

  it.effect("is given back beside the sending: a payout is sent although what counts the questions answers no more", () => {
    const asked = fakeProvider("asked", { mobileHolder: { name: null } })
    const hanging = Layer.effect(
      RateLimits,
      Effect.map(RateLimits, (limits) => ({ ...limits, giveBack: () => Effect.never }))
    ).pipe(Layer.provide(RateLimitsMemory))
    return Effect.gen(function* () {
      expect(yield* pay("hanging")).toBe("pending")
      expect(asked.calls).toStrictEqual(["quote", "holder", "send"])
    }).pipe(Effect.provide(fakeGateway({ providers: [asked], limits: hanging })))
  })

  it.effect("is asked before the turn of the money call is taken, which waits for nothing but the commit", () => {
    const busy = fakeProvider("busy", { mobileHolder: { name: null }, heldMs: 5_000 })
    return Effect.gen(function* () {
      expect(yield* pay("held")).toBe("provider_error")
      expect(busy.calls).toStrictEqual(["quote", "holder"])
    }).pipe(Effect.provide(fakeGateway({ providers: [busy] })))
  })

  it.effect("stops no payout while the provider does not say it, or says it too late", () => {
    const silent = fakeProvider("silent", { mobileHolder: "unread" })
    return Effect.gen(function* () {
      expect(yield* pay("unread")).toBe("pending")
      silent.script.mobileHolder = "late"
      const late = yield* Effect.forkChild(pay("late"))
      yield* TestClock.adjust("4 seconds")
      expect(yield* Fiber.join(late)).toBe("pending")
      silent.script.mobileHolder = { name: null }
      expect(yield* pay("no name")).toBe("pending")
      expect(yield* holders).toStrictEqual([null, null, null])
    }).pipe(Effect.provide(fakeGateway({ providers: [silent] })))
  })
})
