import type * as PgConnection from "@effect/sql-pg/PgConnection"
import { Effect, Schema } from "effect"
import type { SqlError } from "effect/sql"
import { RAISED_WEAKNESS } from "./Durability.ts"

/** A server's facts about itself, from which the server to write to is chosen. */
export const ServerFacts = Schema.Struct({
  isStandby: Schema.Boolean,
  isReadOnly: Schema.Boolean,
  /**
   * Grows with each promotion. For a standby: of what it has received from its primary, possibly a little late. It may be null
   * there, and is never above the database's real timeline.
   */
  timeline: Schema.NullOr(Schema.Number),
  /** The same on all copies of a database, and on no other. */
  cluster: Schema.String,
  /** When its server process started. Distinguishes the servers of a cluster, and a server before and after a restart. */
  startedAt: Schema.String,
  /** `synchronous_standby_names`: the standbys whose confirmation commits wait for. */
  awaited: Schema.String,
  /** The names of the standbys that follow it now. */
  followers: Schema.Array(Schema.String),
  /** Why a crash could undo commits there; null when it cannot. */
  weakness: Schema.NullOr(Schema.String)
})
export type ServerFacts = typeof ServerFacts.Type

/**
 * A role without `pg_read_all_stats` sees only the name of a standby that is catching up, and not what a standby has received;
 * in that case the query uses what the standby has written to disk.
 */
const FACTS = `
  SELECT pg_is_in_recovery() AS "isStandby", current_setting('transaction_read_only')::boolean AS "isReadOnly",
    CASE WHEN pg_is_in_recovery() THEN greatest((SELECT timeline_id FROM pg_control_checkpoint()),
        (SELECT min_recovery_end_timeline FROM pg_control_recovery()), (SELECT received_tli FROM pg_stat_wal_receiver))
      ELSE ('x' || left(pg_walfile_name(pg_current_wal_lsn()), 8))::bit(32)::int END AS timeline,
    (SELECT system_identifier::text FROM pg_control_system()) AS cluster,
    pg_postmaster_start_time()::text AS "startedAt",
    current_setting('synchronous_standby_names') AS awaited,
    ARRAY(SELECT application_name FROM pg_stat_replication WHERE coalesce(state, 'streaming') = 'streaming') AS followers,
    ${RAISED_WEAKNESS} AS weakness`

const decode = Schema.decodeUnknownEffect(Schema.NonEmptyArray(ServerFacts))

/** Queried on this connection, whose session is raised to the required durability. */
export const serverFacts = (connection: PgConnection.PgConnection): Effect.Effect<ServerFacts, SqlError.SqlError> =>
  Effect.flatMap(connection.query(FACTS, [connection.processId], false), ({ rows }) =>
    Effect.map(Effect.orDie(decode(rows)), ([facts]) => facts)
  )

/** Whether enough standbys follow for commits to complete: those that `synchronous_standby_names` requires. */
export const commitsEnd = ({ awaited, followers }: Pick<ServerFacts, "awaited" | "followers">): boolean => {
  if (awaited.trim() === "") return true
  const [, count = "1", list = awaited] = /^\s*(?:(?:FIRST|ANY)\s+)?(\d+)\s*\((.*)\)\s*$/i.exec(awaited) ?? []
  const names = list.split(",").map((name) =>
    name
      .trim()
      .replace(/^"(.*)"$/, "$1")
      .toLowerCase()
  )
  const present = followers.filter((name) => names.includes("*") || names.includes(name.toLowerCase()))
  return present.length >= Number(count)
}
