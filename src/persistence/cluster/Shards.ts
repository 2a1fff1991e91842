import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { rowsOf } from "../connection/Rows.ts"
import { makeVersionedRowCache } from "../reads/RowCache.ts"

export interface ServerTenants {
  readonly server: string
  readonly appIds: ReadonlyArray<string>
}

/** The tenants whose rows are together in one shard of every table, and the server that has it. */
export interface Shard extends ServerTenants {
  /** Small enough for an advisory lock. */
  readonly number: number
}

const shardRows = rowsOf(Schema.Struct({ server: Schema.String, number: Schema.Number, appIds: Schema.Array(Schema.String) }))

/**
 * Every tenant by its shard on Citus, read from the coordinator alone, so that it works whatever other server is down. Shards
 * without tenants are left out; '' stands for rows that tenants share (counters). A new tenant appears within a second, a moved
 * shard within ten.
 */
export const cachedShards = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const read = shardRows(sql`
    SELECT p.nodename || ':' || p.nodeport AS server, (d.shard % 2147483647)::int AS number, array_agg(d.app_id) AS "appIds"
    FROM (
      SELECT n.app_id, get_shard_id_for_distribution_column('tenants', n.app_id) AS shard
      FROM (SELECT app_id FROM tenant_directory UNION ALL SELECT '') n
    ) d JOIN pg_dist_shard_placement p ON p.shardid = d.shard
    GROUP BY p.nodename, p.nodeport, d.shard ORDER BY d.shard`)
  const { keep } = yield* makeVersionedRowCache(sql)
  const all = yield* keep({ read: (keys) => Effect.map(read, (shards) => keys.map(() => shards)), atMost: 1 })
  return all.get("all")
})
