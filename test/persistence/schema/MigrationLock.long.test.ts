import { it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Logger, Redacted, References } from "effect"
import { SqlClient } from "effect/sql"
import { describe, expect } from "vitest"
import { Database } from "../../../src/persistence/Database.ts"
import type { SteppedMigration } from "../../../src/persistence/schema/Migration.ts"
import { inMigrationTransaction, MigrationTries, withMigrationLock } from "../../../src/persistence/schema/MigrationLock.ts"
import { Migrations } from "../../../src/persistence/schema/Migrations.ts"
import { databaseProxy } from "../../support/DatabaseProxy.ts"
import { freshDatabase } from "../../support/Postgres.ts"
import { eventually } from "../../support/SignedClient.ts"

const rows = { name: "0001_rows", sql: "CREATE TABLE rows_of_ours (id int PRIMARY KEY, number int)" }
const index = {
  name: "9999_next",
  steps: [{ form: "index", name: "numbers", table: "rows_of_ours", definition: "(number)" }]
} as const satisfies SteppedMigration
const migrating = Migrations.apply([rows, index])

/** On a database with one table, and no gateway's. */
const onTable = <A, E, R>(body: (sql: SqlClient.SqlClient, url: Redacted.Redacted) => Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const { url } = yield* Effect.promise(() => freshDatabase())
    return yield* Effect.gen(function* () {
      yield* Migrations.apply([rows])
      return yield* body(yield* SqlClient.SqlClient, Redacted.make(url))
    }).pipe(Effect.provide(Database.layer({ url: Redacted.make(url) })))
  })

const HOLDERS = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND objid = 7001 AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`
const holders = (sql: SqlClient.SqlClient) => sql.unsafe<{ pid: number }>(HOLDERS)

/** Somebody in the middle of a transaction on the table, whom an index that is built waits for, until they are interrupted. */
const writing = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const begun = yield* Deferred.make<void>()
  const work = sql`INSERT INTO rows_of_ours VALUES (1, 1)`
  const writer = sql.withTransaction(Effect.andThen(work, Effect.andThen(Deferred.succeed(begun, undefined), Effect.never)))
  const fiber = yield* Effect.forkChild(writer)
  yield* Deferred.await(begun)
  return Fiber.interrupt(fiber)
})
const BUILDERS = "SELECT pid FROM pg_stat_progress_create_index WHERE index_relid = to_regclass('numbers')"

describe("the lock of the migrations", () => {
  it.live("stops who migrates when its session has ended, and lets the next one go on", () =>
    onTable((sql, url) =>
      Effect.gen(function* () {
        const first = yield* Effect.forkChild(Effect.flip(withMigrationLock(sql, Effect.never)))
        const [{ pid } = { pid: 0 }] = yield* eventually(holders(sql), ({ length }) => length === 1)
        yield* sql`SELECT pg_terminate_backend(${pid}::int, 5000)`
        expect(yield* Fiber.join(first)).toMatchObject({
          message: expect.stringContaining("the session that had the lock of the migrations has ended")
        })
        expect(yield* Effect.provide(migrating, Database.layer({ url }))).toStrictEqual([index.name])
      })
    )
  )

  it.live("is ended by the server where its process shows no life", () =>
    onTable((sql) =>
      Effect.gen(function* () {
        const first = yield* Effect.forkChild(withMigrationLock(sql, Effect.never))
        const [{ pid } = { pid: 0 }] = yield* eventually(holders(sql), ({ length }) => length === 1)
        const said = sql<{ query: string }>`SELECT query FROM pg_stat_activity WHERE pid = ${pid}`
        yield* eventually(said, ([row]) => row?.query === "SET LOCAL idle_in_transaction_session_timeout = 60000")
        yield* Fiber.interrupt(first)
      })
    )
  )

  it.live("is named with its session by who waits for it, at once in the log and in the end in the refusal", () =>
    onTable((sql) =>
      Effect.gen(function* () {
        const first = yield* Effect.forkChild(withMigrationLock(sql, Effect.never))
        const [{ pid } = { pid: 0 }] = yield* eventually(holders(sql), ({ length }) => length === 1)
        const notes: Array<unknown> = []
        const logger = Logger.make(({ fiber }) => void notes.push(fiber.getRef(References.CurrentLogAnnotations)["note"]))
        const refused = yield* Effect.flip(inMigrationTransaction(sql, Effect.void)).pipe(
          Effect.provideService(MigrationTries, 1),
          Effect.provide(Logger.layer([logger]))
        )
        const who = new RegExp(`process ${pid} of \\w+ from 127\\.0\\.0\\.1 since 20`)
        expect(notes).toEqual([expect.stringMatching(who)])
        expect(refused).toMatchObject({ message: expect.stringMatching(who) })
        yield* Fiber.interrupt(first)
      })
    )
  )
})

describe("an index that is built while its process dies", () => {
  it.live("is waited for by the next one, and not dropped, where a session goes on building it", () =>
    onTable((sql, url) =>
      Effect.gen(function* () {
        const end = yield* writing(sql)
        const others = Database.layer({ url })
        const building = Effect.flatMap(
          SqlClient.SqlClient,
          (own) => own`CREATE INDEX CONCURRENTLY numbers ON rows_of_ours (number)`
        )
        const builder = yield* Effect.forkChild(Effect.provide(building, others))
        yield* eventually(sql.unsafe(BUILDERS), ({ length }) => length === 1)
        const made = sql`SELECT 'numbers'::regclass::oid::int AS oid`
        const before = yield* made
        const next = yield* Effect.forkChild(Effect.provide(migrating, others))
        // It looks at what is built, or its drop waits for the lock.
        const reached = sql`SELECT FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()
            AND query LIKE '%LEFT JOIN pg_stat_progress_create_index%'
          UNION ALL SELECT FROM pg_locks WHERE NOT granted AND relation = 'rows_of_ours'::regclass`
        yield* eventually(reached, ({ length }) => length > 0)
        yield* end
        yield* Fiber.join(builder)
        expect(yield* Fiber.join(next)).toStrictEqual([index.name])
        expect(yield* made).toStrictEqual(before)
      })
    )
  )

  it.live("is given up by the server", () =>
    onTable((sql, url) =>
      Effect.gen(function* () {
        const line = yield* databaseProxy(url)
        const end = yield* writing(sql)
        const first = yield* Effect.forkChild(Effect.exit(Effect.provide(migrating, Database.layer({ url: line.database }))))
        yield* eventually(sql.unsafe(BUILDERS), ({ length }) => length === 1)
        yield* line.cut
        yield* Fiber.join(first)
        yield* eventually(sql.unsafe(BUILDERS), ({ length }) => length === 0)
        expect(yield* sql`SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = 'numbers'::regclass`).toEqual([
          { valid: false }
        ])
        yield* end
        expect(yield* migrating).toStrictEqual([index.name])
      }).pipe(Effect.scoped)
    )
  )
})
