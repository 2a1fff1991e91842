import { Clock, Effect, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import type { AppId } from "../../domain/Ids.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import { DEFAULT_ENDPOINT, SLOW_MS, shownFailingMs } from "../../domain/WebhookEndpoint.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { AuditLog } from "../../services/ports/AuditLog.ts"
import {
  AccountWork,
  type AgeBand,
  COUNTED_AT_MOST,
  ComparisonResult,
  FailingEndpoint,
  FloatTotal,
  GatewayStatus,
  IndebtedTenant,
  OpenGroup,
  ParkedTenant,
  QueueBacklog,
  REFUSED_WITHIN_MS,
  TenantFloat,
  UnansweredTransaction
} from "../../services/ports/GatewayStatus.ts"
import { PeriodCounts } from "../../services/ports/PeriodCounts.ts"
import { Policy } from "../../services/ports/Policy.ts"
import { EveryTenant } from "../cluster/EveryTenant.ts"
import { ofNamedEndpoints } from "../connection/EndpointTables.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import type { TenantFilter } from "../connection/TenantFilter.ts"
import { APPLICATION_NAME } from "../Database.ts"
import { RuntimeRole } from "../schema/RuntimeRole.ts"
import { NoteAlone } from "../transactions/StoredNote.ts"
import { clockStates } from "./ClockWatchPg.ts"
import { readDatabaseState } from "./DatabaseStatePg.ts"
import { allAccounts, allFloats, allOpen, allQueues, allReviews, byText } from "./StatusTotals.ts"

const queues = rowsOf(Schema.Struct({ ...QueueBacklog.fields, oldestAt: Schema.NullOr(Moment) }))
const numbers = rowsOf(Schema.Struct({ count: Schema.Number }))
const totals = rowsOf(FloatTotal)
const tenantTotals = rowsOf(TenantFloat)
const checks = rowsOf(Schema.Struct({ ...ComparisonResult.fields, at: Moment }))
const names = rowsOf(Schema.Struct({ name: Schema.String }))
const states = rowsOf(Schema.Struct({ state: Schema.String, count: Schema.Number }))
const parkedTenants = rowsOf(ParkedTenant)
const owingTenants = rowsOf(IndebtedTenant)
const failingEndpoints = rowsOf(Schema.Struct({ ...FailingEndpoint.fields, since: Moment }))

// A float's columns hold a debt in full, also when later income has covered it (`positionOf`).
const AVAILABLE = "greatest(available_minor - receivable_minor, 0)"
const OWED = "greatest(receivable_minor - available_minor, 0)"

/**
 * GatewayStatus on PostgreSQL. It owns the table integrity_checks, where a conditional upsert keeps the newest result.
 * Everything else it reads without locks, through partial indexes that contain only open work.
 */
export const GatewayStatusPg = layerOf(GatewayStatus)(function* () {
  const sql = yield* SqlClient.SqlClient
  const everyTenant = yield* EveryTenant
  const { head: auditHead } = yield* AuditLog
  const periods = yield* PeriodCounts
  const failingForMs = shownFailingMs((yield* Policy).webhookScheduleMs)

  const { byAccount, firstPolls, open, reviews, unanswered } = openWorkStatus(sql, everyTenant)

  const ofDefault = sql.literal(`'${DEFAULT_ENDPOINT}'`)
  const failingEndpointsAt = (now: Instant, of: TenantFilter) => {
    const failing = sql`enabled AND failing_since IS NOT NULL AND failing_since <= ${iso(now - failingForMs)}::timestamptz ${of("app_id")}`
    return sql`FROM (
        SELECT app_id, mode, ${ofDefault} AS name, failing_since FROM webhook_endpoints WHERE ${failing}
        UNION ALL SELECT app_id, mode, name, failing_since FROM named_endpoints WHERE ${failing}) e`
  }

  /** Enabled endpoints with their first due delivery, and whether one is being sent to them. */
  const firstDue = (of: TenantFilter, table: (text: string) => Statement.Fragment) => sql`
      ${table("webhook_endpoints")} e CROSS JOIN LATERAL (
        SELECT d.next_attempt_at FROM ${table("due_deliveries")} d WHERE d.app_id = e.app_id AND d.${table("mode")} = e.${table("mode")} ${of("d.app_id")}
        ORDER BY d.next_attempt_at LIMIT 1) first
      CROSS JOIN LATERAL (
        SELECT EXISTS (SELECT 1 FROM ${table("webhook_flights")} f, unnest(f.leased_until) AS until
          WHERE f.app_id = e.app_id AND f.${table("mode")} = e.${table("mode")} AND until > clock_timestamp() ${of("f.app_id")}) AS "isAttempted") flight
      WHERE e.enabled ${of("e.app_id")}`
  const named = (text: string) => sql.literal(ofNamedEndpoints(text))

  const oldest = (of: TenantFilter, table: (text: string) => Statement.Fragment) =>
    sql`(SELECT min(first.next_attempt_at) FROM ${firstDue(of, table)} AND NOT flight."isAttempted")`

  const slow = (now: Instant) => {
    const since = sql`AND flight."isAttempted" AND first.next_attempt_at < ${iso(now - SLOW_MS)}::timestamptz`
    return everyTenant.sweep((of) =>
      numbers(sql`SELECT (SELECT count(*)::int FROM ${firstDue(of, sql.literal)} ${since})
          + (SELECT count(*)::int FROM ${firstDue(of, named)} ${since}) AS count`)
    )
  }

  // The oldest item in each endpoint's own queue, in claim order: a delivery is not late while its endpoint is disabled or slow.
  const outbox = everyTenant.sweep((of) =>
    queues(sql`
      SELECT (SELECT count(*)::int FROM (
          SELECT 1 FROM due_deliveries WHERE true ${of("app_id")} UNION ALL SELECT 1 FROM named_due_deliveries WHERE true ${of("app_id")}
          LIMIT ${COUNTED_AT_MOST}) d) AS due,
        (SELECT count(*)::int FROM (
          SELECT 1 FROM deliveries WHERE parked ${of("app_id")} UNION ALL SELECT 1 FROM named_deliveries WHERE parked ${of("app_id")}
          LIMIT ${COUNTED_AT_MOST}) p) AS parked,
        least(${oldest(of, sql.literal)}, ${oldest(of, named)}) AS "oldestAt"`)
  )

  const floats = everyTenant.read((of) =>
    totals(sql`
      SELECT mode, currency, sum(${sql.literal(AVAILABLE)})::bigint AS available, sum(reserved_minor)::bigint AS reserved,
        sum(${sql.literal(OWED)})::bigint AS receivable
      FROM float_positions WHERE true ${of("app_id")} GROUP BY mode, currency ORDER BY mode, currency`)
  )

  const connections = states(sql`
      SELECT coalesce(state, 'unknown') AS state, count(*)::int AS count FROM pg_stat_activity
      WHERE datname = current_database() AND application_name = ${APPLICATION_NAME} GROUP BY 1 ORDER BY 1`)

  const stateOfEndpoint = sql.literal(
    "CASE WHEN e.enabled THEN 'enabled' ELSE coalesce(e.disabled_reason, 'disabled') END AS endpoint"
  )

  return {
    byAccount,
    protection: RuntimeRole.protection(sql),
    tenantFloats: tenantFloatsOn(sql, everyTenant),
    unanswered,

    read: Effect.gen(function* () {
      const at = yield* Clock.currentTimeMillis
      const failing = yield* everyTenant.read((of) => numbers(sql`SELECT count(*)::int AS count ${failingEndpointsAt(at, of)}`))
      const counted = yield* floats
      const [receiving] = yield* inboxOn(sql)
      const [clock] = yield* clockStates(
        sql`SELECT doubt, doubted_at AS "doubtedAt", trusted_until AS "trustedUntil" FROM clock_watch`
      )
      return {
        at,
        open: yield* open(at),
        reviews: yield* reviews(at),
        endpointsSlow: (yield* slow(at)).rows.reduce((sum, { count }) => sum + count, 0),
        endpointsFailing: failing.rows.reduce((sum, { count }) => sum + count, 0),
        pollsDueSince: (yield* firstPolls(at)).rows.reduce<Instant | null>(
          (first, { dueAt }) => Math.min(first ?? dueAt, dueAt),
          null
        ),
        outbox: allQueues((yield* outbox).rows),
        inbox: receiving ?? allQueues([]),
        floats: allFloats(counted.rows),
        floatsAreWhole: counted.isWhole,
        callbacksRefused: (yield* periods.callbacks(at - REFUSED_WITHIN_MS)).flatMap(({ outcome, ...one }) =>
          outcome === "refused" ? [one] : []
        ),
        walletRefusals: yield* periods.walletRefusals(at - REFUSED_WITHIN_MS),
        checks: yield* checks(sql`SELECT name, subject, at, differences FROM integrity_checks ORDER BY name, subject`),
        unparted: yield* defaultPartitionsInUse(sql, everyTenant),
        auditHead: yield* auditHead,
        clock: clock ?? { doubt: null, doubtedAt: null, trustedUntil: null },
        connections: Object.fromEntries((yield* connections).map(({ count, state }) => [state, count])),
        database: yield* readDatabaseState(sql, everyTenant),
        silentServers: yield* everyTenant.silentServers
      }
    }).pipe(Effect.orDie),

    tenants: Effect.fnUntraced(function* (limit) {
      const parked = yield* everyTenant.sweep((of) =>
        parkedTenants(sql`
        SELECT p.app_id AS "appId", p.mode, ${ofDefault} AS name, p.parked, ${stateOfEndpoint}
        FROM (
          SELECT d.app_id, d.mode, count(*)::int AS parked
          FROM (SELECT app_id, mode FROM deliveries WHERE parked ${of("app_id")} LIMIT ${COUNTED_AT_MOST}) d GROUP BY 1, 2
        ) p LEFT JOIN webhook_endpoints e ON e.app_id = p.app_id AND e.mode = p.mode ${of("e.app_id")}
        UNION ALL
        SELECT p.app_id, p.mode, p.endpoint, p.parked, ${stateOfEndpoint}
        FROM (
          SELECT d.app_id, d.mode, d.endpoint, d.queue, count(*)::int AS parked
          FROM (SELECT app_id, mode, endpoint, queue FROM named_deliveries WHERE parked ${of("app_id")} LIMIT ${COUNTED_AT_MOST}) d GROUP BY 1, 2, 3, 4
        ) p LEFT JOIN named_endpoints e ON e.app_id = p.app_id AND e.queue = p.queue ${of("e.app_id")}
        ORDER BY parked DESC, 1, 2, 3 LIMIT ${limit}`)
      )
      const owing = yield* everyTenant.read((of) =>
        owingTenants(sql`
        SELECT app_id AS "appId", mode, currency, ${sql.literal(OWED)} AS receivable FROM float_positions
        WHERE receivable_minor > available_minor ${of("app_id")} ORDER BY 1, 2, 3 LIMIT ${limit}`)
      )
      const now = yield* Clock.currentTimeMillis
      const failing = yield* everyTenant.read((of) =>
        failingEndpoints(sql`
        SELECT app_id AS "appId", mode, name, failing_since AS since ${failingEndpointsAt(now, of)}
        ORDER BY failing_since, 1, 2, 3 LIMIT ${limit}`)
      )
      return {
        parked: parked.rows.toSorted((one, other) => other.parked - one.parked).slice(0, limit),
        owing: owing.rows.toSorted((one, other) => byText(one.appId, other.appId)).slice(0, limit),
        failing: failing.rows.toSorted((one, other) => one.since - other.since).slice(0, limit)
      }
    }, Effect.orDie),

    recordCheck: ({ at, differences, name, subject }) =>
      sql`
        INSERT INTO integrity_checks (name, subject, at, differences) VALUES (${name}, ${subject}, ${iso(at)}::timestamptz, ${differences})
        ON CONFLICT (name, subject) DO UPDATE SET at = EXCLUDED.at, differences = EXCLUDED.differences
        WHERE integrity_checks.at <= EXCLUDED.at`.pipe(Effect.asVoid, Effect.orDie)
  }
})

const inboxOn = (sql: SqlClient.SqlClient) =>
  queues(sql`
  SELECT (SELECT count(*)::int FROM (SELECT 1 FROM provider_inbox WHERE status = 'due' LIMIT ${COUNTED_AT_MOST}) d) AS due,
    (SELECT count(*)::int FROM (SELECT 1 FROM provider_inbox WHERE status = 'parked' LIMIT ${COUNTED_AT_MOST}) p) AS parked,
    (SELECT next_look_at FROM provider_inbox WHERE status = 'due' ORDER BY next_look_at LIMIT 1) AS "oldestAt"`)

const tenantFloatsOn = (sql: SqlClient.SqlClient, everyTenant: EveryTenant["Service"]) =>
  Effect.fnUntraced(function* (appIds: ReadonlyArray<AppId>) {
    const { rows } = yield* everyTenant.read((of) =>
      tenantTotals(sql`
        SELECT app_id AS "appId", mode, currency, ${sql.literal(AVAILABLE)} AS available, reserved_minor AS reserved,
          ${sql.literal(OWED)} AS receivable
        FROM float_positions WHERE app_id = ANY (${appIds}::text[]) ${of("app_id")} ORDER BY 1, 2, 3`)
    )
    return rows
  }, Effect.orDie)

/** The tables whose default partitions are not empty. */
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

const MINUTE_MS = 60_000
const bands: ReadonlyArray<readonly [typeof AgeBand.Type, number]> = [
  ["1m", MINUTE_MS],
  ["10m", 10 * MINUTE_MS],
  ["1h", 60 * MINUTE_MS],
  ["24h", 24 * 60 * MINUTE_MS]
]

const groups = rowsOf(Schema.Struct({ ...OpenGroup.fields, oldestAt: Moment, oldestUnknownAt: Schema.NullOr(Moment) }))
const accountRows = rowsOf(AccountWork)
/** The end of a page of open_work, by its key. */
const PlaceInWork = Schema.Struct({ appId: Schema.String, reference: Schema.String })
type PlaceInWork = typeof PlaceInWork.Type
const placesInWork = rowsOf(PlaceInWork)
const counts = rowsOf(Schema.Struct({ count: Schema.Number, acknowledged: Schema.Number, oldestAt: Schema.NullOr(Moment) }))
const firstDuePolls = rowsOf(Schema.Struct({ dueAt: Moment }))
const unansweredRows = rowsOf(
  Schema.Struct({
    ...UnansweredTransaction.fields,
    createdAt: Moment,
    heardAt: Moment,
    note: NoteAlone,
    acknowledgedUntil: Schema.NullOr(Moment)
  })
)

/** The part of `GatewayStatusPg` that reads open_work: what is open, what needs an operator, and what has no outcome. */
const openWorkStatus = (sql: SqlClient.SqlClient, everyTenant: EveryTenant["Service"]) => {
  const openRows = (of: TenantFilter) => sql`
      SELECT t.app_id, t.reference, t.kind, t.mode, t.provider, t.created_at,
        CASE WHEN w.acknowledged_in_review = w.needs_review THEN w.acknowledged_until END AS rests_until
      FROM open_work w JOIN transactions t ON t.app_id = w.app_id AND t.reference = w.reference
      WHERE w.is_open ${of("w.app_id")} ${of("t.app_id")} ORDER BY w.created_at LIMIT ${COUNTED_AT_MOST}`
  const lastLine = (of: TenantFilter) => sql`
      SELECT h.fact, h.at, h.note FROM transaction_history h
      -- There is no event of a transaction before it is there; a day is for clocks that differ. Older partitions are not looked into.
      WHERE h.app_id = o.app_id AND h.reference = o.reference AND h.at >= o.created_at - interval '1 day' ${of("h.app_id")} ORDER BY h.line DESC LIMIT 1`
  const isUnknown = sql`l.fact IN ('Unknown', 'NotFound')`

  const open = (now: Instant) =>
    Effect.map(
      everyTenant.sweep((of) =>
        groups(sql`
        WITH o AS MATERIALIZED (${openRows(of)}),
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
        FROM aged o LEFT JOIN LATERAL (${lastLine(of)}) l ON true
        GROUP BY o.kind, o.mode, o.provider, o.age ORDER BY 1, 2, 3, min(o.created_at)`)
      ),
      ({ rows }) => allOpen(rows)
    )

  const reviews = (now: Instant) =>
    Effect.map(
      everyTenant.sweep((of) =>
        counts(sql`
        SELECT count(*)::int AS count, min(r.created_at) AS "oldestAt",
          (count(*) FILTER (WHERE r.acknowledged_in_review AND r.acknowledged_until > ${iso(now)}::timestamptz))::int AS acknowledged
        FROM (
          SELECT created_at, acknowledged_until, acknowledged_in_review FROM open_work
          WHERE needs_review ${of("app_id")} ORDER BY created_at LIMIT ${COUNTED_AT_MOST}
        ) r`)
      ),
      ({ rows }) => allReviews(rows)
    )

  const unanswered = (limit: number) =>
    Effect.map(
      everyTenant.sweep((of) =>
        unansweredRows(sql`
        WITH o AS MATERIALIZED (${openRows(of)})
        SELECT o.reference, o.app_id AS "appId", o.kind, o.mode, o.provider, o.created_at AS "createdAt", l.at AS "heardAt", l.note,
          o.rests_until AS "acknowledgedUntil"
        FROM o CROSS JOIN LATERAL (${lastLine(of)}) l WHERE ${isUnknown} ORDER BY o.created_at LIMIT ${limit}`)
      ),
      ({ rows }) => rows.toSorted((one, other) => one.createdAt - other.createdAt).slice(0, limit)
    ).pipe(Effect.orDie)

  // The record's currency is that of the float, for exchanges and payouts too: the account is looked up by it.
  const accountsBetween = (of: TenantFilter, after: PlaceInWork, end: PlaceInWork | undefined) =>
    accountRows(sql`
        SELECT t.provider, t.mode, well_formed(t.record)->>'currency' AS currency, well_formed(t.record)->>'account' AS account,
          (count(*) FILTER (WHERE w.is_open))::int AS open, (count(*) FILTER (WHERE NOT w.is_open))::int AS followed
        FROM open_work w JOIN transactions t ON t.app_id = w.app_id AND t.reference = w.reference ${of("t.app_id")}
        WHERE (w.app_id, w.reference) > (${after.appId}, ${after.reference}) ${of("w.app_id")}
          ${end === undefined ? sql`` : sql`AND (w.app_id, w.reference) <= (${end.appId}, ${end.reference})`}
        GROUP BY 1, 2, 3, 4`)

  /** Page by page, so that no statement is long and no page has to be read again. */
  const accountPages = Effect.fnUntraced(function* (of: TenantFilter, rowsAtMost: number) {
    const pages: Array<ReadonlyArray<AccountWork>> = []
    let after: PlaceInWork = { appId: "", reference: "" }
    for (let left = rowsAtMost; left > 0; left -= COUNTED_AT_MOST) {
      const length = Math.min(COUNTED_AT_MOST, left)
      const [end] = yield* placesInWork(sql`
        SELECT w.app_id AS "appId", w.reference FROM open_work w WHERE (w.app_id, w.reference) > (${after.appId}, ${after.reference})
        ${of("w.app_id")} ORDER BY w.app_id, w.reference OFFSET ${length - 1} LIMIT 1`)
      pages.push(yield* accountsBetween(of, after, end))
      if (end === undefined) return [{ pages, isWhole: true }]
      after = end
    }
    return [{ pages, isWhole: false }]
  })

  const byAccount = (rowsAtMost: number) =>
    Effect.map(
      everyTenant.sweep((of) => accountPages(of, rowsAtMost)),
      ({ isWhole, rows }) => ({
        work: allAccounts(rows.flatMap(({ pages }) => pages.flat())),
        isWhole: isWhole && rows.every((shard) => shard.isWhole)
      })
    ).pipe(Effect.orDie)

  // A poll that is being made is leased.
  const firstPolls = (now: Instant) =>
    everyTenant.sweep((of) =>
      firstDuePolls(sql`
        SELECT next_poll_at AS "dueAt" FROM open_work
        WHERE is_open AND next_poll_at <= ${iso(now)}::timestamptz AND (lease_until IS NULL OR lease_until <= ${iso(now)}::timestamptz) ${of("app_id")}
        ORDER BY next_poll_at LIMIT 1`)
    )

  return { open, reviews, unanswered, byAccount, firstPolls }
}
