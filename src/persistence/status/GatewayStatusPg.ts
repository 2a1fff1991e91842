import { Clock, Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type Instant, iso } from "../../domain/Instant.ts"
import { SHOWN_FAILING_MS } from "../../domain/WebhookEndpoint.ts"
import { AuditLog } from "../../services/ports/AuditLog.ts"
import {
  COUNTED_AT_MOST,
  FailingEndpoint,
  FloatTotal,
  GatewayStatus,
  IndebtedTenant,
  IntegrityCheck,
  ParkedTenant,
  QueueBacklog
} from "../../services/ports/GatewayStatus.ts"
import { EveryTenant } from "../cluster/EveryTenant.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import type { TenantFilter } from "../connection/TenantFilter.ts"
import { APPLICATION_NAME } from "../Database.ts"
import { readDatabaseStanding } from "../schema/DatabaseStanding.ts"
import { RuntimeRole } from "../schema/RuntimeRole.ts"
import { clockStandings } from "./ClockWatchPg.ts"
import { openWorkStatus } from "./OpenWorkStatus.ts"
import { allFloats, allQueues, byText } from "./StatusTotals.ts"

const queues = rowsOf(Schema.Struct({ ...QueueBacklog.fields, oldestAt: Schema.NullOr(Moment) }))
const numbers = rowsOf(Schema.Struct({ count: Schema.Number }))
const totals = rowsOf(FloatTotal)
const checks = rowsOf(Schema.Struct({ ...IntegrityCheck.fields, at: Moment }))
const names = rowsOf(Schema.Struct({ name: Schema.String }))
const states = rowsOf(Schema.Struct({ state: Schema.String, count: Schema.Number }))
const parkedTenants = rowsOf(ParkedTenant)
const owingTenants = rowsOf(IndebtedTenant)
const failingEndpoints = rowsOf(Schema.Struct({ ...FailingEndpoint.fields, since: Moment }))
/**
 * GatewayStatus on PostgreSQL. It owns the table integrity_checks, where a conditional upsert keeps the newest result. All else it reads without a lock, through
 * partial indexes that hold open work and nothing else.
 */
export const GatewayStatusPg = Layer.effect(
  GatewayStatus,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const everyTenant = yield* EveryTenant
    const { head: auditHead } = yield* AuditLog

    const { byAccount, open, reviews, unanswered } = openWorkStatus(sql, everyTenant)

    const failingFor = (now: Instant, forMs: number, of: TenantFilter) => sql`
      FROM webhook_endpoints WHERE enabled AND failing_since IS NOT NULL AND failing_since <= ${iso(now - forMs)}::timestamptz ${of("app_id")}`

    // The oldest by each endpoint's own queue, as they are claimed: what waits for a disabled endpoint is late for nobody.
    const outbox = everyTenant.sweep((of) =>
      queues(sql`
      SELECT (SELECT count(*)::int FROM (SELECT 1 FROM due_deliveries WHERE true ${of("app_id")} LIMIT ${COUNTED_AT_MOST}) d) AS due,
        (SELECT count(*)::int FROM (SELECT 1 FROM deliveries WHERE parked ${of("app_id")} LIMIT ${COUNTED_AT_MOST}) p) AS parked,
        (SELECT min(first.next_attempt_at) FROM webhook_endpoints e CROSS JOIN LATERAL (
          SELECT d.next_attempt_at FROM due_deliveries d WHERE d.app_id = e.app_id AND d.mode = e.mode ${of("d.app_id")}
          ORDER BY d.next_attempt_at LIMIT 1) first WHERE e.enabled ${of("e.app_id")}) AS "oldestAt"`)
    )

    const inbox = queues(sql`
      SELECT (SELECT count(*)::int FROM (SELECT 1 FROM provider_inbox WHERE status = 'due' LIMIT ${COUNTED_AT_MOST}) d) AS due,
        (SELECT count(*)::int FROM (SELECT 1 FROM provider_inbox WHERE status = 'parked' LIMIT ${COUNTED_AT_MOST}) p) AS parked,
        (SELECT next_look_at FROM provider_inbox WHERE status = 'due' ORDER BY next_look_at LIMIT 1) AS "oldestAt"`)

    const floats = everyTenant.read((of) =>
      totals(sql`
      SELECT mode, currency, sum(available_minor)::bigint AS available, sum(reserved_minor)::bigint AS reserved,
        sum(receivable_minor)::bigint AS receivable
      FROM float_positions WHERE true ${of("app_id")} GROUP BY mode, currency ORDER BY mode, currency`)
    )

    const connections = states(sql`
      SELECT coalesce(state, 'unknown') AS state, count(*)::int AS count FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = ${APPLICATION_NAME} GROUP BY 1 ORDER BY 1`)

    const read = Effect.gen(function* () {
      const at = yield* Clock.currentTimeMillis
      const failing = yield* everyTenant.read((of) =>
        numbers(sql`SELECT count(*)::int AS count ${failingFor(at, SHOWN_FAILING_MS, of)}`)
      )
      const [receiving] = yield* inbox
      const [clock] = yield* clockStandings(
        sql`SELECT doubt, doubted_at AS "doubtedAt", trusted_until AS "trustedUntil" FROM clock_watch`
      )
      return {
        at,
        open: yield* open(at),
        reviews: yield* reviews(at),
        endpointsFailing: failing.rows.reduce((sum, { count }) => sum + count, 0),
        outbox: allQueues((yield* outbox).rows),
        inbox: receiving ?? allQueues([]),
        floats: allFloats((yield* floats).rows),
        checks: yield* checks(sql`SELECT name, subject, at, differences FROM integrity_checks ORDER BY name, subject`),
        unparted: yield* defaultPartitionsInUse(sql, everyTenant),
        auditHead: yield* auditHead,
        clock: clock ?? { doubt: null, doubtedAt: null, trustedUntil: null },
        connections: Object.fromEntries((yield* connections).map(({ count, state }) => [state, count])),
        database: yield* readDatabaseStanding(sql, everyTenant),
        silentServers: yield* everyTenant.silentServers
      }
    }).pipe(Effect.orDie)

    const tenants = Effect.fnUntraced(function* (limit: number, failingForMs: number = SHOWN_FAILING_MS) {
      const parked = yield* everyTenant.sweep((of) =>
        parkedTenants(sql`
        SELECT p.app_id AS "appId", p.mode, p.parked,
          CASE WHEN e.enabled THEN 'enabled' ELSE coalesce(e.disabled_reason, 'disabled') END AS endpoint
        FROM (
          SELECT d.app_id, d.mode, count(*)::int AS parked
          FROM (SELECT app_id, mode FROM deliveries WHERE parked ${of("app_id")} LIMIT ${COUNTED_AT_MOST}) d GROUP BY 1, 2
        ) p LEFT JOIN webhook_endpoints e ON e.app_id = p.app_id AND e.mode = p.mode ${of("e.app_id")}
        ORDER BY p.parked DESC, 1, 2 LIMIT ${limit}`)
      )
      const owing = yield* everyTenant.read((of) =>
        owingTenants(sql`
        SELECT app_id AS "appId", mode, currency, receivable_minor AS receivable FROM float_positions
        WHERE receivable_minor > 0 ${of("app_id")} ORDER BY 1, 2, 3 LIMIT ${limit}`)
      )
      const now = yield* Clock.currentTimeMillis
      const failing = yield* everyTenant.read((of) =>
        failingEndpoints(sql`
        SELECT app_id AS "appId", mode, failing_since AS since ${failingFor(now, failingForMs, of)}
        ORDER BY failing_since, 1, 2 LIMIT ${limit}`)
      )
      return {
        parked: parked.rows.toSorted((one, other) => other.parked - one.parked).slice(0, limit),
        owing: owing.rows.toSorted((one, other) => byText(one.appId, other.appId)).slice(0, limit),
        failing: failing.rows.toSorted((one, other) => one.since - other.since).slice(0, limit)
      }
    }, Effect.orDie)

    const recordCheck = ({ at, differences, name, subject }: IntegrityCheck) =>
      sql`
        INSERT INTO integrity_checks (name, subject, at, differences) VALUES (${name}, ${subject}, ${iso(at)}::timestamptz, ${differences})
        ON CONFLICT (name, subject) DO UPDATE SET at = EXCLUDED.at, differences = EXCLUDED.differences
        WHERE integrity_checks.at <= EXCLUDED.at`.pipe(Effect.asVoid, Effect.orDie)

    return GatewayStatus.of({ read, byAccount, protection: RuntimeRole.protection(sql), unanswered, tenants, recordCheck })
  })
)

/** The tables whose default partitions hold something. */
const defaultPartitionsInUse = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, everyTenant: EveryTenant["Service"]) {
  const found = yield* everyTenant.sweep((of) =>
    names(sql`
      SELECT t.name FROM (VALUES
        ('journal', EXISTS (SELECT 1 FROM journal_default WHERE true ${of("app_id")})),
        ('events', EXISTS (SELECT 1 FROM events_default WHERE true ${of("app_id")})),
        ('deliveries', EXISTS (SELECT 1 FROM deliveries_default WHERE true ${of("app_id")})),
        ('delivery_attempts', EXISTS (SELECT 1 FROM delivery_attempts_default WHERE true ${of("app_id")}))
      ) AS t(name, has_rows) WHERE t.has_rows`)
  )
  const used = new Set(found.rows.map(({ name }) => name))
  return parted.filter((name) => used.has(name))
})

const parted = ["journal", "events", "deliveries", "delivery_attempts"]
