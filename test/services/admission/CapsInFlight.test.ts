import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import type { AmountCap } from "../../../src/domain/AmountCaps.ts"
import { minor } from "../../../src/domain/Money.ts"
import { fakeGateway } from "../../fakes/FakeGateway.ts"
import { fakeRecords } from "../../fakes/FakeMemory.ts"
import { charge, floatNow, pay } from "../../support/PaymentRequests.ts"

const cap = (direction: AmountCap["direction"], amount: bigint): AmountCap => ({
  mode: "live",
  direction,
  window: "day",
  currency: "UGX",
  amount: minor(amount)
})

/** The caps as a request's key is claimed, and those that an operator has set by the time that it is recorded. */
const setMeanwhile = (atFirst: ReadonlyArray<AmountCap>, then: ReadonlyArray<AmountCap>) =>
  Effect.suspend(() => {
    let looks = 0
    return Effect.succeed(fakeGateway({ caps: Effect.sync(() => (looks++ === 0 ? atFirst : then)) }))
  })

it.effect("a cap that is set, lowered or removed while a payout waits for its quote holds for that payout as it then is", () =>
  Effect.gen(function* () {
    const small = cap("payout", 9_999n)
    const asked = Effect.gen(function* () {
      return [yield* pay("one"), (yield* fakeRecords).length, (yield* floatNow)[1]]
    })
    const refused = ["velocity_limit_exceeded", 0, 0n]
    expect(yield* Effect.provide(asked, yield* setMeanwhile([], [small]))).toStrictEqual(refused)
    expect(yield* Effect.provide(asked, yield* setMeanwhile([cap("payout", 10_000n)], [small]))).toStrictEqual(refused)
    expect(yield* Effect.provide(asked, yield* setMeanwhile([cap("payout", 10_000n)], []))).toStrictEqual(["pending", 1, 11_000n])
  })
)

it.effect("a cap that is set while a charge waits for its turn counts it, and refuses what does not fit", () =>
  Effect.gen(function* () {
    const small = cap("collection", 49_999n)
    expect(yield* Effect.provide(charge("one"), yield* setMeanwhile([], [small]))).toBe("velocity_limit_exceeded")
    expect(yield* Effect.provide(charge("one"), yield* setMeanwhile([], [cap("collection", 50_000n)]))).toBe("pending")
  })
)
