import { expect, it } from "@effect/vitest"
import { Effect, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { describe } from "vitest"
import { LARGEST_AMOUNT } from "../../../src/domain/Money.ts"
import { fakeGateway } from "../../fakes/FakeGateway.ts"
import { fakeRecords } from "../../fakes/FakeMemory.ts"
import { fakeProvider } from "../../fakes/FakeProvider.ts"
import { FLOAT, floatNow, pay } from "../../support/PaymentRequests.ts"

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
