import { it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { Payouts } from "../../../src/services/payouts/Payouts.ts"
import { RouteCounts } from "../../../src/services/ports/RouteCounts.ts"
import { RoutePreferences } from "../../../src/services/routing/RoutePreferences.ts"
import { policy } from "../../fakes/FakePolicy.ts"
import { fakeProvider } from "../../fakes/FakeProvider.ts"
import { caller, pay, payoutCommand } from "../../support/PaymentRequests.ts"
import { records, routedTo } from "../../support/RoutedGateway.ts"
import { NOON } from "../../support/SampleTransactions.ts"

const preferring = (preference: string) =>
  Effect.andThen(
    Effect.flatMap(SqlClient.SqlClient, (sql) => sql`UPDATE corridors SET preference = ${preference}`),
    TestClock.adjust("1 second")
  )

/** Its answer; the clock of the test goes on until it is there. */
const passing = Effect.fnUntraced(function* <A, E, R>(work: Effect.Effect<A, E, R>) {
  const fiber = yield* Effect.forkChild(work)
  const turn = Effect.andThen(
    Effect.promise(() => new Promise((resolve) => setImmediate(resolve))),
    TestClock.adjust("10 millis")
  )
  while (fiber.pollUnsafe() === undefined) yield* turn
  return yield* Fiber.join(fiber)
})

/** Of a hundred payouts of the last hour so many were successful. */
const counted = Effect.fnUntraced(function* (rates: Readonly<Record<string, number>>) {
  const counts = yield* RouteCounts
  const route = { direction: "payout", corridor: "UG/UGX/momo", network: "MTN", tookMs: 1_000 } as const
  for (const [provider, successful] of Object.entries(rates)) {
    yield* Effect.replicateEffect(counts.add("live", { ...route, provider, result: "successful" }), successful)
    yield* Effect.replicateEffect(counts.add("live", { ...route, provider, result: "failed" }), 100 - successful)
  }
  yield* counts.write
  yield* (yield* RoutePreferences).look
})

const feesShown = Effect.map(
  Effect.flatMap(Payouts, (payouts) => payouts.estimate(caller, payoutCommand())),
  ({ fees_minor }) => fees_minor
)
const used = Effect.map(records, (all) => all.map(({ transaction: record }) => record.provider))

describe("a price that takes its time", () => {
  it.effect("is waited for while it was shown by the order before", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(NOON)
      const alpha = fakeProvider("alpha", { fee: 100n })
      const { node } = yield* routedTo([alpha, fakeProvider("beta", { fee: 900n })])
      yield* Effect.gen(function* () {
        yield* preferring("success")
        expect(yield* feesShown).toBe(100n)
        yield* counted({ alpha: 80, beta: 99 })
        alpha.script.gate = Effect.sleep("4 seconds")
        expect(yield* passing(pay("one"))).toBe("pending")
        expect(yield* used).toStrictEqual(["alpha"])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("is asked for no more once it is known that the provider does not answer", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(NOON)
      const alpha = fakeProvider("alpha", { fee: 100n, gate: Effect.never })
      const { node } = yield* routedTo([fakeProvider("beta", { fee: 200n }), alpha])
      yield* Effect.gen(function* () {
        yield* preferring("price")
        const shown = Effect.replicateEffect(feesShown, policy.circuit.failures + 3)
        expect(new Set(yield* passing(shown))).toStrictEqual(new Set([200n]))
        expect(alpha.calls).toHaveLength(policy.circuit.failures)
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("of the first is not asked for a second time", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(NOON)
      const alpha = fakeProvider("alpha", { fee: 100n, gate: Effect.sleep("5 seconds") })
      const { node } = yield* routedTo([alpha, fakeProvider("beta", { down: true })])
      yield* Effect.gen(function* () {
        yield* preferring("price")
        expect(yield* passing(pay("one"))).toBe("pending")
        expect(alpha.calls.filter((call) => call === "quote")).toHaveLength(1)
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )
})
