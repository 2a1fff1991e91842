import { Clock, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type Instant, iso } from "../domain/Instant.ts"
import { SHOWN_FAILING_MS } from "../domain/WebhookEndpoint.ts"
import { AuditLog } from "../services/ports/AuditLog.ts"
import {
  type AgeBand,
  COUNTED_AT_MOST,
  FailingEndpoint,
  FloatTotal,
  GatewayStatus,
  IndebtedTenant,
  IntegrityCheck,
  OpenGroup,
  ParkedTenant,
  QueueBacklog,
  UnansweredTransaction
} from "../services/ports/GatewayStatus.ts"
import { APPLICATION_NAME } from "./Database.ts"
import { readDatabaseStanding } from "./DatabaseStanding.ts"
import { Moment, rowsOf } from "./Rows.ts"
import { RuntimeRole } from "./RuntimeRole.ts"

const MINUTE_MS = 60_000
const bands: ReadonlyArray<readonly [typeof AgeBand.Type, number]> = [
  ["1m", MINUTE_MS],
  ["10m", 10 * MINUTE_MS],
  ["1h", 60 * MINUTE_MS],
  ["24h", 24 * 60 * MINUTE_MS]
]

const groups = rowsOf(Schema.Struct({ ...OpenGroup.fields, oldestAt: Moment, oldestUnknownAt: Schema.NullOr(Moment) }))
const queues = rowsOf(Schema.Struct({ ...QueueBacklog.fields, oldestAt: Schema.NullOr(Moment) }))
const counts = rowsOf(Schema.Struct({ count: Schema.Number, acknowledged: Schema.Number, oldestAt: Schema.NullOr(Moment) }))
const numbers = rowsOf(Schema.Struct({ count: Schema.Number }))
const totals = rowsOf(FloatTotal)
const checks = rowsOf(Schema.Struct({ ...IntegrityCheck.fields, at: Moment }))
const names = rowsOf(Schema.Struct({ name: Schema.String }))
const states = rowsOf(Schema.Struct({ state: Schema.String, count: Schema.Number }))
const parkedTenants = rowsOf(ParkedTenant)
const owingTenants = rowsOf(IndebtedTenant)
const failingEndpoints = rowsOf(Schema.Struct({ ...FailingEndpoint.fields, since: Moment }))
const unansweredRows = rowsOf(
  Schema.Struct({
    ...UnansweredTransaction.fields,
    createdAt: Moment,
    heardAt: Moment,
    acknowledgedUntil: Schema.NullOr(Moment)
  })
)

/**
 * GatewayStatus on PostgreSQL. It owns the table integrity_checks, where a conditional upsert keeps the newest result. All else it reads without a lock, through
 * partial indexes that hold open work and nothing else.
 */
export const GatewayStatusPg = Layer.effect(
  GatewayStatus,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { head: auditHead } = yield* AuditLog

    const openRows = sql`
      SELECT t.app_id, t.reference, t.kind, t.mode, t.provider, t.created_at,
        CASE WHEN w.acknowledged_in_review = w.needs_review THEN w.acknowledged_until END AS rests_until
      FROM open_work w JOIN transactions t ON t.app_id = w.app_id AND t.reference = w.reference
      WHERE w.is_open ORDER BY w.created_at LIMIT ${COUNTED_AT_MOST}`
    const lastLine = sql`
      SELECT h.fact, h.at, h.note FROM transaction_history h
      -- Nothing is told of a transaction before it is there; a day is for clocks that differ. Older partitions are not looked into.
      WHERE h.app_id = o.app_id AND h.reference = o.reference AND h.at >= o.created_at - interval '1 day' ORDER BY h.line DESC LIMIT 1`
    const isUnknown = sql`l.fact IN ('Unknown', 'NotFound')`

    const open = (now: Instant) =>
      groups(sql`
        WITH o AS MATERIALIZED (${openRows}),
        band AS (
          SELECT b.age, b.place, ${iso(now)}::timestamptz - b.ms * interval '1 millisecond' AS since
          FROM unnest(${bands.map(([age]) => age)}::text[], ${bands.map(([, ms]) => ms)}::bigint[]) WITH ORDINALITY AS b(age, ms, place)
        ),
        aged AS (
          SELECT o.*, coalesce((SELECT b.age FROM band b WHERE o.created_at > b.since ORDER BY b.place LIMIT 1), 'older') AS age FROM o
        )
        SELECT o.kind, o.mode, o.provider, o.age, count(*)::int AS count, (count(*) FILTER (WHERE ${isUnknown}))::int AS unknown,
          (count(*) FILTER (WHERE o.rests_until > ${iso(now)}::timestamptz))::int AS acknowledged,
          min(o.created_at) AS "oldestAt",
          min(o.created_at) FILTER (WHERE ${isUnknown} AND (o.rests_until > ${iso(now)}::timestamptz) IS NOT TRUE) AS "oldestUnknownAt"
        FROM aged o LEFT JOIN LATERAL (${lastLine}) l ON true
        GROUP BY o.kind, o.mode, o.provider, o.age ORDER BY 1, 2, 3, min(o.created_at)`)

    const reviews = (now: Instant) =>
      counts(sql`
        SELECT count(*)::int AS count, min(r.created_at) AS "oldestAt",
          (count(*) FILTER (WHERE r.acknowledged_in_review AND r.acknowledged_until > ${iso(now)}::timestamptz))::int AS acknowledged
        FROM (
          SELECT created_at, acknowledged_until, acknowledged_in_review FROM open_work
          WHERE needs_review ORDER BY created_at LIMIT ${COUNTED_AT_MOST}
        ) r`)

    const failingFor = (now: Instant, forMs: number) => sql`
      FROM webhook_endpoints WHERE enabled AND failing_since IS NOT NULL AND failing_since <= ${iso(now - forMs)}::timestamptz`

    // The oldest by each endpoint's own queue, as they are claimed: what waits for a disabled endpoint is late for nobody.
    const outbox = queues(sql`
      SELECT (SELECT count(*)::int FROM (SELECT FROM due_deliveries LIMIT ${COUNTED_AT_MOST}) d) AS due,
        (SELECT count(*)::int FROM (SELECT FROM deliveries WHERE parked LIMIT ${COUNTED_AT_MOST}) p) AS parked,
        (SELECT min(first.next_attempt_at) FROM webhook_endpoints e CROSS JOIN LATERAL (
          SELECT d.next_attempt_at FROM due_deliveries d WHERE d.app_id = e.app_id AND d.mode = e.mode
          ORDER BY d.next_attempt_at LIMIT 1) first WHERE e.enabled) AS "oldestAt"`)

    const inbox = queues(sql`
      SELECT (SELECT count(*)::int FROM (SELECT FROM provider_inbox WHERE status = 'due' LIMIT ${COUNTED_AT_MOST}) d) AS due,
        (SELECT count(*)::int FROM (SELECT FROM provider_inbox WHERE status = 'parked' LIMIT ${COUNTED_AT_MOST}) p) AS parked,
        (SELECT next_look_at FROM provider_inbox WHERE status = 'due' ORDER BY next_look_at LIMIT 1) AS "oldestAt"`)

    const floats = totals(sql`
      SELECT mode, currency, sum(available_minor)::bigint AS available, sum(reserved_minor)::bigint AS reserved,
        sum(receivable_minor)::bigint AS receivable
      FROM float_positions GROUP BY mode, currency ORDER BY mode, currency`)

    const connections = states(sql`
      SELECT coalesce(state, 'unknown') AS state, count(*)::int AS count FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = ${APPLICATION_NAME} GROUP BY 1 ORDER BY 1`)

    const read = Effect.gen(function* () {
      const at = yield* Clock.currentTimeMillis
      const [review] = yield* reviews(at)
      const [failing] = yield* numbers(sql`SELECT count(*)::int AS count ${failingFor(at, SHOWN_FAILING_MS)}`)
      const [sending] = yield* outbox
      const [receiving] = yield* inbox
      return {
        at,
        open: yield* open(at),
        reviews: review ?? { count: 0, acknowledged: 0, oldestAt: null },
        endpointsFailing: failing?.count ?? 0,
        outbox: sending ?? empty,
        inbox: receiving ?? empty,
        floats: yield* floats,
        checks: yield* checks(sql`SELECT name, subject, at, differences FROM integrity_checks ORDER BY name, subject`),
        unparted: (yield* defaultPartitionsInUse(sql)).map(({ name }) => name),
        auditHead: yield* auditHead,
        connections: Object.fromEntries((yield* connections).map(({ count, state }) => [state, count])),
        database: yield* readDatabaseStanding(sql)
      }
    })

    const unanswered = (limit: number) =>
      unansweredRows(sql`
        WITH o AS MATERIALIZED (${openRows})
        SELECT o.reference, o.app_id AS "appId", o.kind, o.mode, o.provider, o.created_at AS "createdAt", l.at AS "heardAt", l.note,
          o.rests_until AS "acknowledgedUntil"
        FROM o CROSS JOIN LATERAL (${lastLine}) l WHERE ${isUnknown} ORDER BY o.created_at LIMIT ${limit}`)

    const tenants = Effect.fnUntraced(function* (limit: number, failingForMs: number = SHOWN_FAILING_MS) {
      const parked = yield* parkedTenants(sql`
        SELECT p.app_id AS "appId", p.mode, p.parked,
          CASE WHEN e.enabled THEN 'enabled' ELSE coalesce(e.disabled_reason, 'disabled') END AS endpoint
        FROM (
          SELECT d.app_id, d.mode, count(*)::int AS parked
          FROM (SELECT app_id, mode FROM deliveries WHERE parked LIMIT ${COUNTED_AT_MOST}) d GROUP BY 1, 2
        ) p LEFT JOIN webhook_endpoints e ON e.app_id = p.app_id AND e.mode = p.mode
        ORDER BY p.parked DESC, 1, 2 LIMIT ${limit}`)
      const owing = yield* owingTenants(sql`
        SELECT app_id AS "appId", mode, currency, receivable_minor AS receivable FROM float_positions
        WHERE receivable_minor > 0 ORDER BY 1, 2, 3 LIMIT ${limit}`)
      const failing = yield* failingEndpoints(sql`
        SELECT app_id AS "appId", mode, failing_since AS since ${failingFor(yield* Clock.currentTimeMillis, failingForMs)}
        ORDER BY failing_since, 1, 2 LIMIT ${limit}`)
      return { parked, owing, failing }
    })

    const recordCheck = ({ at, differences, name, subject }: IntegrityCheck) =>
      sql`
        INSERT INTO integrity_checks (name, subject, at, differences) VALUES (${name}, ${subject}, ${iso(at)}::timestamptz, ${differences})
        ON CONFLICT (name, subject) DO UPDATE SET at = EXCLUDED.at, differences = EXCLUDED.differences
        WHERE integrity_checks.at <= EXCLUDED.at`.pipe(Effect.asVoid, Effect.orDie)

    return GatewayStatus.of({ read, protection: RuntimeRole.protection(sql), unanswered, tenants, recordCheck })
  })
)

/** What the default partitions hold. */
const defaultPartitionsInUse = (sql: SqlClient.SqlClient) =>
  names(sql`
    SELECT t.name FROM (VALUES
      ('journal', EXISTS (SELECT FROM journal_default)),
      ('events', EXISTS (SELECT FROM events_default)),
      ('deliveries', EXISTS (SELECT FROM deliveries_default)),
      ('delivery_attempts', EXISTS (SELECT FROM delivery_attempts_default))
    ) AS t(name, has_rows) WHERE t.has_rows`)

const empty: QueueBacklog = { due: 0, parked: 0, oldestAt: null }
