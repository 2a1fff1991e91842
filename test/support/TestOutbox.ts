import { Context, Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { AppId } from "../../src/domain/Ids.ts"
import { DEFAULT_ENDPOINT } from "../../src/domain/WebhookEndpoint.ts"
import { WebhookEndpoints } from "../../src/services/ports/WebhookEndpoints.ts"
import { type DueDelivery, type SigningEndpoint, WebhookOutbox } from "../../src/services/ports/WebhookOutbox.ts"
import { auditEntry, givenDatabase, givenNode } from "./TestDatabase.ts"

export const LEASE_MS = 30_000
export const NOW = 1_000_000

export const endpoint = (name: string): SigningEndpoint => ({
  appId: AppId.make(name),
  mode: "test",
  name: DEFAULT_ENDPOINT,
  url: `https://${name}.example/hook`,
  secret: Redacted.make(`whsec_${name}`)
})

/** `count` events that wait for a tenant, a millisecond apart, as a money step's statement leaves them. */
export const givenWaiting = (sql: SqlClient.SqlClient, name: string, count: number, from = 0) =>
  sql`WITH made AS (
      INSERT INTO events (app_id, id, mode, type, reference, body, created_at)
      SELECT ${name}, upper(substr(translate(md5(${name} || n), 'ilou', 'jkmn'), 1, 26)), 'test', 'payout.successful', NULL, '{"n":' || n || '}',
        to_timestamp((${from}::int + n) / 1000.0)
      FROM generate_series(1, ${count}::int) AS n RETURNING app_id, id, mode, created_at
    ), queued AS (
      INSERT INTO deliveries (app_id, id, mode, event_id, status, next_attempt_at, created_at)
      SELECT app_id, id, mode, id, 'due', created_at, created_at FROM made RETURNING *
    )
    INSERT INTO due_deliveries (app_id, mode, next_attempt_at, id, created_at) SELECT app_id, mode, next_attempt_at, id, created_at FROM queued`

/** How many deliveries wait, and how many are on their way. */
export const leftOf = (sql: SqlClient.SqlClient) =>
  Effect.map(
    sql<{ due: number; leased: number }>`SELECT (SELECT count(*)::int FROM due_deliveries) AS due,
      (SELECT coalesce(sum(cardinality(ids)), 0)::int FROM webhook_flights) AS leased`,
    ([left]) => left
  )

export const givenNodes = Effect.gen(function* () {
  const url = yield* givenDatabase
  const [one, other] = yield* Effect.all([givenNode(url), givenNode(url)])
  return {
    sql: Context.get(one, SqlClient.SqlClient),
    one: Context.get(one, WebhookOutbox),
    endpoints: Context.get(one, WebhookEndpoints),
    other: Context.get(other, WebhookOutbox)
  }
})
export const tenantsOf = (deliveries: ReadonlyArray<DueDelivery>) => deliveries.map((delivery) => delivery.endpoint.appId)
export const attempt = (delivery: DueDelivery) => ({ delivery, at: NOW + 5, durationMs: 12.4, status: 500, excerpt: "oh\0no" })

/** Set as its owner would, with the secret that the tests know. */
export const put = (endpoints: WebhookEndpoints["Service"], { secret, ...place }: SigningEndpoint, enabled = true) =>
  endpoints.put({ ...place, events: ["payout.successful"], enabled, secret, rotatesUntil: null, at: 5, change: auditEntry() })
