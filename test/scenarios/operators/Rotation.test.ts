import { randomBytes } from "node:crypto"
import { mkdtemp, rm, writeFile } from "node:fs/promises"
import { hostname, tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { Context, Effect, Exit, Layer, Redacted, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { describe } from "vitest"
import { advisoryLocks } from "../../../src/persistence/connection/AdvisoryLocks.ts"
import { Database } from "../../../src/persistence/Database.ts"
import { openBytes, parseMasterKey, sealBytes } from "../../../src/persistence/vault/Sealing.ts"
import { gateway as command } from "../../commands/Gateway.ts"
import { startSimulator } from "../../simulator/eversend/SimulatorFixture.ts"
import { freePort } from "../../support/FreePort.ts"
import { momoPayout } from "../../support/RequestBodies.ts"
import { eventually } from "../../support/SignedClient.ts"
import { gatewayOn, tenantOn } from "../../support/Stack.ts"
import { givenDatabase, masterKey } from "../../support/TestDatabase.ts"

const given = Effect.gen(function* () {
  const database = yield* givenDatabase
  const simulator = yield* Effect.acquireRelease(
    Effect.promise(() => startSimulator()),
    (running) => Effect.promise(() => running.stop().then(() => rm(running.dataDir, { recursive: true, force: true })))
  )
  const folder = yield* Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "gateway-rotation-"))),
    (made) => Effect.promise(() => rm(made, { recursive: true, force: true }))
  )
  const oldKey = join(folder, "old.key")
  yield* Effect.promise(() => writeFile(oldKey, Redacted.value(masterKey)))
  const renewed = randomBytes(32).toString("base64")
  const rotate = command({ DATABASE_URL: Redacted.value(database), MASTER_KEY: renewed }, "secrets", "rotate", "--from", oldKey)
  return { database, renewed, rotate, simulator }
})

describe("a change of the master key", () => {
  it.live("is refused while gateways are connected, names them, and works once they have stopped", () =>
    Effect.gen(function* () {
      const { database, rotate, simulator } = yield* given
      const scope = yield* Scope.make()
      const gateway = yield* Scope.provide(gatewayOn(database, simulator), scope)
      const tenant = yield* tenantOn(gateway)
      const { code, errors, output } = yield* rotate
      expect({ code, output }).toEqual({ code: 1, output: "" })
      expect(errors).toContain("these gateways are connected and know the old key alone")
      expect(errors).toContain(`payment-gateway node ${hostname()} ${process.pid}`.slice(0, 63))
      expect(errors.split("\n")).toHaveLength(1)
      // Nothing was changed.
      expect((yield* tenant.post("/v1/payouts", momoPayout("1234"))).status).toBe(201)
      yield* Scope.close(scope, Exit.void)
      expect(yield* rotate).toMatchObject({ code: 0, errors: "" })
    })
  )

  it.live("lets no gateway start while it runs", () =>
    Effect.gen(function* () {
      const { database, simulator } = yield* given
      const sql = Context.get(yield* Layer.build(Layer.fresh(Database.layer({ url: database }))), SqlClient.SqlClient)
      const connection = yield* sql.reserve
      // As the rotation does.
      yield* connection.execute("SELECT pg_advisory_lock($1)", [advisoryLocks.masterKey], undefined)
      const refused = yield* Effect.flip(gatewayOn(database, simulator))
      expect(refused.message).toBe(
        "the master key of this database is being changed: start again when `gateway secrets rotate` has ended"
      )
    }).pipe(Effect.scoped)
  )

  it.live("is refused again as soon as a gateway whose session was cut has a new one; until then that gateway is not ready", () =>
    Effect.gen(function* () {
      const { database, rotate, simulator } = yield* given
      const port = yield* freePort
      const { context } = yield* gatewayOn(database, simulator, { MANAGEMENT_PORT: String(port) })
      const status = Effect.promise(() => fetch(`http://127.0.0.1:${port}/readyz`).then((answer) => answer.status))
      const sql = Context.get(context, SqlClient.SqlClient)
      yield* sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND application_name LIKE 'payment-gateway node %'`
      yield* eventually(status, (now) => now === 503)
      yield* eventually(status, (now) => now === 200)
      expect((yield* rotate).errors).toContain("these gateways are connected")
    })
  )

  it.live("makes a gateway with the old key not ready, and the reason is shown", () =>
    Effect.gen(function* () {
      const { database, renewed, simulator } = yield* given
      const port = yield* freePort
      const { context } = yield* gatewayOn(database, simulator, { MANAGEMENT_PORT: String(port) })
      const readiness = Effect.promise(async () => {
        const answer = await fetch(`http://127.0.0.1:${port}/readyz`)
        return [answer.status, (await answer.text()).trim()]
      })
      expect(yield* readiness).toEqual([200, "ok"])
      // Behind its back, as if it had been cut off for as long as the rotation took.
      const [from, to] = yield* Effect.all([parseMasterKey(masterKey), parseMasterKey(Redacted.make(renewed))])
      const sql = Context.get(context, SqlClient.SqlClient)
      const rows = yield* sql<{ purpose: string; sealed: Uint8Array }>`SELECT purpose, sealed FROM vault_keys`
      for (const row of rows) {
        const plain = openBytes(from, row.purpose, row.sealed)
        if (plain._tag === "Some")
          yield* sql`UPDATE vault_keys SET sealed = ${sealBytes(to, row.purpose, plain.value)} WHERE purpose = ${row.purpose}`
      }
      expect(yield* readiness).toEqual([
        503,
        "MASTER_KEY opens nothing in this database: it was changed, and this node has another one"
      ])
    })
  )
})
