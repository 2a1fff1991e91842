import { it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { Payouts } from "../../../src/services/payouts/Payouts.ts"
import { RouteCounts } from "../../../src/services/ports/RouteCounts.ts"
import { RoutePreferences } from "../../../src/services/routing/RoutePreferences.ts"
import { policy } from "../../fakes/FakePolicy.ts"
import { type FakeProvider, fakeProvider } from "../../fakes/FakeProvider.ts"
import { caller, pay, payoutCommand } from "../../support/PaymentRequests.ts"
import { records, routedTo } from "../../support/RoutedGateway.ts"
import { NOON } from "../../support/SampleTransactions.ts"

const preferring = (preference: string) =>
  Effect.andThen(
    Effect.flatMap(SqlClient.SqlClient, (sql) => sql`UPDATE corridors SET preference = ${preference}`),
    TestClock.adjust("1 second")
  )

const turn = Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))

/** The answer to a request, and what happens meanwhile once the provider was asked for its price: nothing where it is not. */
const whileAsked = Effect.fnUntraced(function* <A, E, R>(
  { calls }: FakeProvider,
  work: Effect.Effect<A, E, R>,
  then: Effect.Effect<unknown>
) {
  const before = calls.length
  const fiber = yield* Effect.forkChild(work)
  while (calls.length === before && fiber.pollUnsafe() === undefined) yield* turn
  if (calls.length > before) yield* Effect.andThen(turn, then)
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
        expect(yield* whileAsked(alpha, pay("one"), TestClock.adjust("4 seconds"))).toBe("pending")
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
        const shown = whileAsked(alpha, feesShown, TestClock.adjust("3 seconds"))
        expect(new Set(yield* Effect.replicateEffect(shown, 2 * policy.circuit.failures))).toStrictEqual(new Set([200n]))
        expect(alpha.calls.length).toBeLessThan(2 * policy.circuit.failures)
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
        expect(yield* whileAsked(alpha, pay("one"), TestClock.adjust("5 seconds"))).toBe("pending")
        expect(alpha.calls.filter((call) => call === "quote")).toHaveLength(1)
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )
})
