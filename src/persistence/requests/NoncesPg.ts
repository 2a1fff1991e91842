import { Effect, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Instant, iso } from "../../domain/Instant.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { Nonces, type NonceUse } from "../../services/ports/Nonces.ts"
import { EveryTenant } from "../cluster/EveryTenant.ts"
import { columnsOf } from "../connection/Columns.ts"
import { Distribution } from "../connection/Distribution.ts"
import { rowsOf } from "../connection/Rows.ts"
import { isLockTimeout, makeBatcher } from "../connection/StepBatch.ts"
import type { TenantFilter } from "../connection/TenantFilter.ts"
import { type Swept, sweptIn } from "../vault/Retention.ts"

const decodeSpent = Schema.decodeUnknownEffect(Schema.Array(Schema.Struct({ spent: Schema.Array(Schema.Boolean) })))

const ends = rowsOf(Schema.Struct({ at: Schema.NullOr(Instant) }))

/** Of several requests with one nonce the first spends it; the function returns the result for each. */
const spendStatement = "SELECT spend_nonces($1, $2, $3, $4) AS spent"
/** The same on Citus, where all nonces are of one tenant. */
const spendStatementOfTenant = "SELECT spend_nonces_of_tenant(coalesce($1, ''), $2, $3, $4, $5) AS spent"

const columns = columnsOf<NonceUse>({
  app_id: { type: "text", of: ({ caller }) => caller.appId },
  key_id: { type: "text", of: ({ caller }) => caller.keyId },
  nonce: { type: "text", of: ({ nonce }) => nonce },
  expires_at: { type: "timestamptz", of: ({ expiresAt }) => expiresAt }
})

/**
 * Nonces on PostgreSQL, and therefore shared by all nodes. It owns the table nonces, whose primary key decides who was first. A
 * request that claims a key spends its nonce there too, in the function `arrive_requests`.
 */
export const NoncesPg = layerOf(Nonces)(function* () {
  const sql = yield* SqlClient.SqlClient
  const everyTenant = yield* EveryTenant
  const { isDistributed } = yield* Distribution

  const spend = yield* makeBatcher({
    statement: (steps: ReadonlyArray<NonceUse>) =>
      Effect.map(
        Effect.flatMap(
          isDistributed
            ? sql.unsafe(spendStatementOfTenant, [steps[0]?.caller.appId ?? "", ...columns.arrays(steps)])
            : sql.unsafe(spendStatement, columns.arrays(steps)),
          decodeSpent
        ),
        ([row]) => row?.spent ?? []
      ),
    // The request that spent it is unknown: it may be this one, whose result was lost.
    recover: (_step, isSpent) => (isSpent ? Effect.succeed(true) : Effect.die(new Error("a nonce may have been spent before"))),
    laneOf: ({ caller }) => caller.appId,
    ...everyTenant.lanesOf(({ caller }: NonceUse) => caller.appId),
    isLockTimeout
  })

  /**
   * The latest expiry among so many of those that have expired by then; null when none has. It reads the table, which contains
   * the requests of a few minutes, until it has found so many: an index by expiry would cost each request an entry.
   */
  const lastEnded = Effect.fnUntraced(function* (now: Instant, limit: number) {
    const { rows } = yield* everyTenant.sweep((of) =>
      ends(sql`SELECT ceil(extract(epoch FROM max(e.expires_at)) * 1000)::float8 AS at FROM (
        SELECT expires_at FROM nonces WHERE expires_at <= ${iso(now)}::timestamptz ${of("app_id")} LIMIT ${limit}) e`)
    )
    return rows.reduce<Instant | null>((last, { at }) => (at === null || (last !== null && at <= last) ? last : at), null)
  })

  const prune = Effect.fn("Nonces.prune")(function* (now: Instant, limit: number) {
    const last = yield* lastEnded(now, limit)
    if (last === null) return 0
    // Recorded before they are removed: older requests have nothing that remembers their nonces.
    yield* sql`UPDATE clock_watch SET nonces_until = ${iso(last)}::timestamptz
      WHERE nonces_until IS NULL OR nonces_until < ${iso(last)}::timestamptz`
    const swept = (of: TenantFilter) => sql<Swept>`
      WITH expired AS MATERIALIZED (
        SELECT app_id, key_id, nonce FROM nonces WHERE expires_at <= ${iso(last)}::timestamptz ${of("app_id")}
        LIMIT ${limit} FOR UPDATE SKIP LOCKED
      ),
      removed AS (
        DELETE FROM nonces n USING expired e WHERE n.app_id = e.app_id AND n.key_id = e.key_id AND n.nonce = e.nonce ${of("n.app_id")}
        RETURNING n.nonce
      )
      SELECT count(*)::int AS swept FROM removed`
    return sweptIn((yield* everyTenant.sweep(swept)).rows)
  }, Effect.orDie)

  return { spend, prune }
})
