import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { AppId } from "../../domain/Ids.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { RandomSource } from "../../services/ports/RandomSource.ts"
import { type LateCalls, SharedLateCalls } from "../../services/ports/SharedLateCalls.ts"
import { rowsOf } from "../connection/Rows.ts"

/** A node's older report is outdated: a node that has late calls reports them four times a second. */
const SAID_WITHIN = "2 seconds"
/** For the rows of nodes that are gone. */
const LEFT_BEHIND = "1 hour"
const REMOVED_AT_MOST = 100

const rows = rowsOf(Schema.Struct({ line: Schema.String, tenant: Schema.String, calls: Schema.Number }))
const isTenant = Schema.is(AppId)

/** SharedLateCalls on PostgreSQL. It owns late_calls, a row per node, line and tenant, written only while calls are late. */
export const SharedLateCallsPg = layerOf(SharedLateCalls)(function* () {
  const sql = yield* SqlClient.SqlClient
  const node = yield* (yield* RandomSource).reference

  // In this order, each in its own statement: a report that is missing or late for a moment is repeated soon.
  const exchange = Effect.fn("SharedLateCalls.exchange")(function* (mine: ReadonlyArray<LateCalls>) {
    const lines = mine.map(({ line }) => line)
    const tenants = mine.map(({ tenant }) => tenant ?? "")
    const calls = mine.map((one) => one.calls)
    yield* rows(sql`INSERT INTO late_calls (node, line, tenant, calls, said_at)
      SELECT ${node}, m.line, m.tenant, m.calls, clock_timestamp() FROM unnest(${lines}::text[], ${tenants}::text[], ${calls}::int[]) AS m(line, tenant, calls)
      ON CONFLICT (node, line, tenant) DO UPDATE SET calls = EXCLUDED.calls, said_at = EXCLUDED.said_at`)
    yield* rows(sql`DELETE FROM late_calls WHERE node = ${node}
      AND (line, tenant) NOT IN (SELECT * FROM unnest(${lines}::text[], ${tenants}::text[]))`)
    yield* rows(sql`DELETE FROM late_calls WHERE ctid IN (SELECT ctid FROM late_calls
      WHERE said_at < clock_timestamp() - ${LEFT_BEHIND}::interval LIMIT ${REMOVED_AT_MOST} FOR UPDATE SKIP LOCKED)`)
    const theirs = yield* rows(sql`SELECT line, tenant, least(sum(calls), 2147483647)::int AS calls FROM late_calls
      WHERE node <> ${node} AND said_at > clock_timestamp() - ${SAID_WITHIN}::interval GROUP BY line, tenant`)
    return theirs.map(({ calls, line, tenant }) => ({ line, calls, tenant: isTenant(tenant) ? tenant : null }))
  })

  return { exchange }
})
