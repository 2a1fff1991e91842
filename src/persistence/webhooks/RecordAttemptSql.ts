import { DEFAULT_ENDPOINT, FAILING_MS, queueOf } from "../../domain/WebhookEndpoint.ts"
import type { AttemptOutcome, FinishedAttempt } from "../../services/ports/WebhookOutbox.ts"
import { type Column, columnsOf } from "../connection/Columns.ts"
import { ofNamedEndpoints } from "../connection/EndpointTables.ts"

export interface AttemptStep {
  readonly attempt: FinishedAttempt
  readonly verdict: AttemptOutcome
}

/** Whether the attempt was at a named endpoint, whose rows are in separate tables. */
export const isNamed = ({ attempt }: AttemptStep): boolean => attempt.delivery.endpoint.name !== DEFAULT_ENDPOINT

/** How much of a tenant's response is stored; the dispatcher reads no more. */
const EXCERPT_CHARACTERS = 4_096

const statusAfter = { Delivered: "delivered", Again: "due", Parked: "parked", Gone: "parked" } as const

const columns = {
  app_id: { type: "text", of: ({ attempt }) => attempt.delivery.endpoint.appId },
  // For a named endpoint, the functions and statements have `queue` in place of the mode.
  mode: { type: "text", of: ({ attempt }) => queueOf(attempt.delivery.endpoint.mode, attempt.delivery.endpoint.name) },
  url: { type: "text", of: ({ attempt }) => attempt.delivery.endpoint.url },
  id: { type: "text", of: ({ attempt }) => attempt.delivery.id },
  // In milliseconds, as the row's own time, which determines its partition.
  created_at: { type: "timestamptz", of: ({ attempt }) => attempt.delivery.createdAt },
  attempts: { type: "int", of: ({ attempt }) => attempt.delivery.attempts },
  taken: { type: "boolean", of: ({ verdict }) => verdict._tag === "Delivered" },
  gone: { type: "boolean", of: ({ verdict }) => verdict._tag === "Gone" },
  status: { type: "text", of: ({ verdict }) => statusAfter[verdict._tag] },
  next_attempt_at: { type: "timestamptz", of: ({ verdict }) => (verdict._tag === "Again" ? verdict.at : null) },
  completed_at: { type: "timestamptz", of: ({ attempt, verdict }) => (verdict._tag === "Again" ? null : attempt.at) },
  at: { type: "timestamptz", of: ({ attempt }) => attempt.at },
  duration_ms: { type: "int", of: ({ attempt }) => Math.round(attempt.durationMs) },
  answered: { type: "int", of: ({ attempt }) => attempt.status },
  excerpt: { type: "text", of: ({ attempt }) => attempt.excerpt.slice(0, EXCERPT_CHARACTERS) }
} satisfies Readonly<Record<string, Column<AttemptStep>>>
const steps = columnsOf<AttemptStep>(columns)

/** The statement's parameters for these attempts, no two of which are of the same delivery. */
export const attemptParameters = (all: ReadonlyArray<AttemptStep>): ReadonlyArray<unknown> =>
  steps.arrays(all.toSorted(byDelivery))

const notes = columnsOf<AttemptStep>({
  id: columns.id,
  at: columns.at,
  duration_ms: columns.duration_ms,
  answered: columns.answered,
  excerpt: columns.excerpt
})

/** The parameters of `noteAttemptsSql` after its first, for the settled attempts, given by their numbers from one. */
export const attemptNotes = (all: ReadonlyArray<AttemptStep>, settled: ReadonlyArray<number>): ReadonlyArray<unknown> => {
  const sorted = all.toSorted(byDelivery)
  return notes.arrays(sorted.filter((_, at) => settled.includes(at + 1)))
}

/** Rows are locked in one order, so that no two nodes deadlock. */
const byDelivery = (one: AttemptStep, other: AttemptStep): number =>
  one.attempt.delivery.id < other.attempt.delivery.id ? -1 : 1

/** Records attempts in one commit, with what follows for each delivery and endpoint (functions/record_attempts.sql). */
export const recordAttemptSql = `SELECT record_attempts(${steps.names.map((_, at) => `$${at + 1}`).join(", ")}, ${FAILING_MS}::bigint) AS settled`

/** The same for named endpoints. */
export const recordNamedAttemptSql = ofNamedEndpoints(recordAttemptSql)

/** Restricts a column to the tenant, the last parameter of the Citus form. */
const own = (column: string): string => ` AND ${column} = $${steps.names.length + 1}::text`

// The new state of the deliveries.
const settling = `
WITH RECURSIVE step AS MATERIALIZED (
  SELECT * FROM ${steps.rows("s", ["app_id", "mode", "url", "id", "created_at", "attempts", "taken", "gone", "at"])}
),
locked AS MATERIALIZED (
  -- A claimant that slept past its lease still tells of a success, but it does not undo what the next one did.
  SELECT d.app_id, d.mode, d.id, d.created_at, d.next_attempt_at, ${steps.value("status", "s.ord")} AS status,
    ${steps.value("next_attempt_at", "s.ord")} AS again_at, ${steps.value("completed_at", "s.ord")} AS completed_at, s.ord
  FROM step s CROSS JOIN LATERAL (
    SELECT d.app_id, d.mode, d.id, d.created_at, d.next_attempt_at FROM deliveries d
    WHERE d.app_id = s.app_id AND d.id = s.id AND d.created_at >= s.created_at AND d.created_at < s.created_at + interval '1 millisecond'
      AND d.status NOT IN ('delivered', 'parked') AND (d.attempts = s.attempts OR s.taken)${own("d.app_id")} FOR UPDATE
  ) d
),
settled AS (
  UPDATE deliveries d SET status = l.status, attempts = d.attempts + 1, next_attempt_at = l.again_at, completed_at = l.completed_at
  FROM locked l WHERE d.app_id = l.app_id AND d.id = l.id AND d.created_at = l.created_at${own("d.app_id")}
  RETURNING d.app_id, d.id, l.ord
),
ended AS (
  DELETE FROM due_deliveries q USING locked l
  WHERE q.app_id = l.app_id AND q.mode = l.mode AND q.next_attempt_at = l.next_attempt_at AND q.id = l.id AND l.status <> 'due'${own("q.app_id")}
  RETURNING q.id
),
put_off AS (
  UPDATE due_deliveries q SET next_attempt_at = l.again_at FROM locked l
  WHERE q.app_id = l.app_id AND q.mode = l.mode AND q.next_attempt_at = l.next_attempt_at AND q.id = l.id AND l.status = 'due'${own("q.app_id")}
  RETURNING q.id
)`

// The new state of their endpoints.
const judging = `
flown AS MATERIALIZED (
  -- After the deliveries, which may be held: nobody who claims waits for as long as that.
  SELECT f.app_id, f.mode, o.ids FROM (
    SELECT app_id, mode, array_agg(id) AS ids FROM step WHERE (SELECT count(*) FROM settled) >= 0 GROUP BY app_id, mode ORDER BY app_id, mode
  ) o CROSS JOIN LATERAL (
    SELECT f.app_id, f.mode FROM webhook_flights f WHERE f.app_id = o.app_id AND f.mode = o.mode${own("f.app_id")} FOR UPDATE
  ) f
),
landed AS (
  UPDATE webhook_flights f SET (ids, leased_until) = (
    SELECT coalesce(array_agg(k.id), '{}'), coalesce(array_agg(k.until), '{}') FROM unnest(f.ids, f.leased_until) AS k(id, until)
    WHERE k.id <> ALL (o.ids))
  FROM flown o WHERE f.app_id = o.app_id AND f.mode = o.mode${own("f.app_id")}
),
news AS MATERIALIZED (
  SELECT app_id, mode, url, bool_or(taken) AS taken, max(at) FILTER (WHERE NOT taken) AS failed_at, max(at) FILTER (WHERE gone) AS gone_at
  FROM step GROUP BY app_id, mode, url ORDER BY app_id, mode
),
-- Endpoints of which an attempt changes something. What another address answered says nothing about the one that is set, nor anything from
-- before it was set, or enabled again, against it.
judged AS MATERIALIZED (
  SELECT e.* FROM news n CROSS JOIN LATERAL (
    SELECT e.app_id, e.mode, e.url, e.enabled, e.failing_since, e.disabled_reason, e.updated_at FROM webhook_endpoints e
    WHERE e.app_id = n.app_id AND e.mode = n.mode AND e.url = n.url${own("e.app_id")} AND (
      n.taken AND e.failing_since IS NOT NULL
      OR n.gone_at >= e.updated_at
      OR n.failed_at >= e.updated_at AND (e.failing_since IS NULL OR n.failed_at >= e.failing_since + interval '${FAILING_MS} milliseconds'))
    FOR UPDATE
  ) e
  WHERE (SELECT count(*) FROM settled) >= 0
),
turn AS MATERIALIZED (
  SELECT s.app_id, s.mode, s.at, s.taken, s.gone, row_number() OVER (PARTITION BY s.app_id, s.mode ORDER BY s.at, s.ord) AS place
  FROM judged j JOIN step s ON s.app_id = j.app_id AND s.mode = j.mode AND s.url = j.url
),
standing AS (
  SELECT app_id, mode, enabled, failing_since, disabled_reason, updated_at, 0::bigint AS place FROM judged
  UNION ALL
  SELECT e.app_id, e.mode, e.enabled AND o.outcome IS NULL,
    CASE WHEN t.taken THEN NULL WHEN o.counts THEN coalesce(e.failing_since, t.at) ELSE e.failing_since END,
    CASE WHEN e.enabled AND o.outcome IS NOT NULL THEN o.outcome ELSE e.disabled_reason END,
    CASE WHEN e.enabled AND o.outcome IS NOT NULL THEN t.at ELSE e.updated_at END, t.place
  FROM standing e JOIN turn t ON t.app_id = e.app_id AND t.mode = e.mode AND t.place = e.place + 1
  CROSS JOIN LATERAL (
    SELECT NOT t.taken AND e.updated_at <= t.at AS counts, CASE
      WHEN t.taken OR e.updated_at > t.at THEN NULL
      WHEN t.gone THEN 'gone'
      WHEN e.failing_since + interval '${FAILING_MS} milliseconds' <= t.at THEN 'failing'
    END AS outcome
  ) o
),
disabled AS (
  UPDATE webhook_endpoints e SET enabled = s.enabled, failing_since = s.failing_since, disabled_reason = s.disabled_reason, updated_at = s.updated_at
  FROM (SELECT DISTINCT ON (app_id, mode) * FROM standing ORDER BY app_id, mode, place DESC) s
  WHERE e.app_id = s.app_id AND e.mode = s.mode${own("e.app_id")}
)`

/**
 * The same on Citus, for attempts of one tenant, the last parameter. Returns which attempts must be noted, and whether the
 * statement must be repeated. Citus delegates no INSERT of a CTE to another server.
 */
export const settleAttemptsSql = `${settling},${judging}
SELECT (SELECT coalesce(array_agg(ord::int), '{}') FROM settled) AS settled,
  (SELECT count(*) FROM locked) <> (SELECT count(*) FROM ended) + (SELECT count(*) FROM put_off) AS "isMoved"`

/** The same for named endpoints. */
export const settleNamedAttemptsSql = ofNamedEndpoints(settleAttemptsSql)

/** Notes attempts of one tenant, $1: delivery, time, duration, status and excerpt of each. */
export const noteAttemptsSql = `
INSERT INTO delivery_attempts (app_id, delivery_id, at, duration_ms, status, excerpt)
SELECT $1::text, a.id, a.at, a.duration_ms, a.answered, a.excerpt
FROM unnest($2::text[], $3::timestamptz[], $4::int[], $5::int[], $6::text[]) AS a(id, at, duration_ms, answered, excerpt)`
