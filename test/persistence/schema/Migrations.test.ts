import { it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Layer, Logger, Redacted, References } from "effect"
import { SqlClient } from "effect/sql"
import { describe, expect } from "vitest"
import { SessionPooling } from "../../../src/persistence/connection/SessionPooling.ts"
import { Database } from "../../../src/persistence/Database.ts"
import { functionFiles } from "../../../src/persistence/schema/FunctionFiles.ts"
import type { SteppedMigration } from "../../../src/persistence/schema/Migration.ts"
import { Migrations } from "../../../src/persistence/schema/Migrations.ts"
import { asRuntime, freshDatabase } from "../../support/Postgres.ts"
import { eventually } from "../../support/SignedClient.ts"
import { givenDatabase } from "../../support/TestDatabase.ts"

const NAME = "9999_next"
const next = (...steps: SteppedMigration["steps"]): SteppedMigration => ({ name: NAME, steps })
const column = { form: "transaction", sql: "ALTER TABLE tenants ADD COLUMN note text" } as const

const apply = (migration: SteppedMigration) => Migrations.apply([...Migrations.all, migration])
const standing = Effect.flatMap(SqlClient.SqlClient, Migrations.standing)

/** On a database of this program's release, as its owner. */
const onReleased = <A, E>(body: Effect.Effect<A, E, SqlClient.SqlClient>) =>
  Effect.flatMap(givenDatabase, (url) => Effect.provide(body, Database.layer({ url })))
const rowsOfOurs = {
  name: "0001_rows",
  sql: `CREATE TABLE rows_of_ours (id int PRIMARY KEY, number int, copied int);
    INSERT INTO rows_of_ours SELECT n, n FROM generate_series(1, 1000) n;`
}
/** On a database with one table of a thousand rows, and no gateway's. */
const onTable = <A, E>(body: (sql: SqlClient.SqlClient) => Effect.Effect<A, E, SqlClient.SqlClient>) =>
  Effect.gen(function* () {
    const { url } = yield* Effect.promise(() => freshDatabase())
    return yield* Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Migrations.apply([rowsOfOurs])
      return yield* body(sql)
    }).pipe(Effect.provide(Database.layer({ url: Redacted.make(url) })))
  })

describe("a schema of a newer release", () => {
  it.live("is run on where it says so, by a node that starts and by one that was overtaken", () =>
    onReleased(
      Effect.gen(function* () {
        const obstacle = yield* Database.schemaObstacle
        expect(yield* apply(next(column))).toStrictEqual([NAME])
        expect(yield* Database.migrate).toStrictEqual([])
        expect(yield* obstacle).toBe(null)
        expect(yield* standing).toMatchObject({ newer: [NAME], underWay: [] })
      })
    )
  )

  it.live(
    "is refused in one line where it needs a program that knows more, by a node that starts and by one that was overtaken",
    () =>
      onReleased(
        Effect.gen(function* () {
          const obstacle = yield* Database.schemaObstacle
          const needs = "9998_before"
          yield* Migrations.apply([
            ...Migrations.all,
            { name: needs, steps: [column] },
            { ...next({ form: "transaction", sql: "ALTER TABLE tenants DROP COLUMN note" }), needs }
          ])
          const line = `the database's schema needs a release that knows ${needs}: start that one or a newer one`
          expect(yield* obstacle).toBe(line)
          expect((yield* Effect.flip(Database.migrate)).message).toBe(line)
        })
      )
  )

  it.live("lacks what a node needs that was started before it was restored from an older copy", () =>
    onReleased(
      Effect.gen(function* () {
        const obstacle = yield* Database.schemaObstacle
        const sql = yield* SqlClient.SqlClient
        const newest = Migrations.all.at(-1)?.name
        yield* sql`DELETE FROM schema_migrations WHERE name = ${newest}`
        expect(yield* obstacle).toBe(`the database's schema lacks ${newest}: run \`gateway migrate\``)
      })
    )
  )
})

/** The program's files of functions, one of them with another text. */
const withText = (changed: string, version: number, text: (sql: string) => string) =>
  functionFiles.map((file) => (file.name === changed ? { ...file, version, sql: text(file.sql) } : file))
const newer = withText("refuse_commit", 99, (sql) => sql.replace("money step refused", "the newer text refused"))
const refusal = Effect.flatMap(SqlClient.SqlClient, (sql) => Effect.flip(sql`SELECT refuse_commit('it')`)).pipe(
  Effect.map(({ reason }) => String(reason.cause))
)

describe("the functions of the database", () => {
  it.live("are applied when their text changes, and no program puts an older text in the place of a newer one", () =>
    onReleased(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const obstacle = yield* Database.schemaObstacle
        expect(yield* refusal).toContain("money step refused")
        expect(yield* Migrations.apply(Migrations.all, newer)).toStrictEqual(["functions/refuse_commit"])
        expect(yield* refusal).toContain("the newer text refused")
        // A node of the release before goes on, and one that starts leaves it as it is.
        expect(yield* obstacle).toBe(null)
        expect(yield* standing).toMatchObject({ missing: [], newer: ["functions/refuse_commit"] })
        expect(yield* Database.migrate).toStrictEqual([])
        expect(yield* refusal).toContain("the newer text refused")
        expect(yield* Migrations.apply(Migrations.all, newer)).toStrictEqual([])
        // What it was before again is a text that comes after it.
        const again = withText("refuse_commit", 100, (text) => text)
        expect(yield* Migrations.apply(Migrations.all, again)).toStrictEqual(["functions/refuse_commit"])
        expect(yield* Migrations.apply(Migrations.all, newer)).toStrictEqual([])
        expect(yield* refusal).toContain("money step refused")
        yield* sql`DELETE FROM schema_functions WHERE name = 'refuse_commit'`
        expect(yield* obstacle).toBe("the database's schema lacks functions/refuse_commit: run `gateway migrate`")
      })
    )
  )

  it.live("are put again where another release replaced one, or set it otherwise, since this one put it", () =>
    onReleased(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        // As a release does that knows no files of functions: by a migration of its own.
        const hotfix = "CREATE OR REPLACE FUNCTION refuse_commit(reason text) RETURNS text LANGUAGE sql AS $$ SELECT 'hotfix' $$"
        expect(yield* apply(next({ form: "transaction", sql: hotfix }))).toStrictEqual([NAME])
        yield* sql`ALTER FUNCTION apply_step_of_tenant SET lock_timeout = '1h'`
        yield* sql`ALTER FUNCTION seal_access SECURITY INVOKER`
        yield* sql`UPDATE schema_functions SET digest = NULL WHERE name = 'months'`
        const due = ["refuse_commit", "apply_step", "access", "months"].map((name) => `functions/${name}`)
        expect(yield* Database.migrate).toStrictEqual(due)
        expect(yield* refusal).toContain("money step refused")
        expect(yield* sql`SELECT FROM pg_proc WHERE proconfig @> '{lock_timeout=1h}'`).toStrictEqual([])
        expect(yield* Database.migrate).toStrictEqual([])
        yield* sql`DROP FUNCTION use_windows`
        expect(yield* Database.migrate).toStrictEqual(["functions/windows"])
        // What a newer release put is its own.
        yield* Migrations.apply(Migrations.all, newer)
        yield* sql`DROP FUNCTION refuse_commit`
        expect(yield* Database.migrate).toStrictEqual([])
      })
    )
  )

  it.live("keep a setting that an administrator gave one: it is said, and a gateway that may change nothing starts", () =>
    Effect.gen(function* () {
      const url = yield* givenDatabase
      const notes: Array<unknown> = []
      const logger = Logger.make(({ fiber }) => void notes.push(fiber.getRef(References.CurrentLogAnnotations)["note"]))
      const starts = (address: Redacted.Redacted) =>
        Effect.provide(Database.migrate, Layer.merge(Database.layer({ url: address }), Logger.layer([logger])))
      const alter = (statement: string) =>
        Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(statement)).pipe(Effect.provide(Database.layer({ url })))
      // As it was put: all that our own texts set is known.
      expect([yield* starts(asRuntime(url)), notes]).toStrictEqual([[], []])
      yield* alter("ALTER FUNCTION apply_steps SET work_mem = '64MB'")
      yield* alter("ALTER FUNCTION add_charge SET statement_timeout = '9s'")
      expect([yield* starts(asRuntime(url)), yield* starts(url)]).toStrictEqual([[], []])
      const said = "add_charge: statement_timeout=9s, apply_steps: work_mem=64MB"
      expect(notes).toStrictEqual([said, said])
      // A setting of ours that is another by now is no setting of theirs, nor is where names are looked up.
      yield* alter("ALTER FUNCTION apply_steps SET enable_hashjoin = on")
      yield* alter("ALTER FUNCTION add_charge SET search_path = public")
      expect((yield* Effect.flip(starts(asRuntime(url)))).message).toContain("may not change it: run `gateway migrate`")
      expect(yield* starts(url)).toStrictEqual(["functions/add_charge", "functions/apply_steps"])
      expect(yield* starts(asRuntime(url))).toStrictEqual([])
      // What a newer release's text sets is that release's.
      const set = withText("add_charge", 99, (text) => `${text}\nALTER FUNCTION add_charge SET work_mem = '1MB';`)
      yield* Effect.provide(Migrations.apply(Migrations.all, set), Database.layer({ url }))
      notes.length = 0
      yield* starts(url)
      expect(notes.filter((note) => note !== undefined)).toStrictEqual([])
    })
  )

  it.live(
    "are refused at the start where another build of the same release put them, and neither build puts its own over them",
    () =>
      onReleased(
        Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          const obstacle = yield* Database.schemaObstacle
          const version = functionFiles.find(({ name }) => name === "refuse_commit")?.version ?? 0
          const other = withText("refuse_commit", version, (text) =>
            text.replace("money step refused", "the other build refused")
          )
          const refused = Effect.map(Effect.flip(Migrations.apply(Migrations.all, other)), ({ message }) => message)
          expect(yield* refused).toContain("the database has another text of functions/refuse_commit than this program")
          expect(yield* obstacle).toBe(null)
          expect(yield* refusal).toContain("money step refused")
          // An operator who wants that build's does what the sentence says.
          yield* sql`DELETE FROM schema_functions WHERE name = 'refuse_commit'`
          expect(yield* Migrations.apply(Migrations.all, other)).toStrictEqual(["functions/refuse_commit"])
          expect(yield* refusal).toContain("the other build refused")
          expect(yield* obstacle).toContain("two builds of one release differ")
          expect((yield* Effect.flip(Database.migrate)).message).toBe(yield* obstacle)
        })
      )
  )

  it.live("come to a database that a release before them made, which has nothing else to do", () =>
    onReleased(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* sql`DROP TABLE schema_functions`
        yield* sql`ALTER TABLE beneficiaries DROP COLUMN branch_code`
        const later = ["0038_functions", "0043_branches_and_digests"]
        yield* sql`DELETE FROM schema_migrations WHERE name = ANY (${later})`
        expect(yield* Database.migrate).toStrictEqual([...later, ...functionFiles.map(({ name }) => `functions/${name}`)])
        expect(yield* Database.migrate).toStrictEqual([])
      })
    )
  )

  it.live("change together or not at all, and none of them gets a second signature", () =>
    onReleased(
      Effect.gen(function* () {
        const broken = newer.map((file) => (file.name === "windows" ? { ...file, version: 99, sql: "CREATE OR REPLACE" } : file))
        const failed = yield* Effect.flip(Migrations.apply(Migrations.all, broken))
        expect(failed.message).toMatch(/^cannot apply functions\/windows: .*syntax error/)
        const overloaded = withText("refuse_commit", 99, (sql) => sql.replace("(reason text)", "(reason text, beside text)"))
        expect((yield* Effect.flip(Migrations.apply(Migrations.all, overloaded))).message).toContain(
          "the function refuse_commit would have two signatures: a changed signature is a new name"
        )
        expect(yield* refusal).toContain("money step refused")
      })
    )
  )
})

/** Somebody in the middle of a transaction on a table, until it is interrupted. */
const inTheMiddle = (statement: Effect.Effect<unknown, unknown, SqlClient.SqlClient>) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const begun = yield* Deferred.make<void>()
    const work = Effect.andThen(statement, Effect.andThen(Deferred.succeed(begun, undefined), Effect.never))
    const fiber = yield* Effect.forkChild(sql.withTransaction(work))
    yield* Deferred.await(begun)
    return Fiber.interrupt(fiber)
  })
const waitsForLock = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  eventually(sql`SELECT FROM pg_locks WHERE relation IS NOT NULL AND NOT granted`, ({ length }) => length > 0)
)

describe("a step of a migration", () => {
  it.live("that needs a table's lock lets those through who come after it, and gets the lock when it is free", () =>
    onTable((sql) =>
      Effect.gen(function* () {
        const end = yield* inTheMiddle(sql`SELECT FROM rows_of_ours LIMIT 1`)
        const added = next({ form: "transaction", sql: "ALTER TABLE rows_of_ours ADD COLUMN note text" })
        const migrating = yield* Effect.forkChild(Migrations.apply([rowsOfOurs, added]))
        yield* waitsForLock
        // It stands behind the step, which waits for the first one.
        yield* Effect.timeout(sql`SELECT count(*) FROM rows_of_ours`, "5 minutes")
        yield* end
        expect(yield* Fiber.join(migrating)).toStrictEqual([NAME])
      })
    )
  )

  it.live("is not done through a pooler, which would give its settings to somebody else's transaction", () =>
    onTable((sql) =>
      Effect.gen(function* () {
        const pooled = Effect.provideService(Migrations.apply([rowsOfOurs, next(column)]), SessionPooling, Effect.succeed(true))
        expect((yield* Effect.flip(pooled)).message).toContain("migrate with a direct MIGRATION_DATABASE_URL")
        expect(yield* sql`SELECT name FROM schema_migrations`).toEqual([{ name: rowsOfOurs.name }])
      })
    )
  )

  it.live("builds an index of a table with partitions, and lets those through who write meanwhile", () =>
    onReleased(
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const write = (id: string) =>
          sql`INSERT INTO events (app_id, id, mode, type, body, created_at) VALUES ('acme', ${id}, 'live', 'x', '{}', now())`
        const end = yield* inTheMiddle(write("1"))
        const index = { form: "index", name: "events_typed", table: "events", definition: "(app_id, type, created_at)" } as const
        const migrating = yield* Effect.forkChild(apply(next(index)))
        yield* waitsForLock
        yield* Effect.timeout(write("2"), "5 minutes")
        yield* end
        expect(yield* Fiber.join(migrating)).toStrictEqual([NAME])
        const made = sql`
          SELECT c.relname::text AS name, i.indisvalid AS valid FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
          WHERE c.relname LIKE 'events_typed%' ORDER BY 1`
        const names = ["events_typed", "events_typed_default", "events_typed_first"]
        expect(yield* made).toStrictEqual(names.map((name) => ({ name, valid: true })))
      })
    )
  )

  it.live("drops an index, and lets those through who write meanwhile", () =>
    onTable((sql) =>
      Effect.gen(function* () {
        yield* sql`CREATE INDEX numbers ON rows_of_ours (number)`
        const end = yield* inTheMiddle(sql`UPDATE rows_of_ours SET copied = 0 WHERE number = 1`)
        const migrating = yield* Effect.forkChild(Migrations.apply([rowsOfOurs, next({ form: "drop", index: "numbers" })]))
        yield* eventually(sql`SELECT FROM pg_locks WHERE locktype = 'virtualxid' AND NOT granted`, ({ length }) => length > 0)
        yield* Effect.timeout(sql`UPDATE rows_of_ours SET copied = 0 WHERE number = 2`, "20 seconds")
        yield* end
        expect(yield* Fiber.join(migrating)).toStrictEqual([NAME])
        const left = sql`SELECT indexrelid::regclass::text AS name FROM pg_index WHERE indrelid = 'rows_of_ours'::regclass`
        expect(yield* left).toStrictEqual([{ name: "rows_of_ours_pkey" }])
      })
    )
  )

  it.live("builds an index anew of which a process that ended left half, and does what is left of a migration only", () =>
    onTable((sql) =>
      Effect.gen(function* () {
        const steps = next(
          { form: "transaction", sql: "INSERT INTO rows_of_ours VALUES (1001, 1000)" },
          { form: "index", name: "numbers", table: "rows_of_ours", definition: "(number)", unique: true }
        )
        const failed = yield* Effect.flip(Migrations.apply([rowsOfOurs, steps]))
        expect(failed.message).toMatch(/^cannot apply 9999_next, step 2 of 2: .*could not create unique index/)
        expect(yield* standing).toMatchObject({ underWay: [NAME] })
        expect(yield* sql`SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = 'numbers'::regclass`).toStrictEqual([
          { valid: false }
        ])
        yield* sql`DELETE FROM rows_of_ours WHERE id = 1001`
        // The first step would fail a second time: its row is gone, and would come back.
        expect(yield* Migrations.apply([rowsOfOurs, steps])).toStrictEqual([NAME])
        expect(yield* sql`SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = 'numbers'::regclass`).toStrictEqual([
          { valid: true }
        ])
        expect(yield* sql`SELECT FROM rows_of_ours WHERE id = 1001`).toStrictEqual([])
      })
    )
  )

  it.live("of many batches goes on after the last one that was committed", () =>
    onTable((sql) =>
      Effect.gen(function* () {
        // A row whose number is 0 cannot be changed.
        const batches = `WITH batch AS (SELECT id FROM rows_of_ours WHERE id > coalesce(nullif($1, ''), '0')::int ORDER BY id LIMIT 300),
          changed AS (UPDATE rows_of_ours r SET copied = coalesce(copied, 0) + number / number FROM batch b WHERE r.id = b.id)
          SELECT max(id)::text AS reached FROM batch`
        yield* sql`UPDATE rows_of_ours SET number = 0 WHERE id = 700`
        const failed = yield* Effect.flip(Migrations.apply([rowsOfOurs, next({ form: "batches", sql: batches })]))
        expect(failed.message).toMatch(/^cannot apply 9999_next, step 1 of 1: .*division by zero/)
        expect(yield* sql`SELECT count(copied)::int AS count FROM rows_of_ours`).toStrictEqual([{ count: 600 }])
        yield* sql`UPDATE rows_of_ours SET number = 7 WHERE id = 700`
        expect(yield* Migrations.apply([rowsOfOurs, next({ form: "batches", sql: batches })])).toStrictEqual([NAME])
        expect(yield* sql`SELECT copied, count(*)::int AS count FROM rows_of_ours GROUP BY 1`).toStrictEqual([
          { copied: 1, count: 1_000 }
        ])
      })
    )
  )

  it.live("checks a constraint of the rows that were there, and processes that start together do every step once", () =>
    onTable((sql) =>
      Effect.gen(function* () {
        const steps = next(
          { form: "transaction", sql: "ALTER TABLE rows_of_ours ADD CONSTRAINT positive CHECK (number > 0) NOT VALID" },
          { form: "validate", table: "rows_of_ours", constraint: "positive" },
          { form: "index", name: "numbers", table: "rows_of_ours", definition: "(number)" }
        )
        const all = yield* Effect.all(
          [1, 2, 3].map(() => Migrations.apply([rowsOfOurs, steps])),
          { concurrency: 3 }
        )
        expect(all.flat()).toStrictEqual([NAME])
        expect(yield* sql`SELECT convalidated AS valid FROM pg_constraint WHERE conname = 'positive'`).toStrictEqual([
          { valid: true }
        ])
      })
    )
  )
})
