import { describe, it } from "@effect/vitest"
import { Clock, Context, Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { expect } from "vitest"
import { ProviderInbox } from "../../src/services/ports/ProviderInbox.ts"
import { WebhookOutbox } from "../../src/services/ports/WebhookOutbox.ts"
import { givenDatabase, givenNode, masterKey, newReference } from "../support/TestDatabase.ts"
import { gateway } from "./Gateway.ts"

const HOUR_MS = 3_600_000
const LEASE_MS = 1_000
const FAR = 4_000_000_000_000

const installation = Effect.gen(function* () {
  const url = yield* givenDatabase
  const node = yield* givenNode(url)
  const variables = { DATABASE_URL: Redacted.value(url), MASTER_KEY: Redacted.value(masterKey) }
  const run = (...args: ReadonlyArray<string>) => gateway(variables, ...args, "--json")
  const result = (...args: ReadonlyArray<string>) =>
    Effect.map(run(...args), ({ code, errors, output }) => {
      expect({ code, errors }).toEqual({ code: 0, errors: "" })
      return JSON.parse(output)
    })
  /** The actions of the audit, newest first. */
  const actions = Effect.map(
    Context.get(node, SqlClient.SqlClient)<{ action: string }>`SELECT action FROM audit_log ORDER BY sequence DESC`,
    (rows) => rows.map(({ action }) => action)
  )
  return { node, run, result, actions }
})

const givenParked = Effect.fnUntraced(function* (node: Context.Context<SqlClient.SqlClient>) {
  const id = yield* newReference
  yield* Context.get(node, SqlClient.SqlClient)`
    WITH made AS (
      INSERT INTO events (app_id, id, mode, type, body, created_at)
      VALUES ('acme', ${id}, 'live', 'payout.failed', '{}', to_timestamp(1)) RETURNING *
    )
    INSERT INTO deliveries (app_id, id, mode, event_id, status, attempts, created_at, completed_at)
    SELECT app_id, id, mode, id, 'parked', 12, created_at, to_timestamp(2) FROM made`
  return id
})

describe("the operators' commands for webhooks", () => {
  it.live("give an endpoint a new address and secret, while the old secret still signs", () =>
    Effect.gen(function* () {
      const { node, result } = yield* installation
      yield* result("tenant", "create", "acme")
      const endpoint = ["webhook", "endpoint", "acme", "--mode", "live", "--url"]
      const first = yield* result(...endpoint, "https://acme.example/one")
      const second = yield* result(...endpoint, "https://acme.example/two")
      const delivery = yield* givenParked(node)
      yield* result("webhook", "redeliver", delivery)
      const [due] = yield* Context.get(node, WebhookOutbox).claimDue(yield* Clock.currentTimeMillis, 9, 8, LEASE_MS)
      if (due?.endpoint.previousSecret === undefined) return yield* Effect.die("two secrets sign")
      expect(due.endpoint.url).toBe("https://acme.example/two")
      expect([due.endpoint.secret, due.endpoint.previousSecret].map(Redacted.value)).toEqual([second.secret, first.secret])
      const [later] = yield* Context.get(node, WebhookOutbox).claimDue(FAR, 9, 8, LEASE_MS)
      expect(later?.endpoint.previousSecret).toBe(undefined)
    })
  )

  it.live("set an endpoint by name beside the default, list its deliveries and send to it alone", () =>
    Effect.gen(function* () {
      const { node, result, run } = yield* installation
      const sql = Context.get(node, SqlClient.SqlClient)
      yield* result("tenant", "create", "acme")
      const endpoint = ["webhook", "endpoint", "acme", "--mode", "live", "--url", "https://acme.example/"]
      yield* result(...endpoint)
      const made = yield* result(...endpoint, "--endpoint", "erp")
      const at = new Date(Date.now() - HOUR_MS).toISOString()
      for (const id of [yield* newReference, yield* newReference])
        yield* sql`SELECT write_event('acme', 'live', NULL, ${at}::timestamptz, ${id}, 'payout.failed', '{}')`
      const list = (name: string, status: string) =>
        result("webhook", "deliveries", "acme", "--mode", "live", "--endpoint", name, "--status", status)
      const due = yield* list("erp", "due")
      expect(due).toMatchObject([
        { endpoint: "erp", status: "due" },
        { endpoint: "erp", status: "due" }
      ])
      yield* sql`UPDATE named_deliveries SET status = 'parked', next_attempt_at = NULL`
      yield* sql`DELETE FROM named_due_deliveries WHERE app_id = 'acme'`
      expect(yield* result("webhook", "redeliver", due[0].id)).toMatchObject({ endpoint: "erp", status: "due" })
      const recover = [
        "webhook",
        "recover",
        "acme",
        "--mode",
        "live",
        "--since",
        new Date(Date.now() - 2 * HOUR_MS).toISOString()
      ]
      expect(yield* result(...recover, "--endpoint", "erp")).toStrictEqual({ deliveries: 1, resume_since: null })
      const claimed = yield* Context.get(node, WebhookOutbox).claimDue(yield* Clock.currentTimeMillis, 9, 8, LEASE_MS)
      expect(
        claimed.map(({ endpoint: { name, secret } }) => [name, Redacted.value(secret) === made.secret]).sort()
      ).toStrictEqual([
        ["default", false],
        ["default", false],
        ["erp", true],
        ["erp", true]
      ])
      expect(yield* run(...recover, "--endpoint", "books")).toMatchObject({
        code: 1,
        errors: "the tenant acme has no enabled endpoint books in live mode: set one with gateway webhook endpoint"
      })
      expect(yield* run(...endpoint, "--endpoint", "ERP")).toMatchObject({ code: 2 })
      for (const name of ["a", "b", "c"]) yield* result(...endpoint, "--endpoint", name)
      expect(yield* run(...endpoint, "--endpoint", "d")).toMatchObject({
        code: 1,
        errors: "the tenant acme has 5 endpoints in live mode, default counted: it has to remove one first"
      })
    })
  )

  it.effect("list a tenant's deliveries and send one again, with an audit row", () =>
    Effect.gen(function* () {
      const { actions, node, result, run } = yield* installation
      yield* result("tenant", "create", "acme")
      const id = yield* givenParked(node)
      const list = ["webhook", "deliveries", "acme", "--mode"]
      const parked = yield* result(...list, "live", "--status", "parked")
      expect(parked).toMatchObject([{ id, event_id: id, event_type: "payout.failed", status: "parked", attempts: [] }])
      expect(yield* result(...list, "test")).toEqual([])
      expect(yield* result(...list, "live", "--status", "due")).toEqual([])
      expect(yield* run("webhook", "deliveries", "nobody", "--mode", "live")).toMatchObject({ code: 1, output: "" })
      expect(yield* run(...list, "live", "--status", "gone")).toMatchObject({ code: 2, output: "" })
      const refused = yield* run("webhook", "redeliver", id)
      expect(refused).toMatchObject({
        code: 1,
        errors: "the tenant acme has no enabled endpoint default in live mode: set one with gateway webhook endpoint"
      })
      yield* result("webhook", "endpoint", "acme", "--mode", "live", "--url", "https://acme.example/")
      expect(yield* result("webhook", "redeliver", id)).toMatchObject({ id, status: "due", completed_at: null })
      expect(yield* run("webhook", "redeliver", "0".repeat(26))).toMatchObject({ code: 1, output: "" })
      expect(yield* run("webhook", "redeliver", "nothing")).toMatchObject({
        code: 1,
        errors: "there is no delivery nothing: gateway webhook deliveries lists them"
      })
      expect(yield* actions).toEqual(["webhook redeliver", "webhook endpoint", "tenant create"])
    })
  )

  it.live("send everything since a given time again, as the tenant could, with an audit row", () =>
    Effect.gen(function* () {
      const { actions, node, result, run } = yield* installation
      yield* result("tenant", "create", "acme")
      yield* givenParked(node)
      const sql = Context.get(node, SqlClient.SqlClient)
      const now = Date.now()
      yield* sql`UPDATE events SET created_at = to_timestamp(${(now - HOUR_MS) / 1000})`
      const since = new Date(now - 2 * HOUR_MS).toISOString()
      const recover = ["webhook", "recover", "acme", "--mode", "live", "--since"]
      expect(yield* run(...recover, since)).toMatchObject({
        code: 1,
        errors: "the tenant acme has no enabled endpoint default in live mode: set one with gateway webhook endpoint"
      })
      yield* result("webhook", "endpoint", "acme", "--mode", "live", "--url", "https://acme.example/")
      expect(yield* result(...recover, since)).toEqual({ deliveries: 1, resume_since: null })
      const [due] = yield* Context.get(node, WebhookOutbox).claimDue(FAR, 9, 8, LEASE_MS)
      expect(due).toMatchObject({ eventType: "payout.failed", body: "{}", attempts: 0 })
      for (const wrong of ["yesterday", "1970-01-01T00:00:00.000Z", "9999-01-01T00:00:00.000Z"])
        expect((yield* run(...recover, wrong)).errors).toMatch(/^--since: expected a moment of the last 30 days/)
      expect(yield* actions).toEqual(["webhook recover", "webhook endpoint", "tenant create"])
    })
  )

  it.effect("list providers' callbacks and process one again, with an audit row", () =>
    Effect.gen(function* () {
      const { actions, node, result, run } = yield* installation
      const inbox = Context.get(node, ProviderInbox)
      const id = yield* newReference
      const digest = new Uint8Array(32)
      const hint = { reference: null, providerReference: "BSB1" }
      const callback = { id, provider: "eversend", mode: "test", receivedAt: 1_000, digest, hint } as const
      yield* inbox.store(callback, 1_000, '{"msisdn":"••••3456"}')
      const tries = { looks: 9, claims: 0 }
      yield* inbox.retryAt({ ...callback, ...tries, leasedUntil: 1_000 }, { ...tries, at: null })
      const row = {
        id,
        provider: "eversend",
        mode: "test",
        status: "parked",
        received_at: "1970-01-01T00:00:01.000Z",
        next_look_at: null,
        looks: 9,
        reference: null,
        provider_reference: "BSB1",
        says: null,
        matched_reference: null
      }
      expect(yield* result("inbox", "list", "--status", "parked")).toEqual([row])
      expect(yield* result("inbox", "list", "--status", "due")).toEqual([])
      const next_look_at = expect.stringMatching(/Z$/)
      const read = yield* result("inbox", "read", id, "--reason", "it names nothing")
      expect(read).toEqual({ id, body: '{"msisdn":"••••3456"}' })
      expect(yield* result("inbox", "replay", id)).toEqual({ ...row, status: "due", next_look_at, looks: 0 })
      expect(yield* result("inbox", "list")).toMatchObject([{ id, status: "due" }])
      expect(yield* inbox.claimDue(FAR, 9, LEASE_MS)).toMatchObject([{ id, hint }])
      expect(yield* run("inbox", "replay", "nothing")).toMatchObject({
        code: 1,
        errors: "there is no callback nothing: gateway inbox list shows the newest"
      })
      expect(yield* run("inbox", "replay", yield* newReference)).toMatchObject({ code: 1, output: "" })
      expect(yield* run("inbox", "list", "--status", "gone")).toMatchObject({ code: 2, output: "" })
      expect(yield* actions).toEqual(["inbox replay", "inbox read"])
    })
  )
})
