import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, type Redacted, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Database } from "../../../src/persistence/Database.ts"
import { PeriodCountsPg } from "../../../src/persistence/status/PeriodCountsPg.ts"
import { type Counted, PERIOD_MS, PeriodCounts } from "../../../src/services/ports/PeriodCounts.ts"
import { asRuntime } from "../../support/Postgres.ts"
import { givenDatabase } from "../../support/TestDatabase.ts"

const HOUR = 3_600_000
const NOON = Date.UTC(2026, 10, 21, 12)

const success: Counted = {
  what: "payout",
  mode: "live",
  provider: "eversend",
  corridor: "UG/UGX/momo",
  outcome: "successful",
  failure: "none"
}
const failure: Counted = { ...success, outcome: "failed", failure: "provider_rejected" }
const forged: Counted = { ...success, what: "callback", corridor: "", outcome: "refused" }

/** One gateway process, with the rights that it has. */
const givenProcess = (url: Redacted.Redacted) =>
  Layer.build(Layer.fresh(Layer.provideMerge(PeriodCountsPg, Database.layer({ url: asRuntime(url) }))))

const counting = Effect.fnUntraced(function* (periods: PeriodCounts["Service"], counted: Counted, times: number) {
  yield* Effect.replicateEffect(periods.add(counted), times)
})

describe("what is counted in periods", () => {
  it.effect("is the sum of all processes, by the step that is asked for, and writing it twice counts it once", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(NOON + 1)
      const url = yield* givenDatabase
      const [one, other] = yield* Effect.all([givenProcess(url), givenProcess(url)])
      const [first, second] = [Context.get(one, PeriodCounts), Context.get(other, PeriodCounts)]
      yield* counting(first, success, 3)
      yield* counting(second, success, 2)
      yield* counting(second, failure, 1)
      yield* counting(first, forged, 7)
      yield* first.write
      yield* first.write
      yield* second.write
      yield* counting(first, success, 1)
      yield* TestClock.adjust(PERIOD_MS)
      yield* counting(first, success, 4)
      yield* first.write
      yield* first.write
      const of = (counted: Counted, at: number, count: number) => ({ ...counted, at, count })
      expect(yield* first.ended("live", NOON, PERIOD_MS)).toEqual([
        of(failure, NOON, 1),
        of(success, NOON, 6),
        of(success, NOON + PERIOD_MS, 4)
      ])
      expect(yield* second.ended("live", NOON, HOUR)).toEqual([of(failure, NOON, 1), of(success, NOON, 10)])
      expect(yield* second.ended("live", NOON + PERIOD_MS, PERIOD_MS)).toEqual([of(success, NOON + PERIOD_MS, 4)])
      expect(yield* second.ended("test", NOON, HOUR)).toEqual([])
      expect(yield* second.callbacks(NOON)).toEqual([{ provider: "eversend", mode: "live", outcome: "refused", count: 7 }])
    })
  )

  it.effect("names the accounts whose wallets were too small for what was asked of them", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(NOON + 1)
      const periods = Context.get(yield* givenProcess(yield* givenDatabase), PeriodCounts)
      const short: Counted = { ...failure, failure: "insufficient_wallet_float" }
      yield* counting(periods, short, 2)
      yield* counting(periods, { ...short, corridor: "UG/UGX/bank" }, 1)
      yield* counting(periods, { ...short, provider: "mtn", mode: "test" }, 1)
      yield* counting(periods, failure, 9)
      yield* periods.write
      expect(yield* periods.walletRefusals(NOON)).toEqual([
        { provider: "eversend", mode: "live", count: 3 },
        { provider: "mtn", mode: "test", count: 1 }
      ])
      expect(yield* periods.walletRefusals(NOON + PERIOD_MS)).toEqual([])
    })
  )

  it.effect("never goes down by a write that comes after a later one", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(NOON)
      const url = yield* givenDatabase
      const sql = Context.get(yield* Layer.build(Layer.fresh(Database.layer({ url }))), SqlClient.SqlClient)
      const periods = Context.get(yield* givenProcess(url), PeriodCounts)
      yield* counting(periods, success, 2)
      yield* periods.write
      yield* sql`UPDATE period_counts SET count = 5`
      yield* counting(periods, success, 1)
      yield* periods.write
      expect(yield* sql`SELECT count FROM period_counts`).toEqual([{ count: 5 }])
    })
  )

  it.effect("is written when its process ends, and waits while the database takes no writes", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(NOON)
      const url = yield* givenDatabase
      const owner = yield* Layer.build(Layer.fresh(Database.layer({ url })))
      const sql = Context.get(owner, SqlClient.SqlClient)
      const scope = yield* Scope.make()
      const periods = Context.get(yield* Effect.provideService(givenProcess(url), Scope.Scope, scope), PeriodCounts)
      yield* counting(periods, success, 2)
      yield* sql`ALTER TABLE period_counts RENAME TO hidden`
      expect(Exit.isFailure(yield* Effect.exit(periods.write))).toBe(true)
      yield* counting(periods, success, 1)
      yield* sql`ALTER TABLE hidden RENAME TO period_counts`
      yield* Scope.close(scope, Exit.void)
      expect(yield* sql`SELECT count FROM period_counts`).toEqual([{ count: 3 }])
    })
  )

  it.effect("is removed a bounded number at a time, the oldest first", () =>
    Effect.gen(function* () {
      const url = yield* givenDatabase
      const periods = Context.get(yield* givenProcess(url), PeriodCounts)
      const sql = Context.get(yield* Layer.build(Layer.fresh(Database.layer({ url }))), SqlClient.SqlClient)
      yield* sql`
        INSERT INTO period_counts (period_start, what, mode, provider, corridor, outcome, failure, process, count)
        SELECT ${new Date(NOON)}::timestamptz + n * interval '1 hour', 'payout', 'live', 'eversend', 'UG/UGX/momo', 'successful', 'none',
          '00000000-0000-4000-8000-000000000000', 1 FROM generate_series(0, 2) AS n`
      expect(yield* periods.prune(NOON + 2 * HOUR, 1)).toBe(1)
      expect((yield* periods.ended("live", 0, HOUR)).map(({ at }) => at)).toEqual([NOON + HOUR, NOON + 2 * HOUR])
      expect(yield* periods.prune(NOON + 2 * HOUR, 10)).toBe(1)
      expect(yield* periods.prune(NOON + 2 * HOUR, 10)).toBe(0)
    })
  )
})
