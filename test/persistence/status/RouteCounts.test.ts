import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, type Redacted, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import type { RouteOutcome } from "../../../src/domain/RouteResult.ts"
import { Database } from "../../../src/persistence/Database.ts"
import { RouteCountsPg } from "../../../src/persistence/status/RouteCountsPg.ts"
import { RouteOrdersPg } from "../../../src/persistence/status/RouteOrdersPg.ts"
import { PERIOD_MS } from "../../../src/services/ports/PeriodCounts.ts"
import { RouteCounts } from "../../../src/services/ports/RouteCounts.ts"
import { RouteOrders } from "../../../src/services/ports/RouteOrders.ts"
import { asRuntime } from "../../support/Postgres.ts"
import { NOON } from "../../support/SampleTransactions.ts"
import { givenDatabase } from "../../support/TestDatabase.ts"

const paid: RouteOutcome = {
  direction: "payout",
  corridor: "UG/UGX/momo",
  network: "AIRTEL",
  provider: "airtel",
  result: "successful",
  tookMs: 700
}
const silent: RouteOutcome = { ...paid, result: "silent", tookMs: null }
const { tookMs: _, ...route } = paid

/** One gateway process, with the rights that it has. */
const givenProcess = (url: Redacted.Redacted) =>
  Layer.build(
    Layer.fresh(Layer.provideMerge(Layer.mergeAll(RouteCountsPg, RouteOrdersPg), Database.layer({ url: asRuntime(url) })))
  )

describe("what became of payments at their providers", () => {
  it.effect("is the sum of all processes by result and time, and writing it twice counts it once", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(NOON)
      const url = yield* givenDatabase
      const scope = yield* Scope.make()
      const [one, other] = [
        Context.get(yield* givenProcess(url), RouteCounts),
        Context.get(yield* Effect.provideService(givenProcess(url), Scope.Scope, scope), RouteCounts)
      ]
      yield* Effect.replicateEffect(one.add("live", paid), 3)
      yield* one.add("live", { ...paid, tookMs: 900_000_000 })
      yield* one.add("test", paid)
      yield* Effect.andThen(one.write, one.write)
      yield* Effect.replicateEffect(other.add("live", paid), 2)
      yield* other.add("live", silent)
      // Its process ends: what it counted is written.
      yield* Scope.close(scope, Exit.void)
      const live = { ...route, mode: "live" }
      expect(yield* one.since(NOON)).toEqual([
        { ...live, result: "silent", withinMs: 0, count: 1 },
        { ...live, withinMs: 1_000, count: 5 },
        { ...live, withinMs: 86_400_000, count: 1 },
        { ...live, mode: "test", withinMs: 1_000, count: 1 }
      ])
      expect(yield* one.since(NOON + 1)).toEqual([])
      expect([yield* one.prune(NOON, 10), yield* one.prune(NOON + PERIOD_MS, 2), yield* one.prune(NOON + PERIOD_MS, 10)]).toEqual(
        [0, 2, 3]
      )
    })
  )

  it.effect("of a word that a later release wrote is left out", () =>
    Effect.gen(function* () {
      const url = yield* givenDatabase
      const sql = Context.get(yield* Layer.build(Layer.fresh(Database.layer({ url }))), SqlClient.SqlClient)
      yield* sql`INSERT INTO route_counts (period_start, mode, direction, corridor, network, provider, result, within_ms, process, count)
        VALUES (now(), 'live', 'payout', 'UG/UGX/momo', 'MTN', 'mtn', 'another', 0, '00000000-0000-4000-8000-000000000000', 1)`
      expect(yield* Context.get(yield* givenProcess(url), RouteCounts).since(0)).toEqual([])
    })
  )
})

describe("an order by success", () => {
  it.effect("takes the place of the one that it was made from, and of no other one", () =>
    Effect.gen(function* () {
      const orders = Context.get(yield* Effect.flatMap(givenDatabase, givenProcess), RouteOrders)
      const key = { mode: "live", direction: "payout", corridor: "UG/UGX/momo", network: "MTN" } as const
      const first = { configured: ["a", "b"], providers: ["b", "a"], previous: ["a", "b"], changedAt: NOON }
      const second = { ...first, providers: ["a", "b"], previous: ["b", "a"], changedAt: NOON + 1 }
      yield* orders.change(key, first, null)
      yield* orders.change(key, second, null)
      yield* orders.change(key, second, second)
      expect(yield* orders.all).toEqual([{ ...key, ...first }])
      yield* orders.change(key, second, first)
      expect(yield* orders.all).toEqual([{ ...key, ...second }])
    })
  )

  it.effect("is forgotten with its corridor, and no other one", () =>
    Effect.gen(function* () {
      const orders = Context.get(yield* Effect.flatMap(givenDatabase, givenProcess), RouteOrders)
      const key = { mode: "live", direction: "payout", corridor: "UG/UGX/momo", network: "MTN" } as const
      const order = { configured: ["a", "b"], providers: ["b", "a"], previous: ["a", "b"], changedAt: NOON }
      const others = [
        { ...key, direction: "collection" },
        { ...key, corridor: "KE/KES/momo" }
      ] as const
      for (const one of [key, { ...key, network: "AIRTEL" }, ...others]) yield* orders.change(one, order, null)
      yield* orders.forget(key)
      expect((yield* orders.all).map(({ corridor, direction }) => [direction, corridor])).toEqual([
        ["collection", "UG/UGX/momo"],
        ["payout", "KE/KES/momo"]
      ])
    })
  )
})
