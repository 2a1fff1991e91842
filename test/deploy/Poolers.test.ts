import { spawnSync } from "node:child_process"
import { randomBytes } from "node:crypto"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { Context, Effect, Exit, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { describe, expect, it } from "vitest"
import { sessionSettings } from "../../src/persistence/connection/SessionSettings.ts"
import { Database } from "../../src/persistence/Database.ts"
import { MasterKeyHold } from "../../src/persistence/vault/MasterKeyHold.ts"
import { itWith } from "../support/Installed.ts"
import { type Pooled, pgbouncer, startPgbouncer } from "../support/Proxies.ts"
import { asOwner } from "../support/Stack.ts"
import { givenDatabase, masterKey } from "../support/TestDatabase.ts"

const root = resolve(import.meta.dirname, "..", "..")
const configured = (path: string) => readFileSync(resolve(root, path), "utf8")
const STEPS = 200

/** From 1.21 on PgBouncer keeps prepared statements while transactions change sessions. */
const mode = ((): Pooled["mode"] => {
  const { stdout } = spawnSync(pgbouncer, ["--version"], { encoding: "utf8" })
  const [, major = "0", minor = "0"] = /PgBouncer (\d+)\.(\d+)/.exec(String(stdout)) ?? []
  return Number(major) > 1 || Number(minor) >= 21 ? "transaction" : "session"
})()

/** A database of its own with a role that only the pooler knows, and a pooler in front of it. */
const given = Effect.gen(function* () {
  const direct = yield* givenDatabase
  const owner = yield* asOwner(direct)
  const { pathname, port } = new URL(Redacted.value(direct))
  const username = `pooled_${randomBytes(4).toString("hex")}`
  const password = randomBytes(8).toString("hex")
  yield* owner.unsafe(`CREATE ROLE ${username} SUPERUSER LOGIN PASSWORD '${password}'`)
  const pooled = Effect.acquireRelease(
    Effect.promise(() => startPgbouncer({ server: Number(port), database: pathname.slice(1), username, password, mode })),
    ({ close }) => Effect.promise(close)
  ).pipe(Effect.map((proxy) => Redacted.make(`postgres://${username}:${password}@127.0.0.1:${proxy.port}${pathname}`)))
  return { owner, pooled }
})

const clientOn = (url: Redacted.Redacted) =>
  Effect.map(Layer.build(Layer.fresh(Database.layer({ url }))), (context) => Context.get(context, SqlClient.SqlClient))

const HELD =
  "SELECT count(*)::int AS held FROM pg_locks WHERE locktype = 'advisory' AND objid = 7004 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"

describe("a pooler in front of the database", () => {
  itWith(pgbouncer, "--version")(
    "serves a gateway once the role brings what sessions need, and holds its lock as long as it runs",
    () =>
      Effect.gen(function* () {
        const { owner, pooled } = yield* given
        const refused = yield* Effect.flip(Effect.scoped(Effect.flatMap(pooled, clientOn)))
        expect(refused.message).toContain("sessions do not have what the gateway asked for (lock_timeout = 0")
        for (const statement of (/ with (ALTER .*)$/.exec(refused.message)?.[1] ?? "").split("; ")) yield* owner.unsafe(statement)

        const url = yield* pooled
        const sql = yield* clientOn(url)
        yield* sql`CREATE TABLE counted (n int NOT NULL)`
        yield* sql`INSERT INTO counted VALUES (0)`
        const step = (by: number) => sql`UPDATE counted SET n = n + ${by} RETURNING n`
        yield* Effect.forEach(
          Array.from({ length: STEPS }, (_, index) => index),
          (index) => (index % 2 === 0 ? sql.withTransaction(step(1)) : step(1)),
          { concurrency: "unbounded" }
        )
        expect(yield* sql`SELECT n FROM counted`).toEqual([{ n: STEPS }])

        const hold = MasterKeyHold.layer(url, masterKey).pipe(Layer.provide(Layer.succeed(SqlClient.SqlClient, sql)))
        yield* Effect.gen(function* () {
          const { obstacle } = Context.get(yield* Layer.build(hold), MasterKeyHold)
          expect(yield* Effect.exit(obstacle)).toEqual(Exit.succeed(null))
          expect(yield* owner.unsafe(HELD)).toEqual([{ held: 1 }])
        }).pipe(Effect.scoped)
        const freed = yield* Effect.repeat(owner.unsafe<{ held: number }>(HELD), {
          until: ([row]) => row?.held === 0,
          times: 10_000
        })
        expect(freed).toEqual([{ held: 0 }])
      }).pipe(Effect.scoped, Effect.runPromise)
  )

  it("is told of every parameter that the gateway starts a session with", () => {
    const [, ignored = ""] = /^ignore_startup_parameters = (.*)$/m.exec(configured("deploy/pgbouncer/pgbouncer.ini")) ?? []
    // PgBouncer keeps the time zone itself.
    const names = Object.keys(sessionSettings).filter((name) => name !== "TimeZone")
    expect(ignored.split(", ").toSorted()).toEqual(names.toSorted())
    const page = configured("docs/operations/durability.md")
    for (const name of names) expect(page).toContain(`SET ${name} = '${sessionSettings[name]}'`)
  })

  itWith("haproxy", "-v")("haproxy can read its files", () => {
    const folder = mkdtempSync(join(tmpdir(), "payment-gateway-haproxy-"))
    const file = join(folder, "haproxy.cfg")
    // The certificate is the operator's.
    writeFileSync(file, configured("deploy/haproxy/haproxy.cfg").replace(/db-[ab]\.internal/g, "127.0.0.1"))
    const machine = join(folder, "machine.cfg")
    writeFileSync(machine, configured("deploy/haproxy/machine.cfg").replace(/ ssl crt \S+ alpn \S+/, ""))
    const api = join(root, "deploy/haproxy/api.cfg")
    for (const files of [[file], [api, machine], [api, join(root, "deploy/haproxy/compose.cfg")]]) {
      const { status, stderr } = spawnSync("haproxy", ["-c", ...files.flatMap((one) => ["-f", one])], { encoding: "utf8" })
      expect({ status, stderr }).toMatchObject({ status: 0 })
    }
    rmSync(folder, { recursive: true })
  })
})
