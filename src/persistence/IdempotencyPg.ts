import { Clock, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Reference } from "../domain/Ids.ts"
import { type Instant, iso } from "../domain/Instant.ts"
import type { IdempotencyScope } from "../domain/RequestFingerprint.ts"
import { inSpan } from "../runtime/Tracing.ts"
import { type Claim, type Claimed, Idempotency, type StoredResponse } from "../services/ports/Idempotency.ts"
import { Identifiers } from "../services/ports/Identifiers.ts"
import { Policy } from "../services/ports/Policy.ts"
import { markRemoved } from "./Retention.ts"
import { isLockTimeout, makeBatcher } from "./StepBatch.ts"

/** A key may be released between the failed claim and the read; after this many tries answer Busy. */
const TRIES_AT_MOST = 3

const KeyRow = Schema.Struct({
  same: Schema.Boolean,
  state: Schema.Literals(["claimed", "pinned", "done"]),
  leased: Schema.Boolean,
  reference: Schema.NullOr(Reference),
  answer_status: Schema.NullOr(Schema.Number),
  answer_body: Schema.NullOr(Schema.String)
})
const decodeFences = Schema.decodeUnknownEffect(Schema.Array(Schema.Struct({ fence: Schema.NullOr(Schema.BigInt) })))
const decodeKeys = Schema.decodeUnknownEffect(Schema.Array(KeyRow))

const claimedBy = (row: typeof KeyRow.Type): Claimed => {
  if (!row.same) return { _tag: "Reused" }
  if (row.answer_status !== null && row.answer_body !== null)
    return { _tag: "Replay", response: { status: row.answer_status, body: row.answer_body } }
  return row.state === "pinned" && row.reference !== null
    ? { _tag: "Pinned", reference: row.reference, leased: row.leased }
    : { _tag: "Busy" }
}

interface ClaimRequest {
  readonly scope: IdempotencyScope
  readonly fingerprint: Uint8Array
  readonly now: Instant
  readonly leaseUntil: Instant
}

const columns = ({ fingerprint, leaseUntil, now, scope }: ClaimRequest) => ({
  app_id: scope.appId,
  mode: scope.mode,
  endpoint: scope.endpoint,
  key: scope.key,
  fingerprint: Buffer.from(fingerprint).toString("hex"),
  lease_until: iso(leaseUntil),
  at: iso(now)
})

/**
 * Takes the keys that nobody has, and those whose claimant died before it made a transaction; of a batch, the first that asks for a key
 * has it. Rows are written in the order of their key, as every statement locks them.
 */
const takeStatement = `
WITH step AS MATERIALIZED (
  SELECT s.*, row_number() OVER (PARTITION BY app_id, mode, endpoint, key ORDER BY ord) = 1 AS first
  FROM ROWS FROM (json_to_recordset($1::json) AS (
    app_id text, mode text, endpoint text, key text, fingerprint text, lease_until timestamptz, at timestamptz))
    WITH ORDINALITY AS s(app_id, mode, endpoint, key, fingerprint, lease_until, at, ord)
),
taken AS (
  INSERT INTO idempotency_keys AS k (app_id, mode, endpoint, key, fingerprint, fence, state, lease_until, created_at)
  SELECT app_id, mode, endpoint, key, decode(fingerprint, 'hex'), nextval('fences'), 'claimed', lease_until, at FROM (
    SELECT * FROM step WHERE first ORDER BY app_id, mode, endpoint, key
  ) s
  ON CONFLICT (app_id, mode, endpoint, key) DO UPDATE SET fence = EXCLUDED.fence, lease_until = EXCLUDED.lease_until,
      -- Its ninety days begin with the request that may move money.
      created_at = EXCLUDED.created_at
    WHERE k.state = 'claimed' AND k.lease_until <= EXCLUDED.created_at AND k.fingerprint = EXCLUDED.fingerprint
  RETURNING app_id, mode, endpoint, key, fence
)
SELECT CASE WHEN s.first THEN t.fence END AS fence
FROM step s LEFT JOIN taken t ON t.app_id = s.app_id AND t.mode = s.mode AND t.endpoint = s.endpoint AND t.key = s.key
ORDER BY s.ord`

/**
 * Idempotency on PostgreSQL. It owns idempotency_keys, a row a key: the primary key decides who was first. Every later write names the
 * fence of its claim and the state that it expects, so that a claimant that was overtaken writes nothing. A claim is one step of a batched
 * statement; only a key that is taken costs a second read.
 */
export const IdempotencyPg = Layer.effect(
  Idempotency,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const identifiers = yield* Identifiers
    const policy = yield* Policy

    const takeKey = yield* makeBatcher({
      statement: (steps: ReadonlyArray<ClaimRequest>) =>
        sql.unsafe(takeStatement, [JSON.stringify(steps.map(columns))]).pipe(
          Effect.flatMap(decodeFences),
          Effect.map((rows) => rows.map(({ fence }) => fence))
        ),
      // Perhaps taken by this very step, whose answer was lost: it is busy then until its lease ends, and nothing has moved.
      recover: (_step, fence) => Effect.succeed(fence),
      laneOf: ({ scope }) => scope.appId,
      isLockTimeout
    })

    const readKey = Effect.fnUntraced(function* (
      { appId, endpoint, key, mode }: IdempotencyScope,
      fingerprint: Uint8Array,
      now: number
    ) {
      const rows =
        yield* sql`SELECT fingerprint = ${fingerprint} AS same, state, lease_until > ${iso(now)}::timestamptz AS leased, reference,
          answer_status, convert_from(answer_body, 'UTF8') AS answer_body
        FROM idempotency_keys WHERE app_id = ${appId} AND mode = ${mode} AND endpoint = ${endpoint} AND key = ${key}`
      return Option.fromUndefinedOr((yield* decodeKeys(rows))[0])
    })

    const claim = Effect.fnUntraced(
      function* (scope: IdempotencyScope, fingerprint: Uint8Array) {
        for (let tries = 0; tries < TRIES_AT_MOST; tries++) {
          const now = yield* Clock.currentTimeMillis
          const fence = yield* takeKey({ scope, fingerprint, now, leaseUntil: now + policy.idempotencyLeaseMs })
          if (fence !== null) {
            const reference = yield* identifiers.reference
            return { _tag: "Fresh", claim: { scope, fence, reference } } satisfies Claimed
          }
          const row = yield* readKey(scope, fingerprint, now)
          if (Option.isSome(row)) return claimedBy(row.value)
        }
        return { _tag: "Busy" } satisfies Claimed
      },
      Effect.orDie,
      inSpan("Idempotency.claim")
    )

    const complete = Effect.fn("Idempotency.complete")(function* ({ fence, scope }: Claim, response: StoredResponse) {
      const { appId, endpoint, key, mode } = scope
      const rows =
        yield* sql`UPDATE idempotency_keys SET state = 'done', answer_status = ${response.status}, answer_body = convert_to(${response.body}, 'UTF8'),
          answer_digest = answer_digest(endpoint, key, ${response.status}, convert_to(${response.body}, 'UTF8'))
        WHERE app_id = ${appId} AND mode = ${mode} AND endpoint = ${endpoint} AND key = ${key} AND fence = ${fence} AND state = 'claimed'
        RETURNING 1 AS completed`
      return rows.length === 1
    }, Effect.orDie)

    const release = Effect.fn("Idempotency.release")(function* ({ fence, scope }: Claim) {
      const { appId, endpoint, key, mode } = scope
      const rows = yield* sql`DELETE FROM idempotency_keys
        WHERE app_id = ${appId} AND mode = ${mode} AND endpoint = ${endpoint} AND key = ${key} AND fence = ${fence} AND state = 'claimed'
        RETURNING 1 AS released`
      return rows.length === 1
    }, Effect.orDie)

    // A key that somebody works with is held, and is left for the next round.
    const prune = Effect.fn("Idempotency.prune")(function* (before: Instant, limit: number) {
      const rows = yield* sql`WITH since AS (${markRemoved(sql, "keys", before)}),
        old AS MATERIALIZED (
          SELECT k.app_id, k.mode, k.endpoint, k.key FROM idempotency_keys k
          WHERE k.created_at < ${iso(before)}::timestamptz AND k.lease_until < ${iso(before)}::timestamptz AND NOT EXISTS (
            SELECT FROM transactions t WHERE t.app_id = k.app_id AND t.reference = k.reference
              AND (t.needs_review OR t.status IN ('requires_action', 'pending')))
          ORDER BY k.created_at LIMIT ${limit} FOR UPDATE OF k SKIP LOCKED
        )
        DELETE FROM idempotency_keys k USING old o
        WHERE k.app_id = o.app_id AND k.mode = o.mode AND k.endpoint = o.endpoint AND k.key = o.key RETURNING 1 AS swept`
      return rows.length
    }, Effect.orDie)

    return Idempotency.of({ claim, complete, release, prune })
  })
)
