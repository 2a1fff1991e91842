import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { DatabaseStanding, PartitionsAhead } from "../services/ports/DatabaseStanding.ts"
import { readCommitSettings } from "./CommitSettings.ts"
import type { EveryTenant } from "./EveryTenant.ts"
import { Migrations } from "./Migrations.ts"
import { rowsOf } from "./Rows.ts"

const { commits: _, partitions: __, schema: ___, ...columns } = DatabaseStanding.fields
const servers = rowsOf(Schema.Struct(columns))
const tables = rowsOf(PartitionsAhead)

/**
 * What the server itself is short of. Every role may read it but for the lag of standbys, which is null to a role without
 * `pg_read_all_stats`.
 */
export const readDatabaseStanding = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, everyTenant: EveryTenant["Service"]) {
  const [server] = yield* servers(sql`
    SELECT pg_database_size(current_database())::float8 AS "sizeBytes",
      (SELECT sum(numbackends)::int FROM pg_stat_database) AS connections,
      current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS "connectionsLimit",
      (SELECT count(*)::int FROM pg_stat_replication) AS standbys,
      (SELECT max(extract(epoch FROM replay_lag))::float8 FROM pg_stat_replication) AS "lagSeconds"`)
  if (server === undefined) return yield* Effect.die(new Error("the server said nothing of itself"))
  // A table that has lost all of its months is there with 0: the worst must not look like nothing.
  const partitions = yield* tables(sql`
    SELECT p.parent AS name, coalesce(extract(epoch FROM max(t.to_at) - now()), 0)::float8 AS "aheadSeconds"
    FROM (VALUES ('journal'), ('events'), ('deliveries'), ('delivery_attempts')) AS p(parent)
    LEFT JOIN month_partitions t ON t.parent = p.parent GROUP BY p.parent ORDER BY p.parent`)
  const { newer, underWay } = yield* Effect.orDie(Migrations.standing(sql))
  const commits = yield* readCommitSettings(sql, everyTenant)
  return { ...server, commits, partitions, schema: { newer, underWay } } satisfies DatabaseStanding
})
