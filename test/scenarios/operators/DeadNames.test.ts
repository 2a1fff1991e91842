import { rm } from "node:fs/promises"
import { expect, it } from "@effect/vitest"
import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"
import { describe } from "vitest"
import { startSimulator } from "../../simulator/eversend/SimulatorFixture.ts"
import { nameServer } from "../../support/NameServer.ts"
import { momoPayout } from "../../support/RequestBodies.ts"
import { eventually, referenceOf } from "../../support/SignedClient.ts"
import { gatewayOn, tenantOn, webhooksOf } from "../../support/Stack.ts"
import { givenDatabase } from "../../support/TestDatabase.ts"

const TENANTS = 12
const PAYOUTS_EACH = 2
const ENDPOINT = "/v1/webhooks/endpoint"

/** A gateway that reaches its provider by a name, and asks a name server for tenants' names that never says anything. */
const given = Effect.gen(function* () {
  const silent = yield* nameServer(() => null)
  const database = yield* givenDatabase
  const simulator = yield* Effect.acquireRelease(
    Effect.promise(() => startSimulator()),
    (running) => Effect.promise(() => running.stop().then(() => rm(running.dataDir, { recursive: true, force: true })))
  )
  const byName = simulator.eversendBaseUrl.replace("127.0.0.1", "localhost")
  const settings = { WEBHOOK_NAME_SERVERS: silent.address, EVERSEND_BASE_URL: byName, PROVIDER_TIMEOUT_MS: "5000" }
  const gateway = yield* Effect.orDie(gatewayOn(database, simulator, settings))
  const names = Effect.sync(() => new Set(silent.asked.map((question) => question.split(" ")[1] ?? "")))
  return { asked: silent.asked, gateway, names }
})

describe("webhook endpoints whose host names do not resolve", () => {
  it.live("hold up no payout, and are no longer waited for once they are removed", () =>
    Effect.gen(function* () {
      const { asked, gateway, names } = yield* given
      const tenants = yield* Effect.forEach(
        Array.from({ length: TENANTS }, (_, at) => `hook${at}.example`),
        (host) =>
          Effect.gen(function* () {
            const tenant = yield* tenantOn(gateway)
            const events = ["payout.pending", "payout.successful"]
            expect((yield* tenant.call("PUT", ENDPOINT, { url: `https://${host}/`, events })).status).toBe(200)
            return tenant
          })
      )
      const pay = (tenant: (typeof tenants)[number], key: string) =>
        Effect.gen(function* () {
          const answer = yield* tenant.post("/v1/payouts", momoPayout("1234"), key)
          expect(answer.status).toBe(201)
          return yield* tenant.until(`/v1/payouts/${referenceOf(answer)}`, ({ status }) => status === "successful")
        })
      yield* Effect.forEach(tenants, (tenant) => pay(tenant, "first"), { concurrency: 4 })
      yield* eventually(names, ({ size }) => size === TENANTS)

      // While every name is waited for.
      const more = Array.from({ length: PAYOUTS_EACH }, (_, at) => `more${at}`)
      yield* Effect.forEach(tenants, (tenant) => Effect.forEach(more, (key) => pay(tenant, key)), { concurrency: 4 })

      yield* Effect.forEach(tenants, (tenant) => tenant.call("DELETE", ENDPOINT))
      const sql = Context.get(gateway.context, SqlClient.SqlClient)
      const leased = sql<{
        count: bigint
      }>`SELECT count(*) AS count FROM webhook_flights, unnest(leased_until) AS until WHERE until > now()`
      yield* eventually(leased, ([row]) => row?.count === 0n)
      const before = asked.length
      // Due deliveries were looked for since then: another tenant's came.
      const living = yield* tenantOn(gateway)
      const hooks = yield* webhooksOf(gateway, living)
      yield* pay(living, "last")
      expect(yield* hooks.types(1)).toEqual(["payout.successful"])
      expect(asked.length).toBe(before)
    })
  )
})
