import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
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
