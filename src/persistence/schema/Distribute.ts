import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { advisoryLocks } from "../connection/AdvisoryLocks.ts"
import { AnswerBoundMs } from "../connection/BoundedClient.ts"
import { DatabaseError } from "../connection/DatabaseError.ts"
import { auditHead, SHARED, tenantFunctions, tenantTables } from "../connection/DistributedTables.ts"
import { Distribution } from "../connection/Distribution.ts"
import { rowsOf } from "../connection/Rows.ts"
import { sessionSettings } from "../connection/SessionSettings.ts"
import { Migrations } from "./Migrations.ts"

/** Moving the rows of a gateway that has run for a while takes long; nothing else runs in the meantime. */
const STATEMENT_MS = 3_600_000
const ANSWER_MS = STATEMENT_MS + 3_000
/** How long a gateway's session waits for a lock. */
const { lock_timeout: LOCK_TIMEOUT } = sessionSettings
/**
 * Settings that sessions on workers need as well, because a session's settings do not reach them. A statement that is compiled
 * each time takes half a second of CPU time instead of a few milliseconds, and compilation starts once statistics say that
 * tables have grown.
 */
const OF_WORKERS = ["jit", "enable_seqscan"]
/** Commits on a worker must survive its crash, too. A stronger value is kept; commitsObstacle finds a role with another. */
const COMMITS = "synchronous_commit"
const IS_WEAK = `current_setting('${COMMITS}') NOT IN ('on', 'remote_apply')`

/** The tables and functions that are already distributed. */
const Division = Schema.Struct({ distributed: Schema.Array(Schema.String), delegated: Schema.Array(Schema.String) })
type Division = typeof Division.Type

/** The state in the catalogue. The shared windows are in place once they have their own shard on the coordinator. */
const State = Schema.Struct({
  isCoordinator: Schema.Boolean,
  hasCoordinatorNode: Schema.Boolean,
  workers: Schema.Number,
  coordinatorTakesShards: Schema.Boolean,
  ...Division.fields
})
type State = typeof State.Type

const answers = rowsOf(Schema.Struct({ yes: Schema.Boolean }))
const divisions = rowsOf(Division)
const states = rowsOf(State)
const names = rowsOf(Schema.Struct({ name: Schema.String }))
const placements = rowsOf(Schema.Struct({ alone: Schema.Boolean, onCoordinator: Schema.Boolean }))
const statements = rowsOf(Schema.Struct({ statement: Schema.String }))
const locks = rowsOf(Schema.Struct({ isHeld: Schema.Boolean }))

export const Distribute = {
  /** The statements that distribute the tables of tenants over this Citus coordinator's workers; empty when that is done. */
  plan: Effect.gen(function* () {
    return yield* missing(yield* SqlClient.SqlClient)
  }).pipe(DatabaseError.explain("look at the cluster")),

  /** Why a gateway must not start on a partly distributed database, in one line; null when all or nothing is distributed. */
  obstacle: Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const { isDistributed } = yield* Distribution
    if (!isDistributed) return null
    const [divided] = yield* divisions(sql`SELECT ${divisionOf(sql)}`)
    return divided === undefined || undivided(divided).length + undelegated(divided).length > 0
      ? "the database is distributed in part: stop every gateway and run `gateway distribute`, which says with --plan what is missing"
      : null
  }).pipe(DatabaseError.explain("look at the cluster")),

  /**
   * Runs the statements and returns them. Each is committed separately, and what an earlier run did is not repeated. No gateway
   * may run in the meantime, because it would continue as on a single server.
   */
  run: Effect.gen(function* () {
    const pool = yield* SqlClient.SqlClient
    const connection = yield* pool.reserve
    const run = Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* sql`SELECT set_config('statement_timeout', ${`${STATEMENT_MS}ms`}, false), set_config('lock_timeout', ${`${STATEMENT_MS}ms`}, false)`
      const [lock] = yield* locks(sql`SELECT pg_try_advisory_lock(${advisoryLocks.masterKey}) AS "isHeld"`)
      if (lock?.isHeld !== true) return yield* new DatabaseError("stop every gateway first: one of them is connected")
      const plan = yield* missing(sql)
      for (const statement of plan) yield* sql.unsafe(statement)
      // Citus returns a worker's refusal instead of failing.
      const [refused] = yield* settingStatements(sql)
      if (refused !== undefined)
        return yield* new DatabaseError(`a worker refused its settings, of which ${refused.statement} answers why`)
      return plan
    })
    return yield* Effect.provideService(run, pool.transactionService, [connection, 0])
  }).pipe(
    Effect.scoped,
    Effect.provideService(AnswerBoundMs, ANSWER_MS),
    DatabaseError.explain("distribute the database"),
    Effect.withSpan("Distribute.run")
  )
}

const missing = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const standing = yield* Migrations.standing(sql)
  if (standing.obstacle !== null) return yield* new DatabaseError(standing.obstacle)
  if (standing.missing.length > 0)
    return yield* new DatabaseError("the database's schema is not this program's: run gateway migrate first")
  const state = yield* read(sql)
  const kept = new Set((yield* keptHere(sql)).map(({ name }) => name))
  return [
    ...undivided(state).map(divideTable),
    ...tenantTables.filter((table) => kept.has(table)).map(emptyOriginal),
    ...(state.distributed.includes(auditHead) ? [] : [`SELECT citus_add_local_table_to_metadata('${auditHead}')`]),
    ...(yield* sharedStatements(sql, state)),
    ...undelegated(state).flatMap(delegateFunction),
    ...(yield* settingStatements(sql)).map(({ statement }) => statement)
  ]
})

/** For workers without these settings; one that is down is skipped. Citus would pass them on only for some databases. */
const settingStatements = (sql: SqlClient.SqlClient) => {
  const names = [...OF_WORKERS, COMMITS]
  const values = names.map((name) => sessionSettings[name] ?? "on")
  return statements(sql`
    SELECT format('SELECT nodename, nodeport, success, result FROM run_command_on_workers(%L)',
      format('DO $$BEGIN SET LOCAL citus.enable_ddl_propagation = off; IF %s THEN ALTER DATABASE %I SET %I = %L; END IF; END$$',
        needed, current_database(), name, value)) AS statement
    FROM unnest(${names}::text[], ${values}::text[]) WITH ORDINALITY AS wanted(name, value, at)
    CROSS JOIN LATERAL (SELECT CASE name WHEN ${COMMITS} THEN ${IS_WEAK}::text ELSE 'true' END AS needed) AS n
    WHERE EXISTS (SELECT 1 FROM run_command_on_workers(format('SELECT %s AND NOT EXISTS (
      SELECT 1 FROM pg_db_role_setting LEFT JOIN pg_database d ON d.oid = setdatabase
      WHERE %L = ANY (setconfig) AND setrole = 0 AND (setdatabase = 0 OR d.datname = current_database()))',
      needed, name || '=' || value)) WHERE success AND result = 't')
    ORDER BY at`)
}

/** The distributed tables, and the delegated functions with their own lock timeout. */
const divisionOf = (sql: SqlClient.SqlClient) => sql`
  ARRAY(SELECT c.relname::text FROM pg_dist_partition p JOIN pg_class c ON c.oid = p.logicalrelid
    WHERE c.relnamespace = current_schema()::regnamespace) AS distributed,
  ARRAY(SELECT f.proname::text FROM pg_dist_object o JOIN pg_proc f ON f.oid = o.objid
    WHERE o.classid = 'pg_proc'::regclass AND o.distribution_argument_index IS NOT NULL
      AND f.pronamespace = current_schema()::regnamespace AND f.proconfig && ${[`lock_timeout=${LOCK_TIMEOUT}`]}::text[]) AS delegated`

const undivided = ({ distributed }: Division) => tenantTables.filter((table) => !distributed.includes(table))

const undelegated = ({ delegated }: Division) => Object.entries(tenantFunctions).filter(([name]) => !delegated.includes(name))

/** Refuses a database that is not the coordinator of a cluster, with one line. */
const read = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const [citus] = yield* answers(sql`SELECT EXISTS (SELECT FROM pg_extension WHERE extname = 'citus') AS yes`)
  if (citus?.yes !== true)
    return yield* new DatabaseError("the database has no extension citus: run CREATE EXTENSION citus on every server first")
  const [state] = yield* states(sql`
    SELECT (SELECT groupid = 0 FROM pg_dist_local_group) AS "isCoordinator",
      EXISTS (SELECT FROM pg_dist_node WHERE groupid = 0) AS "hasCoordinatorNode",
      EXISTS (SELECT FROM pg_dist_node WHERE groupid = 0 AND shouldhaveshards) AS "coordinatorTakesShards",
      (SELECT count(*)::int FROM pg_dist_node WHERE groupid <> 0 AND noderole = 'primary' AND isactive AND shouldhaveshards) AS workers,
      ${divisionOf(sql)}`)
  if (state?.isCoordinator !== true)
    return yield* new DatabaseError("this server is a worker: DATABASE_URL has to name the coordinator")
  if (!state.hasCoordinatorNode)
    return yield* new DatabaseError(
      "the workers do not know the coordinator: run SELECT citus_set_coordinator_host('HOST', PORT) on it first"
    )
  if (state.workers === 0)
    return yield* new DatabaseError("the cluster has no worker: run SELECT citus_add_node('HOST', PORT) for each first")
  return state
})

const divideTable = (table: string, at: number): string =>
  table === tenantTables[0] && at === 0
    ? `SELECT create_distributed_table('${table}', 'app_id', colocate_with => 'none')`
    : `SELECT create_distributed_table('${table}', 'app_id', colocate_with => '${tenantTables[0]}')`

/** A session's settings do not reach a worker, so the function has its own. */
const delegateFunction = ([name, tenant]: readonly [string, string]): ReadonlyArray<string> => [
  `ALTER FUNCTION ${name} SET lock_timeout = '${LOCK_TIMEOUT}'`,
  `SELECT create_distributed_function('${name}'::regproc::oid::regprocedure, '${tenant}', colocate_with => '${tenantTables[0]}')`
]

/** Tables whose rows are still on the coordinator: not moved yet, or moved by a run that ended before it removed them here. */
const keptHere = (sql: SqlClient.SqlClient) =>
  names(sql`
    SELECT DISTINCT coalesce(p.relname, c.relname)::text AS name FROM pg_class c
    LEFT JOIN pg_inherits i ON i.inhrelid = c.oid LEFT JOIN pg_class p ON p.oid = i.inhparent
    WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND pg_relation_size(c.oid) > 0`)

/** The rows that were copied to the shards are still on the coordinator, hidden. */
const emptyOriginal = (table: string): string => `SELECT truncate_local_data_after_distributing_table('${table}')`

/**
 * The windows that all tenants share, the ceilings of provider accounts, are on the coordinator, so that a worker that is down
 * does not stop tenants of others. A worker counts in them by a two-phase commit, so that a ceiling stays exact.
 */
const sharedStatements = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, { coordinatorTakesShards, distributed }: State) {
  const [found] = distributed.includes("counters")
    ? yield* placements(sql`
        SELECT s.shardminvalue = s.shardmaxvalue AS alone, p.groupid = 0 AS "onCoordinator" FROM pg_dist_shard s JOIN pg_dist_placement p USING (shardid)
        WHERE s.shardid = get_shard_id_for_distribution_column('counters', ${SHARED}::text)`)
    : []
  if (found?.onCoordinator === true) return []
  const takeShards = (taken: boolean) =>
    coordinatorTakesShards
      ? []
      : [`SELECT citus_set_node_property(nodename, nodeport, 'shouldhaveshards', ${taken}) FROM pg_dist_node WHERE groupid = 0`]
  return [
    ...(found?.alone === true
      ? []
      : [`SELECT isolate_tenant_to_new_shard('counters', '${SHARED}'::text, 'CASCADE', shard_transfer_mode => 'block_writes')`]),
    ...takeShards(true),
    `SELECT citus_move_shard_placement(p.shardid, n.nodeid, c.nodeid, 'block_writes') FROM pg_dist_placement p JOIN pg_dist_node n ON n.groupid = p.groupid CROSS JOIN pg_dist_node c WHERE p.shardid = get_shard_id_for_distribution_column('counters', '${SHARED}'::text) AND n.groupid <> 0 AND c.groupid = 0`,
    ...takeShards(false)
  ]
})
