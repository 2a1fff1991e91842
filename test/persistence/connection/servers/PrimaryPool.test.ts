import { mkdtempSync } from "node:fs"
import { chmod } from "node:fs/promises"
import { join } from "node:path"
import * as PgPool from "@effect/sql-pg/PgPool"
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, Logger, Redacted, References } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { sqlState } from "../../../../src/persistence/connection/DatabaseSpans.ts"
import { DatabaseNames, NoPrimary } from "../../../../src/persistence/connection/servers/PrimaryPool.ts"
import { serverFacts } from "../../../../src/persistence/connection/servers/ServerFacts.ts"
import { Database } from "../../../../src/persistence/Database.ts"
import { databaseFolder } from "../../../support/DatabaseFolder.ts"
import { databaseProxy } from "../../../support/DatabaseProxy.ts"
import { removeDataDir } from "../../../support/Postgres.ts"
import { openMembers } from "../../../support/PostgresMembers.ts"

const contextOn = (url: string) => Layer.build(Layer.fresh(Database.layer({ url: Redacted.make(url) })))
const clientOn = (url: string) => Effect.map(contextOn(url), (context) => Context.get(context, SqlClient.SqlClient))

/** Why a statement fails, as it has to. */
const said = <A, R>(statement: Effect.Effect<A, SqlError.SqlError, R>) =>
  Effect.map(Effect.flip(statement), ({ reason }) => reason.message ?? "")

describe("a database of several servers", () => {
  it.live("is written to at its primary, also after a failover, and never at a primary that comes back", () =>
    Effect.gen(function* () {
      const dataDir = mkdtempSync(join(databaseFolder(), "payment-gateway-members-"))
      yield* Effect.promise(() => chmod(dataDir, 0o711))
      yield* Effect.addFinalizer(() => Effect.promise(() => removeDataDir(dataDir)))
      const members = yield* Effect.acquireRelease(
        Effect.promise(() => openMembers(dataDir, ["a", "b", "c"], "off")),
        ({ close }) => Effect.promise(close)
      )
      const [a, b, c] = members.all
      if (a === undefined || b === undefined || c === undefined) return yield* Effect.die("three members")
      yield* Effect.promise(() => b.follow(a))
      yield* Effect.promise(() => a.awaitCommitsOf(b))
      const context = yield* contextOn(members.url([b, a]))
      const [sql, refusal] = [Context.get(context, SqlClient.SqlClient), Context.get(context, NoPrimary)]
      yield* sql`CREATE TABLE kept (n int)`
      const insert = sql`INSERT INTO kept VALUES (1) RETURNING inet_server_port() AS port`
      expect([yield* insert, yield* refusal]).toEqual([[{ port: a.port }], null])

      // A name with several addresses; nobody listens at the first.
      const named = members.url([a], "?target_session_attrs=primary").replace("127.0.0.1", "db.test")
      const byName = yield* Effect.provideService(clientOn(named), DatabaseNames, async () => ["127.0.0.9", "127.0.0.1"])
      expect(yield* byName`SELECT inet_server_port() AS port`).toEqual([{ port: a.port }])

      // Promoted while the other one lives: what waits there for a standby that left fails, and what comes later goes to the new one.
      const underWay = yield* Effect.forkChild(Effect.flip(sql`SELECT pg_sleep(60)`), { startImmediately: true })
      yield* Effect.promise(() => b.sql("SELECT pg_promote()"))
      // Its connection is cut; the server would have ended it after 15 s.
      expect(sqlState(yield* Fiber.join(underWay))).toBe(undefined)
      expect(yield* Effect.eventually(insert)).toEqual([{ port: b.port }])
      expect(yield* (yield* clientOn(members.url([a, b])))`SELECT inet_server_port() AS port`).toEqual([{ port: b.port }])
      const alone = yield* Effect.flip(clientOn(members.url([a], "?target_session_attrs=read-write")))
      expect(alone.message).toContain("is an old primary, of timeline 1: the database is at 2")

      // Behind one address a new connection may reach the old one.
      const line = yield* databaseProxy(Redacted.make(members.url([b], "?target_session_attrs=read-write")))
      const logged: Array<unknown> = []
      const behind = yield* Effect.provide(
        clientOn(Redacted.value(line.database)),
        Logger.layer([Logger.make(({ fiber }) => void logged.push(fiber.getRef(References.CurrentLogAnnotations)["note"]))])
      )
      const [{ pid } = { pid: 0 }] = yield* behind<{ pid: number }>`SELECT pg_backend_pid() AS pid`
      yield* line.leadTo(a.port)
      // Where the question each second reaches the old one, and the connections the new one, work goes on.
      yield* Effect.promise(() =>
        b.sql(`SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity
          WHERE backend_type = 'client backend' AND pid NOT IN (pg_backend_pid(), ${pid})`)
      )
      yield* Effect.repeat(behind`SELECT 1`, { until: () => logged.some((note) => String(note).includes("is an old primary")) })
      expect(yield* behind`SELECT inet_server_port() AS port`).toEqual([{ port: b.port }])
      yield* Effect.promise(() => b.sql(`SELECT pg_terminate_backend(${pid}, 5000)`))
      yield* Effect.repeat(said(behind`INSERT INTO kept VALUES (2)`), {
        until: (message) => message.includes("the database is at 2")
      })

      // Alone, a standby of the new one tells of its timeline, also those who may read nothing else.
      yield* Effect.promise(() => b.sql("CREATE ROLE stranger LOGIN PASSWORD 'stranger'"))
      yield* Effect.promise(() => c.follow(b))
      const { hostname, pathname } = new URL(members.url([c]))
      const stranger = new URL(`postgres://stranger:stranger@${hostname}:${c.port}${pathname}`)
      const pool = yield* PgPool.make({ url: Redacted.make(stranger.href) })
      expect(yield* Effect.flatMap(pool.get, serverFacts)).toMatchObject({ isStandby: true, timeline: 2 })

      b.kill()
      yield* Effect.repeat(said(insert), { until: (message) => message.includes("the database is at 2") })
      expect(yield* refusal).toContain("no server takes writes: ")
      expect(yield* Effect.promise(() => a.sql("SELECT count(*)::int AS rows FROM kept"))).toEqual([{ rows: 1 }])
    }).pipe(Effect.scoped)
  )
})
