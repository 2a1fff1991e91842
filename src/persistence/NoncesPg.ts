import { Effect, Layer, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { type Instant, iso } from "../domain/Instant.ts"
import { Nonces, type NonceUse } from "../services/ports/Nonces.ts"
import { rowsOf } from "./Rows.ts"
import { isLockTimeout, makeBatcher } from "./StepBatch.ts"

const decodeSpent = Schema.decodeUnknownEffect(Schema.Array(Schema.Struct({ spent: Schema.Boolean })))
const sweptCounts = rowsOf(Schema.Struct({ swept: Schema.Number }))

const columns = ({ caller, expiresAt, nonce }: NonceUse) => ({
  app_id: caller.appId,
  key_id: caller.keyId,
  nonce,
  expires_at: iso(expiresAt)
})

/** The first of a batch that brings a nonce spends it; rows are written in one order, so that two nodes never wait for each other. */
const spendStatement = `
WITH step AS MATERIALIZED (
  SELECT s.*, row_number() OVER (PARTITION BY app_id, key_id, nonce ORDER BY ord) = 1 AS first
  FROM ROWS FROM (json_to_recordset($1::json) AS (app_id text, key_id text, nonce text, expires_at timestamptz))
    WITH ORDINALITY AS s(app_id, key_id, nonce, expires_at, ord)
),
written AS (
  INSERT INTO nonces (app_id, key_id, nonce, expires_at) SELECT app_id, key_id, nonce, expires_at FROM step WHERE first
  ORDER BY app_id, key_id, nonce ON CONFLICT (app_id, key_id, nonce) DO NOTHING
  RETURNING app_id, key_id, nonce
)
SELECT s.first AND w.nonce IS NOT NULL AS spent
FROM step s LEFT JOIN written w ON w.app_id = s.app_id AND w.key_id = s.key_id AND w.nonce = s.nonce ORDER BY s.ord`

/**
 * Nonces on PostgreSQL, hence shared by all nodes. It owns the table nonces: its primary key decides who was first. A request that claims
 * a key spends its nonce there, too, in the statement of `ArrivalSql`.
 */
export const NoncesPg = Layer.effect(
  Nonces,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient

    const spend = yield* makeBatcher({
      statement: (steps: ReadonlyArray<NonceUse>) =>
        sql.unsafe(spendStatement, [JSON.stringify(steps.map(columns))]).pipe(
          Effect.flatMap(decodeSpent),
          Effect.map((rows) => rows.map(({ spent }) => spent))
        ),
      // Nobody knows who spent it: perhaps this request's own statement, whose answer was lost.
      recover: (_step, isSpent) => (isSpent ? Effect.succeed(true) : Effect.die(new Error("a nonce may have been spent before"))),
      laneOf: ({ caller }) => caller.appId,
      isLockTimeout
    })

    const prune = Effect.fn("Nonces.prune")(function* (now: Instant, limit: number) {
      const [row] = yield* sweptCounts(sql`
        WITH expired AS MATERIALIZED (
          SELECT app_id, key_id, nonce FROM nonces WHERE expires_at <= ${iso(now)}::timestamptz
          ORDER BY expires_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
        ),
        removed AS (
          DELETE FROM nonces n USING expired e WHERE n.app_id = e.app_id AND n.key_id = e.key_id AND n.nonce = e.nonce
          RETURNING n.nonce
        )
        SELECT count(*)::int AS swept FROM removed`)
      return row?.swept ?? 0
    })

    return Nonces.of({ spend, prune })
  })
)
