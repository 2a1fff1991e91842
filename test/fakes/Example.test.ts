import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { Payouts } from "../../src/services/payouts/Payouts.ts"
import { caller, floatNow, givenFresh, payoutCommand } from "../support/PaymentRequests.ts"
import { fakeGateway } from "./FakeGateway.ts"
import { fakeProvider } from "./FakeProvider.ts"

it.effect.each([
  { sending: "paid", outcome: "successful", float: [89_000n, 0n] },
  { sending: "refused", outcome: "payout_rejected_by_provider", float: [100_000n, 0n] },
  { sending: "silent", outcome: "provider_timeout", float: [89_000n, 11_000n] }
] as const)("a payout of 10,000 with a fee of 1,000 is $sending: $outcome", ({ float, outcome, sending }) => {
  const provider = fakeProvider("acme-pay", { sending })
  return Effect.gen(function* () {
    const { create } = yield* Payouts
    const fresh = yield* givenFresh(caller.appId, "key-1")
    const ended = yield* Effect.result(create(caller, payoutCommand(), fresh))
    expect(ended._tag === "Success" ? ended.success.status : ended.failure._tag).toBe(outcome)
    expect(yield* floatNow).toStrictEqual(float)
    expect(provider.calls).toStrictEqual(["quote", "send"])
  }).pipe(Effect.provide(fakeGateway({ providers: [provider] })))
})
