import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { ArchiveState, DatabaseState, PartitionsAhead } from "../../services/ports/DatabaseState.ts"
import { readCommitSettings } from "../cluster/CommitSettings.ts"
import type { EveryTenant } from "../cluster/EveryTenant.ts"
import { rowsOf } from "../connection/Rows.ts"
import { Migrations } from "../schema/Migrations.ts"

const { archive: _, commits: __, partitions: ___, schema: ____, ...columns } = DatabaseState.fields
const servers = rowsOf(Schema.Struct(columns))
const tables = rowsOf(PartitionsAhead)
const archives = rowsOf(ArchiveState)

/** An idle server's own writes, such as a checkpoint; a payment writes more. */
const IDLE_BYTES = 8_192

/** No row when nothing is archived. A segment's name is its timeline and its position in the log, in two parts. */
const readArchive = (sql: SqlClient.SqlClient) =>
  archives(sql`
  SELECT coalesce(a.last_failed_time > coalesce(a.last_archived_time, '-infinity'), false) AS "isFailing",
    CASE WHEN pg_current_wal_lsn() - ended.at > ${IDLE_BYTES}::numeric
      THEN greatest(extract(epoch FROM clock_timestamp() - coalesce(a.last_archived_time, a.stats_reset, pg_postmaster_start_time())), 0)
      ELSE 0 END::float8 AS "behindSeconds"
  FROM pg_stat_archiver a
  CROSS JOIN LATERAL (SELECT pg_size_bytes(current_setting('wal_segment_size'))::numeric AS bytes) AS segment
  CROSS JOIN LATERAL (SELECT '0/0'::pg_lsn + CASE WHEN a.last_archived_wal ~ '^[0-9A-F]{24}'
    THEN ('x' || substr(a.last_archived_wal, 9, 8))::bit(32)::bigint * 4294967296::numeric
      + (('x' || substr(a.last_archived_wal, 17, 8))::bit(32)::bigint + 1) * segment.bytes
    ELSE 0 END AS at) AS ended
  WHERE current_setting('archive_mode') <> 'off'`)

/**
 * A base backup has two connections, one of which streams, and ends when it is done. The state is null to a role without
 * `pg_read_all_stats`, which also sees standbys that are catching up.
 */
export const IS_STANDBY = "coalesce(state, 'streaming') = 'streaming' AND application_name <> 'pg_basebackup'"

/** The server's own limits. Every role may read them; the standbys' lag is null to a role without `pg_read_all_stats`. */
export const readDatabaseState = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, everyTenant: EveryTenant["Service"]) {
  const [server] = yield* servers(sql`
    SELECT pg_database_size(current_database())::float8 AS "sizeBytes",
      (SELECT sum(numbackends)::int FROM pg_stat_database) AS connections,
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS "connectionsLimit",
      (SELECT count(*)::int FROM pg_stat_replication WHERE ${sql.literal(IS_STANDBY)}) AS standbys,
      (SELECT max(extract(epoch FROM replay_lag))::float8 FROM pg_stat_replication WHERE ${sql.literal(IS_STANDBY)}) AS "lagSeconds"`)
  if (server === undefined) return yield* Effect.die(new Error("the server said nothing of itself"))
  // A table that has lost all its months is listed with 0: the worst case must not look like nothing.
  const partitions = yield* tables(sql`
    SELECT p.parent AS name, coalesce(extract(epoch FROM max(t.to_at) - now()), 0)::float8 AS "aheadSeconds"
    FROM (VALUES ('journal'), ('events'), ('deliveries'), ('delivery_attempts')) AS p(parent)
    LEFT JOIN month_partitions t ON t.parent = p.parent GROUP BY p.parent ORDER BY p.parent`)
  const { newer, underWay } = yield* Effect.orDie(Migrations.standing(sql))
  const commits = yield* readCommitSettings(sql, everyTenant)
  const [archive = null] = yield* readArchive(sql)
  return { ...server, archive, commits, partitions, schema: { newer, underWay } } satisfies DatabaseState
})
