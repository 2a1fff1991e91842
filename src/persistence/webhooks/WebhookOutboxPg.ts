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
 * endpoint is counted over all nodes; a lease makes a delivery one node's. An attempt changes a delivery only if no other attempt has since.
 */
export const WebhookOutboxPg = Layer.effect(
  WebhookOutbox,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const open = cachedSecrets(yield* Vault)

    // The lock stands before the statement, so that the statement sees every lease that was taken before it.
    const claim = (now: Instant, limit: number, perEndpoint: number, leaseMs: number) =>
      sql.withTransaction(
        Effect.andThen(
          sql`SELECT pg_advisory_xact_lock(${advisoryLocks.deliveryClaims})`,
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
        const { attempts, body, createdAt, eventId, eventType, id, traceparent } = row
        deliveries.push({ id, endpoint: yield* open(row), eventId, eventType, body, attempts, createdAt, traceparent })
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
 * Leases deliveries that are due: $1 is now, $2 how many, $3 how many of one endpoint at a time, $4 until when.
 *
 * Two things keep its plan fast. `locked` finds each delivery by its key and does not repeat `status = 'due'`: with that condition PostgreSQL
 * might scan the index of all due deliveries, of which a tenant can have very many. The LIMITs use their parameters directly, so
 * that PostgreSQL plans the statement for their values each time: a generic plan, made when nothing was due, would read every due delivery.
 */
export const claimStatement = `
WITH RECURSIVE owed AS (
  -- Endpoints with due deliveries, found by an index skip scan: endpoints without any cost nothing, however many there are.
  (SELECT d.app_id, d.mode FROM deliveries d WHERE d.status = 'due' ORDER BY d.app_id, d.mode LIMIT 1)
  UNION ALL
  SELECT next.app_id, next.mode FROM owed o CROSS JOIN LATERAL (
    SELECT d.app_id, d.mode FROM deliveries d WHERE d.status = 'due' AND (d.app_id, d.mode) > (o.app_id, o.mode)
    ORDER BY d.app_id, d.mode LIMIT 1
  ) next
),
turn AS (
  -- Each endpoint's oldest, as many as it may still have in flight.
  SELECT e.app_id, e.mode, waiting.id, waiting.created_at, waiting.place, waiting.next_attempt_at
  FROM owed o
  JOIN webhook_endpoints e ON e.app_id = o.app_id AND e.mode = o.mode
  CROSS JOIN LATERAL (
    SELECT d.id, d.created_at, d.next_attempt_at, row_number() OVER (ORDER BY d.next_attempt_at) AS place
    FROM deliveries d
    WHERE d.app_id = e.app_id AND d.mode = e.mode AND d.status = 'due' AND d.next_attempt_at <= $1::timestamptz
      AND (d.lease_until IS NULL OR d.lease_until <= $1::timestamptz)
    ORDER BY d.next_attempt_at
    LIMIT greatest(0, $3::int - (
      SELECT count(*) FROM deliveries f
      WHERE f.app_id = e.app_id AND f.mode = e.mode AND f.status = 'due' AND f.lease_until > $1::timestamptz))
  ) waiting
  WHERE e.enabled
),
chosen AS MATERIALIZED (
  -- Every endpoint's first comes before anybody's second, so that a long queue delays nobody else.
  SELECT app_id, id, created_at, place, next_attempt_at FROM turn ORDER BY place, next_attempt_at, app_id, id LIMIT $2
),
locked AS MATERIALIZED (
  SELECT c.app_id, c.id, c.created_at, c.place, c.next_attempt_at
  FROM chosen c
  CROSS JOIN LATERAL (
    SELECT d.id FROM deliveries d
    WHERE d.app_id = c.app_id AND d.id = c.id AND d.created_at = c.created_at AND d.status NOT IN ('delivered', 'parked')
    FOR UPDATE SKIP LOCKED
  ) d
),
leased AS (
  UPDATE deliveries d SET lease_until = $4::timestamptz
  FROM locked l WHERE d.app_id = l.app_id AND d.id = l.id AND d.created_at = l.created_at
  RETURNING d.app_id, d.mode, d.id, d.event_id, d.attempts, d.created_at, l.place, l.next_attempt_at
)
SELECT l.id, l.event_id AS "eventId", v.type AS "eventType", v.body, l.attempts, l.created_at AS "createdAt", t.traceparent,
  e.app_id AS "appId", e.mode, e.url, e.secret_sealed AS "secretSealed",
  CASE WHEN e.previous_until > $1::timestamptz THEN e.previous_secret_sealed END AS "previousSealed"
FROM leased l
JOIN webhook_endpoints e ON e.app_id = l.app_id AND e.mode = l.mode
-- No event is newer than what delivers it.
JOIN events v ON v.app_id = l.app_id AND v.id = l.event_id AND v.created_at <= l.created_at
LEFT JOIN transactions t ON t.app_id = v.app_id AND t.reference = v.reference
ORDER BY l.place, l.next_attempt_at, l.app_id, l.id`
