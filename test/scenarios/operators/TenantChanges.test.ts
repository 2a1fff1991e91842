import { expect, layer } from "@effect/vitest"
import { Context, Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { AuditLog } from "../../../src/services/ports/AuditLog.ts"
import { TENANT_CHANGES_KEPT_AT_MOST, TenantChanges } from "../../../src/services/ports/TenantChanges.ts"
import { gateway as command } from "../../commands/Gateway.ts"
import { momoPayout } from "../../support/RequestBodies.ts"
import { keyOn, Stack, tenantOn } from "../../support/Stack.ts"
import { masterKey } from "../../support/TestDatabase.ts"

const ENDPOINT = "/v1/webhooks/endpoint"
const TIMES = 12

const given = Effect.gen(function* () {
  const { database, gateway } = yield* Stack
  const tenant = yield* tenantOn(gateway)
  const log = Context.get(gateway.context, AuditLog)
  const changes = Context.get(gateway.context, TenantChanges)
  const run = (...args: ReadonlyArray<string>) =>
    command({ DATABASE_URL: Redacted.value(database), MASTER_KEY: Redacted.value(masterKey) }, ...args)
  const actions = Effect.map(changes.list(tenant.appId, null, 100), (rows) => rows.map(({ action }) => action))
  const put = (url: string) => tenant.call("PUT", ENDPOINT, { url })
  return { actions, changes, gateway, log, put, run, sql: Context.get(gateway.context, SqlClient.SqlClient), tenant }
})

/** Everything that a tenant can change itself, its address several times. */
const change = Effect.fnUntraced(function* ({ put, tenant }: Pick<Effect.Success<typeof given>, "put" | "tenant">) {
  for (let time = 0; time < TIMES; time++) yield* put(`http://127.0.0.1:9/${time}`)
  yield* tenant.call("POST", `${ENDPOINT}/rotate-secret`)
  const sent = yield* tenant.call("POST", `${ENDPOINT}/test`)
  yield* tenant.call("POST", `/v1/webhooks/deliveries/${sent.body.data["id"]}/redeliver`)
  yield* tenant.post("/v1/payouts", momoPayout("3301"))
  yield* tenant.call("DELETE", "/v1/beneficiaries", undefined, { "x-confirm-purge": tenant.appId })
  yield* tenant.call("DELETE", ENDPOINT)
})

const changed = Effect.tap(given, change)

layer(Stack.layer(), { excludeTestServices: true })("the changes that a tenant makes itself", (it) => {
  it.effect("are each an entry, the newest first; a payment and a test event are none", () =>
    Effect.gen(function* () {
      const { actions } = yield* changed
      expect(yield* actions).toEqual([
        "webhook endpoint remove",
        "beneficiaries purge",
        "webhook redeliver",
        "webhook rotate-secret",
        ...Array.from({ length: TIMES }, () => "webhook endpoint")
      ])
    })
  )

  it.effect("add no row to the operators' audit log", () =>
    Effect.gen(function* () {
      const all = yield* given
      const before = yield* all.log.head
      yield* change(all)
      expect(yield* all.log.head).toEqual(before)
    })
  )

  it.effect("are listed by mode, each with its number in it and with the key that made it", () =>
    Effect.gen(function* () {
      const { gateway, run, tenant } = yield* changed
      const other = yield* keyOn(gateway, tenant.appId, "test")
      yield* other.call("PUT", ENDPOINT, { url: "http://127.0.0.1:9/test" })
      const listed = yield* run("audit", "list", "--app", tenant.appId, "--limit", "2", "--json")
      expect(JSON.parse(listed.output)).toMatchObject([
        { mode: "test", place: 1, action: "webhook endpoint", actor: `${tenant.appId}/${other.key.keyId}` },
        { mode: "live", place: TIMES + 4, action: "webhook endpoint remove", actor: `${tenant.appId}/${tenant.key.keyId}` }
      ])
      const live = yield* run("audit", "list", "--app", tenant.appId, "--mode", "live", "--json")
      expect(new Set(JSON.parse(live.output).map(({ mode }: { mode: string }) => mode))).toEqual(new Set(["live"]))
    })
  )

  it.effect("say of a purge how many recipients it forgot", () =>
    Effect.gen(function* () {
      const { run, tenant } = yield* changed
      const { output } = yield* run("audit", "list", "--app", tenant.appId, "--json")
      const purge = JSON.parse(output).find(({ action }: { action: string }) => action === "beneficiaries purge")
      expect(purge.details).toEqual({ purged: "1" })
    })
  )

  it.effect("are listed of one tenant: a mode without one is refused", () =>
    Effect.gen(function* () {
      const { run } = yield* given
      expect(yield* run("audit", "list", "--mode", "live")).toMatchObject({ code: 2 })
    })
  )

  it.effect("are no entry where the same address is set again, which only ends that it is failing", () =>
    Effect.gen(function* () {
      const { actions, put, sql, tenant } = yield* given
      yield* put("http://127.0.0.1:9/one")
      yield* sql`UPDATE webhook_endpoints SET failing_since = now() WHERE app_id = ${tenant.appId}`
      for (let time = 0; time < TIMES; time++) yield* put("http://127.0.0.1:9/one")
      expect(yield* actions).toEqual(["webhook endpoint"])
      const failing = yield* sql`SELECT 1 FROM webhook_endpoints WHERE app_id = ${tenant.appId} AND failing_since IS NOT NULL`
      expect(failing).toEqual([])
    })
  )

  it.effect("are an entry where the same address enables an endpoint again", () =>
    Effect.gen(function* () {
      const { actions, put, sql, tenant } = yield* given
      yield* put("http://127.0.0.1:9/one")
      yield* sql`UPDATE webhook_endpoints SET enabled = false, disabled_reason = 'gone' WHERE app_id = ${tenant.appId}`
      expect((yield* put("http://127.0.0.1:9/one")).body.data).toMatchObject({ enabled: true, disabled_reason: null })
      expect(yield* actions).toHaveLength(2)
    })
  )

  it.effect("keep purges and endpoint addresses in the log, however many other changes follow", () =>
    Effect.gen(function* () {
      const { put, sql, tenant } = yield* given
      const many = (action: string, from: number) =>
        sql`INSERT INTO tenant_changes SELECT ${tenant.appId}, 'live', place, now(), 'k', ${action}, '{}'
          FROM generate_series(${from}::bigint, ${from + TENANT_CHANGES_KEPT_AT_MOST - 1}::bigint) AS place`
      yield* put("http://127.0.0.1:9/first")
      yield* tenant.call("DELETE", "/v1/beneficiaries", undefined, { "x-confirm-purge": tenant.appId })
      yield* many("webhook rotate-secret", 3)
      yield* tenant.call("POST", `${ENDPOINT}/rotate-secret`)
      yield* many("webhook endpoint", 20_000)
      yield* put("http://127.0.0.1:9/second")
      yield* many("beneficiaries purge", 40_000)
      yield* tenant.call("DELETE", "/v1/beneficiaries", undefined, { "x-confirm-purge": tenant.appId })
      const kept = yield* sql`SELECT action, count(*)::int AS rows, min(place)::int AS first FROM tenant_changes
        WHERE app_id = ${tenant.appId} GROUP BY action ORDER BY action`
      expect(kept).toEqual([
        { action: "beneficiaries purge", rows: TENANT_CHANGES_KEPT_AT_MOST + 2, first: 2 },
        { action: "webhook endpoint", rows: TENANT_CHANGES_KEPT_AT_MOST + 2, first: 1 },
        { action: "webhook rotate-secret", rows: TENANT_CHANGES_KEPT_AT_MOST, first: 4 }
      ])
    })
  )

  it.effect("are kept in a bounded number of rows, the newest, and forgotten in small portions", () =>
    Effect.gen(function* () {
      const { changes, sql, tenant } = yield* given
      const record = (at: number) =>
        sql`SELECT FROM record_tenant_change(${tenant.appId}, 'live', to_timestamp(${at}), ${String(at)}, 'k', '{}', 3)`
      yield* Effect.forEach([1, 2, 3, 4, 5], record, { concurrency: "unbounded" })
      const places = Effect.map(changes.list(tenant.appId, "live", 9), (rows) => rows.map(({ place }) => place).sort())
      expect(yield* places).toEqual([3n, 4n, 5n])
      const kept = (yield* changes.list(tenant.appId, "live", 9)).map(({ at }) => at)
      expect(yield* changes.prune(Math.max(...kept), 1)).toBe(1)
      expect(yield* changes.prune(Math.max(...kept), 9)).toBe(1)
      expect(yield* places).toHaveLength(1)
    })
  )
})
