import { expect, it } from "@effect/vitest"
import { Context, Effect, Exit, Fiber, Layer, Metric } from "effect"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { describe } from "vitest"
import { sqlState } from "../../../src/persistence/connection/DatabaseSpans.ts"
import { Distribution } from "../../../src/persistence/connection/Distribution.ts"
import { Database } from "../../../src/persistence/Database.ts"
import { LedgerVerificationPg } from "../../../src/persistence/ledger/LedgerVerificationPg.ts"
import { Migrations } from "../../../src/persistence/schema/Migrations.ts"
import { LedgerVerification } from "../../../src/services/ports/LedgerVerification.ts"
import { databaseProxy } from "../../support/DatabaseProxy.ts"
import { readExposition, sampled } from "../../support/Exposition.ts"
import { givenDatabase } from "../../support/TestDatabase.ts"

/** A client on a line that the test may strand. */
const given = Effect.gen(function* () {
  const line = yield* databaseProxy(yield* givenDatabase)
  const context = yield* Layer.build(Database.layer({ url: line.database }))
  return { line, sql: Context.get(context, SqlClient.SqlClient) }
})

describe("a database connection without answers", () => {
  it.effect("fails its waiting statements after 18 seconds and is discarded, while others continue", () =>
    Effect.gen(function* () {
      const { line, sql } = yield* given
      const ask = sql`SELECT 1 AS one`
      expect(yield* ask).toEqual([{ one: 1 }])
      yield* line.strand
      const waiting = yield* Effect.forkChild(Effect.exit(ask), { startImmediately: true })
      yield* TestClock.adjust("17999 millis")
      expect(waiting.pollUnsafe() === undefined).toBe(true)
      yield* TestClock.adjust("1 millis")
      const exit = yield* Fiber.join(waiting)
      expect(Exit.isFailure(exit) ? String(exit.cause) : "answered").toContain("the database did not answer")
      expect(yield* ask).toEqual([{ one: 1 }])
      expect(yield* sql.withTransaction(ask)).toEqual([{ one: 1 }])
    }).pipe(Effect.scoped)
  )

  it.effect("ends a transaction, too, which is rolled back", () =>
    Effect.gen(function* () {
      const { line, sql } = yield* given
      yield* sql`CREATE TABLE kept (n int)`
      const change = sql.withTransaction(
        sql`INSERT INTO kept VALUES (1)`.pipe(Effect.andThen(line.strand), Effect.andThen(sql`INSERT INTO kept VALUES (2)`))
      )
      const waiting = yield* Effect.forkChild(Effect.exit(change))
      yield* Effect.repeat(
        Effect.andThen(
          TestClock.adjust("1 seconds"),
          Effect.promise(() => new Promise(setImmediate))
        ),
        {
          until: () => waiting.pollUnsafe() !== undefined
        }
      )
      expect(Exit.isFailure(yield* Fiber.join(waiting))).toBe(true)
      expect(yield* sql`SELECT n FROM kept`).toEqual([])
    }).pipe(Effect.scoped)
  )
})

it.effect("a connection on which nothing can be written is discarded at its first refusal", () =>
  Effect.gen(function* () {
    const { sql } = yield* given
    yield* sql`CREATE TABLE written (n int)`
    yield* sql`SET default_transaction_read_only = on`
    const write = sql`INSERT INTO written VALUES (1) RETURNING n`
    expect(sqlState(yield* Effect.flip(write))).toBe("25006")
    expect(yield* write).toEqual([{ n: 1 }])
  }).pipe(Effect.scoped)
)

it.effect("ledger verify may read for longer than a request's deadline", () =>
  Effect.gen(function* () {
    const { line, sql } = yield* given
    const audit = yield* Layer.build(LedgerVerificationPg).pipe(
      Effect.provideService(SqlClient.SqlClient, sql),
      Effect.provideService(Distribution, { isDistributed: false })
    )
    yield* sql.withTransaction(sql`SELECT 1 AS one`)
    yield* line.hold
    const reading = yield* Effect.forkChild(Context.get(audit, LedgerVerification).verify, { startImmediately: true })
    yield* TestClock.adjust("10 minutes")
    yield* line.letGo
    expect(yield* Fiber.join(reading)).toMatchObject({ ok: true, differences: [] })
  }).pipe(Effect.scoped)
)

it.effect("a migration may run for longer than a request's deadline", () =>
  Effect.gen(function* () {
    const { line, sql } = yield* given
    const apply = Effect.provideService(Migrations.apply(Migrations.all), SqlClient.SqlClient, sql)
    expect(yield* apply).toEqual([])
    yield* line.hold
    const running = yield* Effect.forkChild(apply, { startImmediately: true })
    yield* TestClock.adjust("9 minutes")
    yield* line.letGo
    expect(yield* Fiber.join(running)).toEqual([])
  }).pipe(Effect.scoped)
)

it.effect("a transaction that failed inside is never reported as committed", () =>
  Effect.gen(function* () {
    const { sql } = yield* given
    const exit = yield* Effect.exit(sql.withTransaction(Effect.ignore(sql`SELECT 1 / 0`)))
    expect(Exit.isFailure(exit) ? String(exit.cause) : "committed").toContain("rolled back")
  }).pipe(Effect.scoped)
)

it.effect("the time that each statement waits for a connection is measured", () =>
  Effect.gen(function* () {
    const { sql } = yield* given
    const waits = Effect.map(PrometheusMetrics.format(), (text) =>
      sampled(readExposition(text), "gateway_database_connection_wait_seconds_count")
    )
    const before = (yield* waits) ?? 0
    yield* sql`SELECT 1`
    yield* sql.withTransaction(sql`SELECT 1`)
    expect(yield* waits).toBe(before + 2)
  }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()), Effect.scoped)
)
