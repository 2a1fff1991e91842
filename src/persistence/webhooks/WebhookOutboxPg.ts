import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { EventType } from "../../domain/Event.ts"
import { AppId, Mode, Reference } from "../../domain/Ids.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import { Vault } from "../../services/ports/Vault.ts"
import {
  type AttemptOutcome,
  type DueDelivery,
  type FinishedAttempt,
  type SigningEndpoint,
  WebhookOutbox
} from "../../services/ports/WebhookOutbox.ts"
import { advisoryLocks } from "../AdvisoryLocks.ts"
import { Moment, rowsOf } from "../Rows.ts"
import { makeBatcher } from "../StepBatch.ts"
import { type AttemptStep, attemptParameters, recordAttemptSql } from "./RecordAttemptSql.ts"
import { webhookSecret } from "./WebhookEndpointsPg.ts"

const claimedRows = rowsOf(
  Schema.Struct({
    appId: AppId,
    mode: Mode,
    url: Schema.String,
    secretSealed: Schema.Uint8Array,
    previousSealed: Schema.NullOr(Schema.Uint8Array),
    id: Reference,
    eventId: Reference,
    eventType: EventType,
    body: Schema.String,
    attempts: Schema.Number,
    createdAt: Moment,
    reference: Schema.NullOr(Reference),
    traceparent: Schema.NullOr(Schema.String)
  })
)

type SealedEndpoint = Omit<SigningEndpoint, "secret" | "previousSecret"> & {
  readonly secretSealed: Uint8Array
  readonly previousSealed: Uint8Array | null
}

/** How many endpoints' decrypted secrets are cached. */
const SECRETS_CACHED = 1_000

/**
 * WebhookOutbox on PostgreSQL: it claims deliveries and records their attempts. An advisory lock lets one node claim at a time, so that the bound of each
 * endpoint is counted over all nodes; a lease makes a delivery one node's. It owns due_deliveries and webhook_flights. An attempt changes a delivery only if no other attempt has since.
 */
export const WebhookOutboxPg = Layer.effect(
  WebhookOutbox,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const open = cachedSecrets(yield* Vault)

    // The lock stands before the statement, so that the statement sees every lease that was taken before it. Its settings hold for this one
    // transaction: planning the statement takes longer than running it, and without them PostgreSQL plans it for each claim.
    const claim = (now: Instant, limit: number, perEndpoint: number, leaseMs: number) =>
      sql.withTransaction(
        Effect.andThen(
          sql`SELECT pg_advisory_xact_lock(${advisoryLocks.deliveryClaims}), set_config('plan_cache_mode', 'force_generic_plan', true),
            set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)`,
          claimedRows(sql.unsafe(claimStatement, [iso(now), limit, perEndpoint, iso(now + leaseMs)]))
        )
      )

    const claimDue = Effect.fn("WebhookOutbox.claimDue")(function* (
      now: Instant,
      limit: number,
      perEndpoint: number,
      leaseMs: number
    ) {
      const deliveries: Array<DueDelivery> = []
      for (const row of yield* claim(now, limit, perEndpoint, leaseMs)) {
        const { attempts, body, createdAt, eventId, eventType, id, reference, traceparent } = row
        deliveries.push({ id, endpoint: yield* open(row), eventId, eventType, body, attempts, createdAt, reference, traceparent })
      }
      return deliveries
    }, Effect.orDie)

    const recordStep = yield* makeBatcher({
      statement: (steps: ReadonlyArray<AttemptStep>) => {
        const turns = withoutRepeats(steps)
        const written = Effect.forEach(turns, (turn) => sql.unsafe(recordAttemptSql, attemptParameters(turn)), { discard: true })
        return Effect.as(turns.length === 1 ? written : sql.withTransaction(written), steps)
      },
      // This attempt was recorded already, or whoever claimed the delivery since has recorded its own: nothing is left to do.
      recover: (_step, result) => Effect.succeed(result),
      laneOf: ({ attempt }) => webhookSecret(attempt.delivery.endpoint.appId, attempt.delivery.endpoint.mode),
      // A held delivery is one of many of its endpoint: the others' attempts are written without it.
      isLockTimeout: () => false
    })
    const recordAttempt = (attempt: FinishedAttempt, verdict: AttemptOutcome) => Effect.asVoid(recordStep({ attempt, verdict }))

    return WebhookOutbox.of({ claimDue, recordAttempt })
  })
)

/** Opens what an endpoint's row seals, and not again until it is another row. */
const cachedSecrets = (vault: Vault["Service"]) => {
  const known = new Map<string, { readonly row: SealedEndpoint; readonly endpoint: SigningEndpoint }>()
  return Effect.fnUntraced(function* (row: SealedEndpoint) {
    const { appId, mode, previousSealed, secretSealed, url } = row
    const purpose = webhookSecret(appId, mode)
    const last = known.get(purpose)
    if (last !== undefined && isSame(last.row, row)) return last.endpoint
    const secret = yield* vault.open(purpose, secretSealed)
    const previous = previousSealed === null ? {} : { previousSecret: yield* vault.open(purpose, previousSealed) }
    const endpoint: SigningEndpoint = { appId, mode, url, secret, ...previous }
    for (const oldest of known.size < SECRETS_CACHED ? [] : known.keys().take(1)) known.delete(oldest)
    known.set(purpose, { row: { appId, mode, url, secretSealed, previousSealed }, endpoint })
    return endpoint
  })
}

const isSame = (one: SealedEndpoint, other: SealedEndpoint): boolean =>
  one.url === other.url &&
  isSealedSame(one.secretSealed, other.secretSealed) &&
  isSealedSame(one.previousSealed, other.previousSealed)

const isSealedSame = (one: Uint8Array | null, other: Uint8Array | null): boolean =>
  one === null || other === null ? one === other : Buffer.compare(one, other) === 0

/** Splits steps so that no delivery occurs twice per statement; duplicates arise when a lease ran out. */
const withoutRepeats = (steps: ReadonlyArray<AttemptStep>): ReadonlyArray<ReadonlyArray<AttemptStep>> => {
  const turns: Array<Map<string, AttemptStep>> = []
  for (const step of steps) {
    const { id } = step.attempt.delivery
    const free = turns.find((turn) => !turn.has(id))
    if (free === undefined) turns.push(new Map([[id, step]]))
    else free.set(id, step)
  }
  return turns.map((turn) => [...turn.values()])
}

/**
 * Leases deliveries that are due: $1 is now, $2 how many, $3 how many of one endpoint at a time, $4 until when. The leases stand in
 * webhook_flights, a row an endpoint, and no delivery is written: what is due and what is in flight are of one moment, because whoever
 * records an attempt changes both in one commit.
 *
 * It is planned once a connection, whatever the tables hold then: everything is found by its key, and what is due in the order of its
 * index, so that a LIMIT ends the reading. Two settings of the claim's transaction see to that.
 */
export const claimStatement = `
WITH RECURSIVE owed AS (
  -- Endpoints with due deliveries, found by an index skip scan: endpoints without any cost nothing, however many there are.
  (SELECT d.app_id, d.mode FROM due_deliveries d ORDER BY d.app_id, d.mode LIMIT 1)
  UNION ALL
  SELECT next.app_id, next.mode FROM owed o CROSS JOIN LATERAL (
    SELECT d.app_id, d.mode FROM due_deliveries d WHERE (d.app_id, d.mode) > (o.app_id, o.mode) ORDER BY d.app_id, d.mode LIMIT 1
  ) next
),
turn AS (
  -- Each endpoint's oldest, as many as it may still have in flight.
  SELECT e.app_id, e.mode, waiting.id, waiting.created_at, waiting.place, waiting.next_attempt_at
  FROM owed o
  JOIN webhook_endpoints e ON e.app_id = o.app_id AND e.mode = o.mode
  LEFT JOIN webhook_flights f ON f.app_id = o.app_id AND f.mode = o.mode
  CROSS JOIN LATERAL (
    SELECT coalesce(array_agg(l.id), '{}') AS ids FROM unnest(f.ids, f.leased_until) AS l(id, until) WHERE l.until > $1::timestamptz
  ) leased
  CROSS JOIN LATERAL (
    SELECT d.id, d.created_at, d.next_attempt_at, row_number() OVER (ORDER BY d.next_attempt_at) AS place
    FROM due_deliveries d
    WHERE d.app_id = e.app_id AND d.mode = e.mode AND d.next_attempt_at <= $1::timestamptz AND d.id <> ALL (leased.ids)
    ORDER BY d.next_attempt_at
    LIMIT greatest(0, $3::int - cardinality(leased.ids))
  ) waiting
  WHERE e.enabled
),
chosen AS MATERIALIZED (
  -- Every endpoint's first comes before anybody's second, so that a long queue delays nobody else.
  SELECT app_id, mode, id, created_at, place, next_attempt_at FROM turn ORDER BY place, next_attempt_at, app_id, id LIMIT $2
),
flying AS (
  -- An attempt that was recorded meanwhile is not in the row any more that this one adds to.
  INSERT INTO webhook_flights AS w (app_id, mode, ids, leased_until)
  SELECT app_id, mode, array_agg(id), array_agg($4::timestamptz) FROM chosen GROUP BY app_id, mode ORDER BY app_id, mode
  ON CONFLICT (app_id, mode) DO UPDATE SET (ids, leased_until) = (
    SELECT array_agg(l.id), array_agg(l.until) FROM (
      SELECT k.id, k.until FROM unnest(w.ids, w.leased_until) AS k(id, until) WHERE k.until > $1::timestamptz AND k.id <> ALL (EXCLUDED.ids)
      UNION ALL
      SELECT n.id, n.until FROM unnest(EXCLUDED.ids, EXCLUDED.leased_until) AS n(id, until)
    ) l)
)
SELECT c.id, d.event_id AS "eventId", v.type AS "eventType", v.body, v.reference, d.attempts, c.created_at AS "createdAt", t.traceparent,
  e.app_id AS "appId", e.mode, e.url, e.secret_sealed AS "secretSealed",
  CASE WHEN e.previous_until > $1::timestamptz THEN e.previous_secret_sealed END AS "previousSealed"
FROM chosen c
JOIN webhook_endpoints e ON e.app_id = c.app_id AND e.mode = c.mode
-- By their whole keys: joined, they might be looked for among all of the tenant's.
CROSS JOIN LATERAL (
  SELECT d.event_id, d.attempts FROM deliveries d WHERE d.app_id = c.app_id AND d.id = c.id AND d.created_at = c.created_at OFFSET 0
) d
CROSS JOIN LATERAL (
  -- No event is newer than what delivers it.
  SELECT v.app_id, v.type, v.body, v.reference FROM events v WHERE v.app_id = c.app_id AND v.id = d.event_id AND v.created_at <= c.created_at OFFSET 0
) v
LEFT JOIN transactions t ON t.app_id = v.app_id AND t.reference = v.reference
ORDER BY c.place, c.next_attempt_at, c.app_id, c.id`
