import { Effect, type Redacted } from "effect"
import { auditHead, tenantFunctions, tenantTables } from "../../src/persistence/connection/DistributedTables.ts"
import { sessionSettings } from "../../src/persistence/connection/SessionSettings.ts"
import { forCitus } from "../../test/support/SentStatements.ts"
import { asOwner } from "../../test/support/Stack.ts"

/** More than a claim takes from at a time; every other one is on the first server. */
const SHARDS = 6

/**
 * Makes a database of one server answer what a gateway asks Citus for, so that every gateway on it works as on a cluster: half of the tenants on one
 * server, half on another. What it then sends is what a cluster would be sent, and is held against the rules; and it is executed, as PostgreSQL does it.
 */
export const standInForCitus = Effect.fnUntraced(
  function* (database: Redacted.Redacted) {
    const sql = yield* asOwner(database)
    yield* sql.withTransaction(Effect.forEach(statements, (statement) => sql.unsafe(statement), { discard: true }))
  },
  Effect.scoped,
  Effect.orDie
)

const statements = [
  // The places that Citus's own have.
  "SET LOCAL allow_system_table_mods = on",
  "CREATE TABLE pg_catalog.pg_dist_partition (logicalrelid regclass NOT NULL)",
  `INSERT INTO pg_catalog.pg_dist_partition SELECT t::regclass FROM unnest('{${[...tenantTables, auditHead].join(",")}}'::text[]) AS t`,
  "CREATE TABLE pg_catalog.pg_dist_object (classid oid NOT NULL, objid oid NOT NULL, distribution_argument_index int)",
  ...Object.keys(tenantFunctions).flatMap((name) => [
    `ALTER FUNCTION ${name} SET lock_timeout = '${sessionSettings.lock_timeout}'`,
    `INSERT INTO pg_catalog.pg_dist_object VALUES ('pg_proc'::regclass, '${name}'::regproc, 0)`
  ]),
  "CREATE TABLE pg_catalog.pg_dist_shard_placement (shardid bigint NOT NULL, nodename text NOT NULL, nodeport int NOT NULL)",
  `INSERT INTO pg_catalog.pg_dist_shard_placement
    SELECT shard, CASE shard % 2 WHEN 0 THEN 'first.example' ELSE 'second.example' END, 5432 FROM generate_series(0, ${SHARDS - 1}) AS shard`,
  `CREATE FUNCTION pg_catalog.get_shard_id_for_distribution_column(of_table regclass, of_value text) RETURNS bigint LANGUAGE sql STABLE
    AS 'SELECT abs(hashtext(of_value)::bigint) % ${SHARDS}'`,
  "GRANT SELECT ON pg_catalog.pg_dist_partition, pg_catalog.pg_dist_object, pg_catalog.pg_dist_shard_placement TO PUBLIC"
]

/** Has the statements of this process be held against what Citus allows, and not against what one server allows besides. */
export const sentForCitus = {
  begin: () => void Reflect.set(globalThis, forCitus, true),
  end: () => void Reflect.deleteProperty(globalThis, forCitus)
}
