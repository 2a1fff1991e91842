import { PgClient } from "@effect/sql-pg"
import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { Reactivity } from "effect/reactivity"
import { describe } from "vitest"
import { readExposition, sampled } from "../../support/Exposition.ts"
import { freePort } from "../../support/FreePort.ts"
import { itWith } from "../../support/Installed.ts"
import { momoPayout } from "../../support/RequestBodies.ts"
import { eventually, said } from "../../support/SignedClient.ts"
import { mounts, onSmallDisk } from "../../support/SmallDisk.ts"
import { givenStack, tenantOn, verified } from "../../support/Stack.ts"
import { givenDatabase } from "../../support/TestDatabase.ts"

const TIMEOUT_MS = 120_000
const PAYOUTS = "/v1/payouts"

const given = Effect.fnUntraced(function* (database: Redacted.Redacted) {
  const port = yield* freePort
  const { gateway } = yield* givenStack({ MANAGEMENT_PORT: String(port) }, {}, Effect.succeed(database))
  const get = (path: string) =>
    Effect.promise(async () => {
      const answer = await fetch(`http://127.0.0.1:${port}${path}`)
      return { status: answer.status, body: await answer.text() }
    })
  const ready = get("/readyz")
  const becomes = (status: number) => eventually(ready, (answer) => answer.status === status)
  const isReady = (reason: string) =>
    Effect.map(get("/metrics"), ({ body }) => sampled(readExposition(body), "gateway_ready", { reason }))
  yield* becomes(200)
  return { becomes, gateway, isReady }
})

const owner = (database: Redacted.Redacted) => PgClient.makeClient({ url: database }).pipe(Effect.provide(Reactivity.layer))

describe("a database that takes no writes", () => {
  itWith(...mounts)(
    "makes a node unready while its disk is full, although it answers, and pays again when there is room",
    () =>
      Effect.runPromise(
        Effect.gen(function* () {
          const database = yield* givenDatabase
          const disk = yield* onSmallDisk(database)
          yield* Effect.scoped(
            Effect.gen(function* () {
              const { becomes, gateway, isReady } = yield* given(database)
              const tenant = yield* tenantOn(gateway)
              yield* disk.fill
              const { body } = yield* becomes(503)
              expect(body).toMatch(
                /^the disk of the database is full \(.*No space left on device.*\): see docs\/runbooks\/not-ready\.md\n$/
              )
              expect([yield* isReady("writes_refused"), yield* isReady("database")]).toEqual([0, 1])
              yield* disk.empty
              yield* becomes(200)
              expect(yield* isReady("writes_refused")).toBe(1)
              expect(said(yield* tenant.post(PAYOUTS, momoPayout("1234"), "after"))).toMatchObject({ status: 201 })
              expect(yield* verified(gateway)).toMatchObject({ ok: true, differences: [] })
            })
          )
        }).pipe(Effect.scoped)
      ),
    TIMEOUT_MS
  )

  it.live(
    "makes a node unready while it is read-only, until it is not",
    () =>
      Effect.gen(function* () {
        const database = yield* givenDatabase
        const { becomes, gateway, isReady } = yield* given(database)
        const tenant = yield* tenantOn(gateway)
        const sql = yield* owner(database)
        const name = new URL(Redacted.value(database)).pathname.slice(1)
        yield* sql.unsafe(`ALTER DATABASE ${name} SET default_transaction_read_only = on`)
        yield* sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ${name} AND pid <> pg_backend_pid()`
        const { body } = yield* eventually(becomes(503), (answer) => answer.body.includes("read-only"))
        expect(body).toBe("the database is read-only: see docs/runbooks/not-ready.md\n")
        expect(yield* isReady("writes_refused")).toBe(0)
        yield* sql.unsafe(`ALTER DATABASE ${name} RESET default_transaction_read_only`)
        yield* becomes(200)
        expect(said(yield* tenant.post(PAYOUTS, momoPayout("1234"), "after"))).toMatchObject({ status: 201 })
      }).pipe(Effect.scoped),
    TIMEOUT_MS
  )

  it.live(
    "is found by a role without rights to make anything, and no table grows by it",
    () =>
      Effect.gen(function* () {
        const database = yield* givenDatabase
        const sql = yield* owner(database)
        const name = new URL(Redacted.value(database)).pathname.slice(1)
        yield* sql.unsafe(`REVOKE CREATE, TEMPORARY ON DATABASE ${name} FROM PUBLIC, gateway_runtime`)
        yield* sql.unsafe("REVOKE CREATE ON SCHEMA public FROM PUBLIC, gateway_runtime")
        const { becomes } = yield* given(database)
        const written = Effect.map(
          sql<{ name: string; bytes: number }>`SELECT relname::text AS name, pg_relation_size(oid)::float8 AS bytes FROM pg_class
            WHERE NOT relisshared AND relkind IN ('r', 't', 'm') AND relnamespace <> 'pg_toast'::regnamespace ORDER BY 1`,
          (rows) => rows.filter(({ bytes }) => bytes > 0)
        )
        const temporary = Effect.map(
          sql<{ files: number }>`SELECT temp_files::int AS files FROM pg_stat_database WHERE datname = ${name}`,
          ([row]) => row?.files ?? 0
        )
        const before = yield* written
        const files = yield* temporary
        yield* eventually(temporary, (now) => now > files)
        expect(yield* written).toEqual(before)
        yield* becomes(200)
      }).pipe(Effect.scoped),
    TIMEOUT_MS
  )
})
