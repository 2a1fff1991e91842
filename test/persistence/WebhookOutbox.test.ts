import { describe, it } from "@effect/vitest"
import { Context, Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { expect } from "vitest"
import { AppId } from "../../src/domain/Ids.ts"
import { WebhookEndpoints } from "../../src/services/ports/WebhookEndpoints.ts"
import { type DueDelivery, type Endpoint, WebhookOutbox } from "../../src/services/ports/WebhookOutbox.ts"
import { auditEntry, givenDatabase, givenNode } from "../support/GivenDatabase.ts"

const LEASE_MS = 30_000
const NOW = 1_000_000

const endpoint = (name: string, override: Partial<Endpoint> = {}): Endpoint => ({
  appId: AppId.make(name),
  mode: "test",
  url: `https://${name}.example/hook`,
  events: ["payout.successful"],
  enabled: true,
  secret: Redacted.make(`whsec_${name}`),
  ...override
})

/** `count` events that wait for a tenant, a millisecond apart, as a money step's statement leaves them. */
const givenWaiting = (sql: SqlClient.SqlClient, name: string, count: number, from = 0) =>
  sql`WITH made AS (
      INSERT INTO events (app_id, id, mode, type, reference, body, created_at)
      SELECT ${name}, upper(substr(translate(md5(${name} || n), 'ilou', 'jkmn'), 1, 26)), 'test', 'payout.successful', NULL, '{"n":' || n || '}',
        to_timestamp((${from}::int + n) / 1000.0)
      FROM generate_series(1, ${count}::int) AS n RETURNING app_id, id, mode, created_at
    )
    INSERT INTO deliveries (app_id, id, mode, event_id, status, next_attempt_at, created_at)
    SELECT app_id, id, mode, id, 'due', created_at, created_at FROM made`

const givenNodes = Effect.gen(function* () {
  const url = yield* givenDatabase
  const [one, other] = yield* Effect.all([givenNode(url), givenNode(url)])
  return {
    sql: Context.get(one, SqlClient.SqlClient),
    one: Context.get(one, WebhookOutbox),
    endpoints: Context.get(one, WebhookEndpoints),
    other: Context.get(other, WebhookOutbox)
  }
})
const ids = (deliveries: ReadonlyArray<DueDelivery>) => deliveries.map(({ id }) => id)
const tenantsOf = (deliveries: ReadonlyArray<DueDelivery>) => deliveries.map((delivery) => delivery.endpoint.appId)
const attempt = (delivery: DueDelivery) => ({ delivery, at: NOW + 5, durationMs: 12.4, status: 500, excerpt: "oh\0no" })

/** Set as its owner would, with the secret that the tests know. */
const put = (endpoints: WebhookEndpoints["Service"], { secret, ...wish }: Endpoint) =>
  endpoints.put(wish, secret, null, 5, auditEntry())

describe("the outbox", () => {
  it.effect("gives the frozen event with its endpoint, oldest first, and nothing of a disabled endpoint or before its time", () =>
    Effect.gen(function* () {
      const { endpoints, one, sql } = yield* givenNodes
      yield* put(endpoints, endpoint("acme"))
      yield* put(endpoints, endpoint("off", { enabled: false }))
      yield* givenWaiting(sql, "acme", 3)
      yield* givenWaiting(sql, "off", 3)
      yield* givenWaiting(sql, "nobody", 3)
      const claimed = yield* one.claimDue(2, 10, 8, LEASE_MS)
      expect(claimed.map(({ body, createdAt }) => [body, createdAt])).toEqual([
        ['{"n":1}', 1],
        ['{"n":2}', 2]
      ])
      const [first] = claimed
      expect(first).toMatchObject({
        eventType: "payout.successful",
        attempts: 0,
        eventId: first?.id,
        endpoint: { appId: "acme", url: "https://acme.example/hook" }
      })
      expect(first === undefined ? "" : Redacted.value(first.endpoint.secret)).toBe("whsec_acme")
    })
  )

  it.effect("gives a delivery to one node, and of one endpoint never more at once than its limit, over all nodes", () =>
    Effect.gen(function* () {
      const { endpoints, one, other, sql } = yield* givenNodes
      for (const name of ["acme", "bolt"]) yield* put(endpoints, endpoint(name))
      yield* givenWaiting(sql, "acme", 50)
      yield* givenWaiting(sql, "bolt", 50)
      const rounds = yield* Effect.all(
        Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? one : other).claimDue(NOW, 5, 8, LEASE_MS)),
        { concurrency: "unbounded" }
      )
      const claimed = rounds.flat()
      expect(new Set(ids(claimed)).size).toBe(claimed.length)
      expect(tenantsOf(claimed).filter((name) => name === "acme")).toHaveLength(8)
      expect(tenantsOf(claimed).filter((name) => name === "bolt")).toHaveLength(8)
      expect(yield* other.claimDue(NOW + LEASE_MS - 1, 50, 8, LEASE_MS)).toEqual([])
      expect(new Set(ids(yield* other.claimDue(NOW + LEASE_MS, 50, 8, LEASE_MS)))).toEqual(new Set(ids(claimed)))
    })
  )

  it.effect("lets nobody wait behind a tenant with 50,000 events", () =>
    Effect.gen(function* () {
      const { endpoints, one, sql } = yield* givenNodes
      for (const name of ["flood", "small", "tiny"]) yield* put(endpoints, endpoint(name))
      yield* givenWaiting(sql, "flood", 50_000)
      yield* givenWaiting(sql, "small", 2, 60_000)
      yield* givenWaiting(sql, "tiny", 1, 70_000)
      expect(tenantsOf(yield* one.claimDue(NOW, 4, 8, LEASE_MS))).toEqual(["flood", "small", "tiny", "flood"])
      expect(tenantsOf(yield* one.claimDue(NOW, 4, 8, LEASE_MS)).sort()).toEqual(["flood", "flood", "flood", "small"])
    })
  )

  it.effect("tries again when told, keeps every attempt, and ends at delivered or parked", () =>
    Effect.gen(function* () {
      const { endpoints, one, sql } = yield* givenNodes
      yield* put(endpoints, endpoint("acme"))
      yield* givenWaiting(sql, "acme", 2)
      const [first, second] = yield* one.claimDue(NOW, 2, 8, LEASE_MS)
      if (first === undefined || second === undefined) return yield* Effect.die("two were due")
      yield* one.settle(attempt(first), { _tag: "Again", at: NOW + 5_000 })
      yield* one.settle(attempt(second), { _tag: "Parked" })
      expect(yield* one.claimDue(NOW + 4_999, 9, 8, LEASE_MS)).toEqual([])
      const [again] = yield* one.claimDue(NOW + 5_000, 9, 8, LEASE_MS)
      expect(again).toMatchObject({ id: first.id, attempts: 1 })
      // Whoever slept past its lease undoes nothing, and is still believed when it delivered.
      yield* one.settle(attempt(first), { _tag: "Parked" })
      yield* one.settle({ ...attempt(first), status: null }, { _tag: "Delivered" })
      expect(yield* one.claimDue(NOW + 500_000, 9, 8, LEASE_MS)).toEqual([])
      expect(yield* sql`SELECT status, attempts, lease_until FROM deliveries ORDER BY created_at`).toEqual([
        { status: "delivered", attempts: 2, lease_until: null },
        { status: "parked", attempts: 1, lease_until: null }
      ])
      expect(
        yield* sql`SELECT duration_ms, status, excerpt FROM delivery_attempts WHERE delivery_id = ${first.id} ORDER BY line`
      ).toEqual([
        { duration_ms: 12, status: 500, excerpt: "ohno" },
        { duration_ms: 12, status: null, excerpt: "ohno" }
      ])
    })
  )
})
