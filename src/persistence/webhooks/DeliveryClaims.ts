import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { type Instant, iso } from "../../domain/Instant.ts"
import type { ClaimQueries } from "../cluster/EveryTenant.ts"
import type { Shard } from "../cluster/Shards.ts"
import { advisoryLocks } from "../connection/AdvisoryLocks.ts"
import { rowsOf } from "../connection/Rows.ts"
import { chooseStatement, claimStatement, firstLeaseStatement, leaseStatement } from "./ClaimSql.ts"

interface DeliveryClaim {
  readonly now: Instant
  readonly perEndpoint: number
  readonly leaseMs: number
}

const chosenRows = rowsOf(
  Schema.StructWithRest(Schema.Struct({ id: Schema.String, appId: Schema.String, mode: Schema.String }), [
    Schema.Record(Schema.String, Schema.Unknown)
  ])
)

/**
 * How deliveries that are due are claimed. An advisory lock lets one node claim at a time, so that the bound of each endpoint is counted over all nodes. On
 * Citus each shard has a lock of its own: whoever waits for a server that does not answer holds up no other server's claims.
 */
export const deliveryClaims =
  (sql: SqlClient.SqlClient) =>
  ({ leaseMs, now, perEndpoint }: DeliveryClaim): ClaimQueries<unknown> => {
    const [at, until] = [iso(now), iso(now + leaseMs)]

    // The lock stands before the statement, so that the statement sees every lease that was taken before it. Its settings hold for this one
    // transaction: planning the statement takes longer than running it, and without them PostgreSQL plans it for each claim.
    const claimed = (limit: number) =>
      Effect.andThen(
        sql`SELECT pg_advisory_xact_lock(${advisoryLocks.deliveryClaims}), set_config('plan_cache_mode', 'force_generic_plan', true),
          set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)`,
        sql.unsafe(claimStatement, [at, limit, perEndpoint, until])
      )

    const claimedOnCitus = Effect.fnUntraced(function* (limit: number, { appIds, number }: Shard) {
      // Shared among those that claim by shard; a node of the release before claims all of them at once, and has it alone.
      yield* sql`SELECT pg_advisory_xact_lock_shared(${advisoryLocks.deliveryClaims}), pg_advisory_xact_lock(${advisoryLocks.deliveryClaims}, ${number})`
      const chosen = yield* chosenRows(sql.unsafe(chooseStatement, [at, limit, perEndpoint, appIds]))
      if (chosen.length === 0) return chosen
      const endpoints = new Set(chosen.map(({ appId, mode }) => `${appId}/${mode}`))
      const lease = sql.unsafe(leaseStatement, [
        at,
        until,
        appIds,
        chosen.map(({ appId }) => appId),
        chosen.map(({ mode }) => mode),
        chosen.map(({ id }) => id)
      ])
      if ((yield* lease).length === endpoints.size) return chosen
      yield* sql.unsafe(firstLeaseStatement, [appIds])
      yield* lease
      return chosen
    })

    return {
      kind: "webhooks",
      // What waits for an endpoint that is disabled is due to nobody.
      due: (of) => sql<{ readonly app_id: string }>`
        SELECT DISTINCT e.app_id FROM webhook_endpoints e WHERE e.enabled ${of("e.app_id")} AND EXISTS (
          SELECT 1 FROM due_deliveries d WHERE d.app_id = e.app_id AND d.mode = e.mode AND d.next_attempt_at <= ${at}::timestamptz ${of("d.app_id")})`,
      take: (_of, limit, shard) => sql.withTransaction(shard === null ? claimed(limit) : claimedOnCitus(limit, shard))
    }
  }
