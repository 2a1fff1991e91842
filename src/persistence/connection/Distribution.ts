import { Context, Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { tenantTables } from "./DistributedTables.ts"
import { rowsOf } from "./Rows.ts"

const tables = tenantTables.map((table) => `to_regclass('${table}')`).join(", ")

const answers = rowsOf(Schema.Struct({ yes: Schema.Boolean }))

/**
 * Whether the tables of tenants are distributed over several servers (Citus, `gateway distribute`), even if only some are so
 * far (Distribute.obstacle). Read once, because it is changed only while no gateway is connected.
 */
export class Distribution extends Context.Service<Distribution, { readonly isDistributed: boolean }>()(
  "gateway/persistence/Distribution"
) {
  static readonly layer = layerOf(Distribution)(function* () {
    const sql = yield* SqlClient.SqlClient
    const ask = (text: string) => Effect.map(answers(sql.unsafe(text)), ([row]) => row?.yes === true)
    const isDistributed =
      (yield* ask("SELECT to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL AS yes")) &&
      (yield* ask(`SELECT EXISTS (SELECT FROM pg_dist_partition WHERE logicalrelid = ANY (ARRAY[${tables}])) AS yes`))
    return { isDistributed }
  })
}
