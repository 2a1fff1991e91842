import { mkdtempSync } from "node:fs"
import { chmod, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { expect, it, layer } from "@effect/vitest"
import { Context, Effect, Layer, Logger, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { forgetfulServers } from "../../../../src/persistence/cluster/CommitSettings.ts"
import { EveryTenant } from "../../../../src/persistence/cluster/EveryTenant.ts"
import { NoPrimary } from "../../../../src/persistence/connection/servers/PrimaryPool.ts"
import { Database } from "../../../../src/persistence/Database.ts"
import { PostgresInstall } from "../../../../src/persistence/postgres/PostgresInstall.ts"
import { PostgresServer } from "../../../../src/persistence/postgres/PostgresServer.ts"
import { readDatabaseState } from "../../../../src/persistence/status/DatabaseStatePg.ts"
import { databaseFolder } from "../../../support/DatabaseFolder.ts"
import { asRuntime, removeDataDir } from "../../../support/Postgres.ts"
import { type Member, openMembers } from "../../../support/PostgresMembers.ts"
import { momoPayout } from "../../../support/RequestBodies.ts"
import { eventually, referenceOf } from "../../../support/SignedClient.ts"
import { executionsOf, givenStack, tenantOn } from "../../../support/Stack.ts"

/** A server that keeps what it promises, with a migrated database. */
class Kept extends Context.Service<Kept, { readonly server: Member; readonly url: string; readonly name: string }>()(
  "test/Kept"
) {}

const kept = Layer.effect(
  Kept,
  Effect.gen(function* () {
    const dataDir = mkdtempSync(join(databaseFolder(), "payment-gateway-kept-"))
    yield* Effect.promise(() => chmod(dataDir, 0o711))
    yield* Effect.addFinalizer(() => Effect.promise(() => removeDataDir(dataDir)))
    const members = yield* Effect.acquireRelease(
      Effect.promise(() => openMembers(dataDir, ["only"], "full")),
      ({ close }) => Effect.promise(close)
    )
    const [server] = members.all
    if (server === undefined) return yield* Effect.die("one member")
    const url = members.url([server])
    const [owner, runtime] = [Redacted.make(url), asRuntime(Redacted.make(url))]
    yield* Effect.orDie(Database.migrateAsOwner({ databaseUrl: runtime, ownerUrl: owner })).pipe(Effect.provide(Logger.layer([])))
    return { server, url, name: new URL(url).pathname.slice(1) }
  })
)

const clientOn = (url: string) => Layer.build(Layer.fresh(Database.layer({ url: Redacted.make(url) })))
const inForce = Effect.fnUntraced(function* (url: string) {
  const sql = Context.get(yield* clientOn(url), SqlClient.SqlClient)
  const [row] = yield* sql<{ commits: string }>`SELECT current_setting('synchronous_commit') AS commits`
  return row?.commits
}, Effect.scoped)

layer(kept, { excludeTestServices: true })("what is committed", (it) => {
  it.effect("outlives a crash of a database that is told to commit later: one key pays once", () =>
    Effect.gen(function* () {
      const { name, server, url } = yield* Kept
      const sql = (text: string) => Effect.promise(() => server.sql(text))
      yield* sql(`ALTER DATABASE ${name} SET synchronous_commit = off`)
      const { gateway, simulator } = yield* givenStack({ PROVIDER_TIMEOUT_MS: "15000" }, {}, Effect.succeed(Redacted.make(url)))
      const tenant = yield* tenantOn(gateway)
      yield* sql("CHECKPOINT")
      // Nobody else writes the log: what the session itself does not write is lost for certain.
      const [writer] = yield* sql("SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter'")
      process.kill(Number(writer?.["pid"]), "SIGSTOP")
      const paid = yield* tenant.post("/v1/payouts", momoPayout("1234"), "once")
      expect(paid.status).toBe(201)
      server.kill()
      yield* Effect.promise(server.start)
      const again = yield* eventually(tenant.post("/v1/payouts", momoPayout("1234"), "once"), ({ status }) => status < 500)
      expect([again.status, referenceOf(again)]).toEqual([201, referenceOf(paid)])
      expect(yield* executionsOf(simulator, referenceOf(paid))).toHaveLength(1)
    }).pipe(Effect.scoped)
  )

  it.effect("is committed by sessions that were raised, and none is lowered", () =>
    Effect.gen(function* () {
      const { name, server, url } = yield* Kept
      const seen: Array<string | undefined> = []
      for (const asked of ["off", "local", "remote_write", "on", "remote_apply"]) {
        yield* Effect.promise(() => server.sql(`ALTER DATABASE ${name} SET synchronous_commit = ${asked}`))
        seen.push(yield* inForce(url), yield* inForce(`${url}?target_session_attrs=read-write`))
      }
      expect(seen).toEqual(["on", "on", "on", "on", "on", "on", "on", "on", "remote_apply", "remote_apply"])
    })
  )

  it.effect("is archived, and the server says when it is not, and for how long", () =>
    Effect.gen(function* () {
      const { server, url } = yield* Kept
      const sql = (text: string) => Effect.promise(() => server.sql(text))
      yield* Effect.promise(() => server.archive(`${server.folder}-archive`, 1))
      const node = yield* clientOn(url)
      const [own, everyTenant] = [Context.get(node, SqlClient.SqlClient), Context.get(node, EveryTenant)]
      const standing = Effect.map(readDatabaseState(own, everyTenant), ({ archive }) => archive)
      const written = Effect.andThen(
        sql("SELECT pg_logical_emit_message(true, 'test', repeat('x', 10000))"),
        sql("SELECT pg_switch_wal()")
      )
      yield* written
      yield* eventually(standing, (archive) => archive?.isFailing === false && archive.behindSeconds === 0)
      yield* sql("ALTER SYSTEM SET archive_command = 'false'")
      yield* sql("SELECT pg_reload_conf()")
      yield* written
      const failing = yield* eventually(standing, (archive) => archive?.isFailing === true)
      expect(failing?.behindSeconds).toBeGreaterThan(0)
      yield* sql("ALTER SYSTEM SET archive_command = 'true'")
      yield* sql("SELECT pg_reload_conf()")
      // Its archiver rests for a minute after three failures, unless there is something new.
      yield* written
      yield* eventually(standing, (archive) => archive?.isFailing === false)
    }).pipe(Effect.scoped)
  )

  it.effect("is not trusted to a server that was told to lose it, nor to one that was started so, until that is mended", () =>
    Effect.gen(function* () {
      const { server, url } = yield* Kept
      const addresses = [url, `${url}?target_session_attrs=read-write`]
      /** A server that is just starting, or has just ended a session, refuses for another reason. */
      const refused = (address: string, reason: string) =>
        Effect.flip(Effect.scoped(clientOn(address))).pipe(
          Effect.filterOrFail(({ message }) => message.includes(reason)),
          Effect.eventually
        )
      const clients = yield* Effect.forEach(addresses, clientOn)
      const told = why("full_page_writes = off")
      const set = (text: string) => Effect.promise(() => server.sql(text).then(() => server.sql("SELECT pg_reload_conf()")))
      yield* set("ALTER SYSTEM SET full_page_writes = off")
      for (const address of addresses) yield* refused(address, told)
      for (const context of clients) {
        const [sql, refusal] = [Context.get(context, SqlClient.SqlClient), Context.get(context, NoPrimary)]
        // A session that was open is ended, and says only that.
        yield* Effect.flip(sql`SELECT 1`).pipe(
          Effect.filterOrFail(({ reason }) => reason.message.includes(told)),
          Effect.eventually
        )
        expect(yield* refusal).toContain(told)
      }
      yield* set("ALTER SYSTEM RESET full_page_writes")
      for (const context of clients) {
        yield* Effect.eventually(Context.get(context, SqlClient.SqlClient)`SELECT 1`)
        expect(yield* Context.get(context, NoPrimary)).toBe(null)
      }

      server.kill()
      yield* Effect.promise(() => startWithoutFsync(server))
      for (const address of addresses) yield* refused(address, why("fsync = off"))
    }).pipe(Effect.scoped)
  )
})

it("is not trusted to a cluster with a worker that would lose it, but for one that a test throws away", () => {
  const strong = {
    server: "a:5432",
    synchronousCommit: "on",
    fsync: "on",
    fullPageWrites: "on",
    weakness: null,
    isThrownAway: false
  }
  const weak = { ...strong, server: "b:5432", synchronousCommit: "off", weakness: "synchronous_commit = off" }
  expect(forgetfulServers([strong, weak])).toBe(`b:5432: ${why("synchronous_commit = off")}`)
  expect(forgetfulServers([strong, { ...weak, isThrownAway: true }])).toBe(null)
})

const why = (weakness: string): string =>
  `a crash could take back what is committed (${weakness}): see docs/operations/durability.md#what-a-commit-survives`

const startWithoutFsync = async ({ folder, port, sql }: Member): Promise<void> => {
  const account = await Effect.runPromise(PostgresInstall.account(folder))
  const { postgres } = await Effect.runPromise(PostgresInstall.programs(account))
  const program = `${folder}-without-fsync`
  await writeFile(program, `#!/bin/sh\nexec '${postgres}' "$@" -c fsync=off\n`, { mode: 0o755 })
  await Effect.runPromise(PostgresServer.launch({ program, folder, port, log: `${folder}.log`, account, durability: "full" }))
  await Effect.runPromise(Effect.eventually(Effect.tryPromise(() => sql("SELECT 1"))))
}
