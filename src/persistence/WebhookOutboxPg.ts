import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { FAILING_MS } from "../domain/Endpoint.ts"
import { EventType } from "../domain/Event.ts"
import { AppId, Mode, Reference } from "../domain/Ids.ts"
import { type Instant, iso } from "../domain/Instant.ts"
import { Vault } from "../services/ports/Vault.ts"
import { type Attempt, type DueDelivery, type Endpoint, type Verdict, WebhookOutbox } from "../services/ports/WebhookOutbox.ts"
import { advisoryLocks } from "./AdvisoryLocks.ts"
import { Moment, rowsOf } from "./Rows.ts"
import { webhookSecret } from "./WebhookSecret.ts"

/** Of a tenant's answer this much is kept; the dispatcher reads no more than that. */
const EXCERPT_CHARACTERS = 4_096

const endpointColumns = {
  appId: AppId,
  mode: Mode,
  url: Schema.String,
  events: Schema.Array(EventType),
  enabled: Schema.Boolean,
  secretSealed: Schema.Uint8Array,
  previousSealed: Schema.NullOr(Schema.Uint8Array)
}
const claimed = rowsOf(
  Schema.Struct({
    ...endpointColumns,
    id: Reference,
    eventId: Reference,
    eventType: EventType,
    body: Schema.String,
    attempts: Schema.Number,
    createdAt: Moment,
    traceparent: Schema.NullOr(Schema.String)
  })
)

type SealedEndpoint = Omit<Endpoint, "secret" | "previousSecret"> & {
  readonly secretSealed: Uint8Array
  readonly previousSealed: Uint8Array | null
}

/** The outbox on PostgreSQL: due deliveries are rows that are leased to one node at a time. */
export const WebhookOutboxPg = Layer.effect(
  WebhookOutbox,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const vault = yield* Vault

    const unsealed = Effect.fnUntraced(function* (row: SealedEndpoint) {
      const { previousSealed, secretSealed, ...rest } = row
      const purpose = webhookSecret(row.appId, row.mode)
      const secret = yield* vault.open(purpose, secretSealed)
      if (previousSealed === null) return { ...rest, secret } satisfies Endpoint
      return { ...rest, secret, previousSecret: yield* vault.open(purpose, previousSealed) } satisfies Endpoint
    })

    // The lock stands before the statement, so that the statement sees every lease that was taken before it.
    const claim = (now: Instant, limit: number, perEndpoint: number, leaseMs: number) =>
      sql.withTransaction(
        Effect.andThen(
          sql`SELECT pg_advisory_xact_lock(${advisoryLocks.deliveryClaims})`,
          claimed(sql`
            WITH turn AS (
              -- Each endpoint's oldest, as many as it may still have in flight.
              SELECT e.app_id, e.mode, waiting.id, waiting.created_at, waiting.place, waiting.next_attempt_at
              FROM webhook_endpoints e
              CROSS JOIN LATERAL (
                SELECT d.id, d.created_at, d.next_attempt_at, row_number() OVER (ORDER BY d.next_attempt_at, d.id) AS place
                FROM deliveries d
                WHERE d.app_id = e.app_id AND d.mode = e.mode AND d.status = 'due' AND d.next_attempt_at <= ${iso(now)}::timestamptz
                  AND (d.lease_until IS NULL OR d.lease_until <= ${iso(now)}::timestamptz)
                ORDER BY d.next_attempt_at, d.id
                LIMIT greatest(0, ${perEndpoint}::int - (
                  SELECT count(*) FROM deliveries f
                  WHERE f.app_id = e.app_id AND f.mode = e.mode AND f.status = 'due' AND f.lease_until > ${iso(now)}::timestamptz))
              ) waiting
              WHERE e.enabled
            ),
            chosen AS MATERIALIZED (
              -- Every endpoint's first comes before anybody's second, so that a long queue delays nobody else.
              SELECT app_id, id, created_at, place, next_attempt_at FROM turn ORDER BY place, next_attempt_at, app_id, id LIMIT ${limit}
            ),
            locked AS MATERIALIZED (
              -- One row at a time by its key: whatever the statistics say, no partition is ever read as a whole.
              SELECT c.app_id, c.id, c.created_at, c.place, c.next_attempt_at
              FROM chosen c
              CROSS JOIN LATERAL (
                SELECT d.id FROM deliveries d
                WHERE d.app_id = c.app_id AND d.id = c.id AND d.created_at = c.created_at AND d.status = 'due' FOR UPDATE SKIP LOCKED
              ) d
            ),
            leased AS (
              UPDATE deliveries d SET lease_until = ${iso(now + leaseMs)}::timestamptz
              FROM locked l WHERE d.app_id = l.app_id AND d.id = l.id AND d.created_at = l.created_at
              RETURNING d.app_id, d.mode, d.id, d.event_id, d.attempts, d.created_at, l.place, l.next_attempt_at
            )
            SELECT l.id, l.event_id AS "eventId", v.type AS "eventType", v.body, l.attempts, l.created_at AS "createdAt", t.traceparent,
              e.app_id AS "appId", e.mode, e.url, e.events, e.enabled, e.secret_sealed AS "secretSealed",
              CASE WHEN e.previous_until > ${iso(now)}::timestamptz THEN e.previous_secret_sealed END AS "previousSealed"
            FROM leased l
            JOIN webhook_endpoints e ON e.app_id = l.app_id AND e.mode = l.mode
            JOIN events v ON v.app_id = l.app_id AND v.id = l.event_id
            LEFT JOIN transactions t ON t.app_id = v.app_id AND t.reference = v.reference
            ORDER BY l.place, l.next_attempt_at, l.app_id, l.id`)
        )
      )

    const claimDue = Effect.fn("WebhookOutbox.claimDue")(function* (
      now: Instant,
      limit: number,
      perEndpoint: number,
      leaseMs: number
    ) {
      const rows = yield* claim(now, limit, perEndpoint, leaseMs)
      return yield* Effect.forEach(rows, ({ attempts, body, createdAt, eventId, eventType, id, traceparent, ...rest }) =>
        Effect.map(
          unsealed(rest),
          (to): DueDelivery => ({ id, endpoint: to, eventId, eventType, body, attempts, createdAt, traceparent })
        )
      )
    }, Effect.orDie)

    const settle = Effect.fn("WebhookOutbox.settle")(function* (
      { at, delivery, durationMs, excerpt, status }: Attempt,
      verdict: Verdict
    ) {
      const settled = { Delivered: "delivered", Again: "due", Parked: "parked", Gone: "parked" } as const
      const isTaken = verdict._tag === "Delivered"
      const isGone = verdict._tag === "Gone"
      const { appId, mode, url } = delivery.endpoint
      const next = verdict._tag === "Again" ? iso(verdict.at) : null
      const completed = verdict._tag === "Again" ? null : iso(at)
      // The instant holds the milliseconds of the row's own time, which says in which partition it lies.
      const from = iso(delivery.createdAt)
      const to = iso(delivery.createdAt + 1)
      // A claimant that slept past its lease still tells of a success, but it does not undo what the next one did.
      yield* sql`
        WITH settled AS (
          UPDATE deliveries SET status = ${settled[verdict._tag]}, attempts = attempts + 1, next_attempt_at = ${next}::timestamptz,
            lease_until = NULL, completed_at = ${completed}::timestamptz
          WHERE app_id = ${appId} AND id = ${delivery.id} AND created_at >= ${from}::timestamptz AND created_at < ${to}::timestamptz
            AND status = 'due' AND (attempts = ${delivery.attempts} OR ${isTaken})
          RETURNING app_id, id
        ),
        -- What the address answered says nothing about another one that was set meanwhile, nor against one that was enabled again since.
        judged AS (
          UPDATE webhook_endpoints e SET
            updated_at = CASE
              WHEN e.enabled AND NOT ${isTaken} AND (${isGone} OR e.failing_since <= ${iso(at - FAILING_MS)}::timestamptz)
                THEN ${iso(at)}::timestamptz
              ELSE e.updated_at
            END,
            failing_since = CASE WHEN ${isTaken} THEN NULL ELSE coalesce(e.failing_since, ${iso(at)}::timestamptz) END,
            enabled = e.enabled AND (${isTaken} OR NOT (${isGone} OR coalesce(e.failing_since <= ${iso(at - FAILING_MS)}::timestamptz, false))),
            disabled_reason = CASE
              WHEN NOT e.enabled OR ${isTaken} THEN e.disabled_reason
              WHEN ${isGone} THEN 'gone'
              WHEN e.failing_since <= ${iso(at - FAILING_MS)}::timestamptz THEN 'failing'
            END
          WHERE e.app_id = ${appId} AND e.mode = ${mode} AND e.url = ${url} AND (${isTaken} OR e.updated_at <= ${iso(at)}::timestamptz)
            AND CASE WHEN ${isTaken} THEN e.failing_since IS NOT NULL
              ELSE ${isGone} OR e.failing_since IS NULL OR e.failing_since <= ${iso(at - FAILING_MS)}::timestamptz END
        )
        INSERT INTO delivery_attempts (app_id, delivery_id, at, duration_ms, status, excerpt)
        SELECT app_id, id, ${iso(at)}::timestamptz, ${Math.round(durationMs)}::int, ${status}::int, ${textOf(excerpt)} FROM settled`
    }, Effect.orDie)

    return WebhookOutbox.of({ claimDue, settle })
  })
)

/** PostgreSQL's text holds no NUL, and somebody else's answer may. */
const textOf = (excerpt: string): string => excerpt.slice(0, EXCERPT_CHARACTERS).replaceAll("\0", "")
