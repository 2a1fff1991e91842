import { inspect } from "node:util"
import { describe, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Redacted, Tracer } from "effect"
import { SqlClient, Statement } from "effect/sql"
import { expect } from "vitest"
import { AnswerBoundMs } from "../../src/persistence/connection/BoundedClient.ts"
import { Database } from "../../src/persistence/Database.ts"
import { functionFiles } from "../../src/persistence/schema/FunctionFiles.ts"
import { Migrations } from "../../src/persistence/schema/Migrations.ts"
import { asRuntime, freshDatabase } from "../support/Postgres.ts"

const on = (url: string) => Database.layer({ url: Redacted.make(url) })
const empty = Effect.promise(() => freshDatabase())
const names = [...Migrations.all, ...functionFiles.map(({ name }) => ({ name: `functions/${name}` }))].map(({ name }) => name)

describe("the database's schema", () => {
  it.effect("is not one that the gateways' role chose for itself, and no session begins at another isolation", () =>
    Effect.gen(function* () {
      const { url } = yield* empty
      const runtime = asRuntime(Redacted.make(url))
      const owner = yield* Effect.map(Layer.build(Layer.fresh(on(url))), (context) => Context.get(context, SqlClient.SqlClient))
      const start = Effect.exit(Effect.scoped(Layer.build(Layer.fresh(Database.layer({ url: runtime })))))
      const [at] = yield* owner<{ name: string }>`SELECT current_database()::text AS name`
      const [role] = yield* Effect.provide(
        Effect.flatMap(SqlClient.SqlClient, (sql) => sql<{ name: string }>`SELECT session_user::text AS name`),
        Layer.fresh(Database.layer({ url: runtime }))
      )
      yield* owner.unsafe(`CREATE SCHEMA other`)
      for (const [setting, told] of [
        ["search_path = other, public", "search_path=other, public"],
        ["default_transaction_isolation = 'repeatable read'", "default_transaction_isolation=repeatable read"]
      ] as const) {
        yield* owner.unsafe(`ALTER ROLE "${role?.name}" IN DATABASE "${at?.name}" SET ${setting}`)
        expect(inspect(yield* start, { depth: 8 })).toContain(`sessions begin with ${told}`)
        yield* owner.unsafe(`ALTER ROLE "${role?.name}" IN DATABASE "${at?.name}" RESET ALL`)
      }
      yield* owner.unsafe(`ALTER DATABASE "${at?.name}" SET search_path = other`)
      expect(Exit.isSuccess(yield* start)).toBe(true)
    }).pipe(Effect.scoped)
  )

  it.effect("takes every name that a role can have", () =>
    Effect.gen(function* () {
      const { url } = yield* empty
      const owner = yield* Effect.map(Layer.build(Layer.fresh(on(url))), (context) => Context.get(context, SqlClient.SqlClient))
      for (const role of [`Gw.Runtime@pay${process.pid}`, `1${process.pid}`]) {
        yield* owner.unsafe(`CREATE ROLE "${role}" LOGIN PASSWORD 'secret' SUPERUSER`)
        const address = new URL(url)
        address.username = encodeURIComponent(role)
        address.password = "secret"
        const started = yield* Effect.exit(
          Effect.scoped(Layer.build(Layer.fresh(Database.layer({ url: Redacted.make(address.href) }))))
        )
        yield* owner.unsafe(`DROP ROLE "${role}"`)
        expect(Exit.isSuccess(started)).toBe(true)
      }
    }).pipe(Effect.scoped)
  )

  it.effect("is created once by nodes that start together", () =>
    Effect.gen(function* () {
      const { url } = yield* empty
      const node = Effect.provide(Database.migrate, on(url))
      const applied = yield* Effect.all([node, node, node], { concurrency: 3 })
      // They take turns at the lock, so that each may have applied a part.
      expect(applied.flat().toSorted()).toEqual(names.toSorted())
      expect(yield* node).toEqual([])
    })
  )

  it.effect("is refused when a draft before the first release created it", () =>
    Effect.gen(function* () {
      const { url } = yield* empty
      const draft = [
        { name: "0001_money", sql: "CREATE TABLE money ()" },
        { name: "0002_operations", sql: "CREATE TABLE operations ()" }
      ]
      yield* Migrations.apply(draft).pipe(Effect.provide(on(url)))
      const error = yield* Effect.flip(Effect.provide(Database.migrate, on(url)))
      expect(error.message).toBe(
        "the database was made by a draft of this program before its first release: start with a new database or data folder"
      )
    })
  )

  it.effect("is refused when an earlier form of a migration created it, with what to do in one line", () =>
    Effect.gen(function* () {
      const { url } = yield* empty
      yield* Migrations.apply([{ name: "0001", sql: "CREATE TABLE a ()" }]).pipe(Effect.provide(on(url)))
      const error = yield* Effect.flip(
        Migrations.apply([{ name: "0001", sql: "CREATE TABLE b ()" }]).pipe(Effect.provide(on(url)))
      )
      expect(error.message).toBe(
        "the database was made by a draft of this program before its first release, with another 0001: start with a new database or data folder, or start the program that made it"
      )
    })
  )

  it.effect("is refused when it belongs to something else, even with a table of the same name", () =>
    Effect.gen(function* () {
      const { url } = yield* empty
      yield* Effect.flatMap(SqlClient.SqlClient, (sql) => sql`CREATE TABLE schema_migrations (version text)`).pipe(
        Effect.provide(on(url))
      )
      const error = yield* Effect.flip(Effect.provide(Database.migrate, on(url)))
      expect(error.message).toBe("the database holds the tables of something else: give the gateway a database of its own")
    })
  )

  it.effect("is left unchanged when a migration fails, with the database's message", () =>
    Effect.gen(function* () {
      const { url } = yield* empty
      const broken = [{ name: "0001", sql: "CREATE TABLE a (); CREATE TABLE a ();" }]
      const error = yield* Effect.flip(Migrations.apply(broken).pipe(Effect.provide(on(url))))
      expect(error.message).toMatch(/^cannot apply 0001: .*relation "a" already exists$/)
      expect(yield* Migrations.apply([{ name: "0002", sql: "CREATE TABLE a ()" }]).pipe(Effect.provide(on(url)))).toEqual([
        "0002"
      ])
    })
  )
})

describe("the database's connections", () => {
  it.effect("use UTC and bound every wait", () =>
    Effect.gen(function* () {
      const { url } = yield* empty
      const rows = yield* Effect.flatMap(
        SqlClient.SqlClient,
        (
          sql
        ) => sql`SELECT current_setting('TimeZone') AS zone, current_setting('lock_timeout') AS lock, current_setting('statement_timeout') AS statement,
          current_setting('idle_in_transaction_session_timeout') AS idle, current_setting('application_name') AS name`
      ).pipe(Effect.provide(on(url)))
      expect(rows).toEqual([{ zone: "UTC", lock: "5s", statement: "15s", idle: "10s", name: "payment-gateway" }])
    })
  )

  it.effect("that cannot be opened are reported in one line without the password", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(Effect.provide(Database.migrate, on("postgres://someone:hunter2@127.0.0.1:1/nowhere")))
      expect(Exit.isFailure(exit)).toBe(true)
      const error = yield* Effect.flip(exit)
      expect(error._tag).toBe("DatabaseError")
      expect(error.message).toMatch(/^cannot use the database: .*ECONNREFUSED.*$/)
      expect(error.message).not.toContain("hunter2")
    })
  )
})

describe("the spans of statements", () => {
  it.live(
    "say where they went without user and password, and why one failed: PostgreSQL's code, or the kind of what went wrong",
    () =>
      Effect.gen(function* () {
        const { url } = yield* empty
        const spans: Array<Tracer.Span> = []
        const tracer = Tracer.make({
          span: (options) => {
            const span = new Tracer.NativeSpan(options)
            spans.push(span)
            return span
          }
        })
        yield* Effect.gen(function* () {
          const sql = yield* SqlClient.SqlClient
          spans.length = 0
          yield* sql`SELECT 1`
          yield* Effect.flip(sql`SELECT 1 / 0`)
          yield* Effect.flip(Effect.provideService(sql`SELECT pg_sleep(5)`, AnswerBoundMs, 1))
        }).pipe(
          Effect.provide(on(url)),
          Effect.provideService(Tracer.Tracer, tracer),
          Effect.provideService(Statement.SpanPropagationEnabled, true)
        )
        const { hostname, password, pathname, port } = new URL(url)
        const target = {
          "db.system.name": "postgresql",
          "db.namespace": pathname.slice(1),
          "server.address": hostname,
          "server.port": Number(port)
        }
        const [fine, divided, silent] = spans.map(({ attributes }) => Object.fromEntries(attributes))
        expect(fine).toMatchObject(target)
        expect(fine).not.toHaveProperty(["error.type"])
        expect(divided).toMatchObject({ ...target, "db.response.status_code": "22012", "error.type": "22012" })
        expect(silent).toMatchObject({ "error.type": "ConnectionError" })
        expect(silent).not.toHaveProperty(["db.response.status_code"])
        expect(password.length).toBeGreaterThan(3)
        expect(JSON.stringify([fine, divided, silent])).not.toContain(password)
      })
  )
})
