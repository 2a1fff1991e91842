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
      expect(yield* pay("over")).toBe("validation_failed")
      greedy.script.fee = LARGEST_AMOUNT - 10_000n
      expect(yield* pay("just")).toBe("insufficient_tenant_float")
      expect(yield* fakeRecords).toStrictEqual([])
      expect(yield* floatNow).toStrictEqual([FLOAT, 0n])
      expect(greedy.calls).not.toContain("send")
    }).pipe(Effect.provide(fakeGateway({ providers: [greedy] })))
  }
)
