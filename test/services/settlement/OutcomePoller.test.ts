import { it } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { afterEach, describe, expect } from "vitest"
import { minor } from "../../../src/domain/Money.ts"
import { Payouts } from "../../../src/services/payouts/Payouts.ts"
import { Transactions } from "../../../src/services/ports/Transactions.ts"
import { OutcomePoller } from "../../../src/services/settlement/OutcomePoller.ts"
import { makeBench } from "../../simulator/eversend/SimulatorFixture.ts"
import { appId, givenTenantWith, position } from "../../support/LedgerSteps.ts"
import { givenFresh } from "../../support/PaymentRequests.ts"
import { givenServices } from "../../support/ServicesOnPostgres.ts"
import { givenDatabase } from "../../support/TestDatabase.ts"

const bench = makeBench(afterEach)

const pay = (ending: string) =>
  Effect.gen(function* () {
    const fresh = yield* givenFresh(appId, "key")
    const payout = {
      amount: minor(10_000n),
      currency: "UGX",
      destinationCurrency: "UGX",
      country: "UG",
      method: "momo",
      destination: { _tag: "momo", msisdn: Redacted.make(`+25677212${ending}`), network: "MTN", country: "UG" },
      amountType: null,
      deductFeeFromAmount: false,
      narration: null,
      metadata: "{}"
    } as const
    yield* Effect.exit((yield* Payouts).create({ appId, keyId: "k", mode: "live", role: "tenant" }, payout, fresh))
    return fresh.claim.reference
  })

const day = Effect.gen(function* () {
  for (let hour = 0; hour < 26; hour++) {
    yield* TestClock.adjust("1 hour")
    yield* (yield* OutcomePoller).round
  }
})

describe("a payout of unknown outcome", () => {
  it.effect("is asked about until the end of the schedule and then waits for a person, with its float reserved", () =>
    Effect.gen(function* () {
      const simulator = yield* Effect.promise(() => bench.start({ delayMs: 0 }))
      const node = yield* givenServices(yield* givenDatabase, simulator.eversendBaseUrl)
      yield* Effect.gen(function* () {
        yield* givenTenantWith(appId, 50_000n)
        const reference = yield* pay("0010")
        yield* day
        const { transaction } = Option.getOrThrow(yield* (yield* Transactions).byReference(reference))
        expect(transaction).toMatchObject({ status: "pending", needsReview: true })
        expect(yield* position(appId)).toStrictEqual([39_000n, 11_000n])
        expect((yield* (yield* Transactions).history(reference)).at(-1)?.note).toContain("a person has to look")
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("waits for a person also when its provider is no longer configured", () =>
    Effect.gen(function* () {
      const simulator = yield* Effect.promise(() => bench.start({ delayMs: 0 }))
      const node = yield* givenServices(yield* givenDatabase, simulator.eversendBaseUrl)
      yield* Effect.gen(function* () {
        yield* givenTenantWith(appId, 50_000n)
        const reference = yield* pay("0010")
        yield* Effect.promise(() => simulator.control("POST", "/down", { provider: "eversend", down: true }))
        yield* day
        const { transaction } = Option.getOrThrow(yield* (yield* Transactions).byReference(reference))
        expect(transaction).toMatchObject({ status: "pending", needsReview: true })
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )
})
