import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { TenantFilter } from "../../src/persistence/connection/TenantFilter.ts"
import { asOwner } from "../../test/support/Stack.ts"
import { givenDatabase } from "../../test/support/TestDatabase.ts"
import { standInForCitus } from "./StandIn.ts"

// One server stands in for two: what one of them does must not stop the tenants of the other.

export const FIRST = "first.example:5432"

/** The names of a tenant of each shard, of which the first is on one server and the second on the other. Those two are tenants already. */
export const givenTwoServers = Effect.gen(function* () {
  const url = yield* givenDatabase
  yield* standInForCitus(url)
  const owner = yield* asOwner(url)
  const rows = yield* owner<{ name: string }>`
    SELECT DISTINCT ON (place) name FROM (
      SELECT 't' || n AS name, get_shard_id_for_distribution_column('transactions', 't' || n) AS place FROM generate_series(1, 99) AS n
    ) named ORDER BY place`
  const names = rows.map(({ name }) => name)
  const [first = "", second = ""] = names
  for (const name of [first, second]) yield* owner`INSERT INTO tenant_directory (app_id, bucket) VALUES (${name}, 0)`
  return { url, owner, first, second, names }
})

/** Fails for the tenants of whatever server has `whose`, by what it is told to raise. */
export const failing = (sql: SqlClient.SqlClient, whose: string, state: string) => (of: TenantFilter) =>
  sql<{ name: string }>`SELECT CASE WHEN app_id = ${whose} THEN raised(${state}) ELSE app_id END AS name
    FROM tenant_directory WHERE true ${of("app_id")}`

export const RAISED = `CREATE FUNCTION raised(state text) RETURNS text LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'raised' USING ERRCODE = state; END $$`

/** Runs what it is given while no server of the database answers a probe. */
export const whileUnheard = <A, E, R>(owner: SqlClient.SqlClient, run: Effect.Effect<A, E, R>) =>
  owner.withTransaction(Effect.andThen(owner`LOCK TABLE tenants IN ACCESS EXCLUSIVE MODE`, run))
