import { Clock, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { type Instant, iso } from "../../domain/Instant.ts"
import { inSpan } from "../../runtime/Tracing.ts"
import {
  type Claim,
  type Claimed,
  type ClaimRequest,
  type FreshClaim,
  Idempotency,
  type StoredResponse
} from "../../services/ports/Idempotency.ts"
import { Policy } from "../../services/ports/Policy.ts"
import { EveryTenant } from "../cluster/EveryTenant.ts"
import { Distribution } from "../connection/Distribution.ts"
import { OfTenant } from "../connection/ServerPlaces.ts"
import { isLockTimeout, makeBatcher } from "../connection/StepBatch.ts"
import { recordPrunedBefore } from "../vault/Retention.ts"
import { type Arrival, type ArrivedRow, arriveTogether } from "./ArrivalSql.ts"
import { makeKeyReferences } from "./KeyReferences.ts"

/** What a key that was taken says to the request. */
const takenKey = (row: ArrivedRow): Claimed => {
  if (row.same !== true) return { _tag: "Reused" }
  if (row.answer_status !== null && row.answer_body !== null)
    return { _tag: "Replay", response: { status: row.answer_status, body: row.answer_body } }
  return row.state === "pinned" && row.reference !== null
    ? { _tag: "Pinned", reference: row.reference, leased: row.leased === true }
    : { _tag: "Busy" }
}

/**
 * Idempotency on PostgreSQL. It owns idempotency_keys, a row a key: the primary key decides who was first. Every later write names the
 * fence of its claim and the state that it expects, so that a claimant that was overtaken writes nothing. A claim is one step of a batched
 * statement, which spends the request's nonce, too.
 */
export const IdempotencyPg = Layer.effect(
  Idempotency,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const policy = yield* Policy
    const distribution = yield* Distribution
    const { isDistributed } = distribution
    const everyTenant = yield* EveryTenant
    const ofTenant = yield* OfTenant
    const referenceOf = yield* makeKeyReferences

    const arrive = yield* makeBatcher({
      statement: arriveTogether(sql, isDistributed),
      // Nobody knows who spent the nonce: perhaps this request's own statement, whose answer was lost. Its key is then busy until its lease
      // ends, and nothing has moved. A nonce that was its own proves that nothing was committed before.
      recover: (_arrival, row) =>
        row.nonce_fresh ? Effect.succeed(row) : Effect.die(new Error("a nonce and a key may have been taken before")),
      laneOf: ({ scope }) => scope.appId,
      ...everyTenant.lanesOf(({ scope }: Arrival) => scope.appId),
      isLockTimeout
    })

    const complete = Effect.fn("Idempotency.complete")(function* ({ fence, scope }: Claim, response: StoredResponse) {
      const { appId, endpoint, key, mode } = scope
      const write = sql`UPDATE idempotency_keys SET state = 'done', answer_status = ${response.status}, answer_body = convert_to(${response.body}, 'UTF8'),
          answer_digest = answer_digest(${endpoint}, ${key}, ${response.status}, convert_to(${response.body}, 'UTF8'))
        WHERE app_id = ${appId} AND mode = ${mode} AND endpoint = ${endpoint} AND key = ${key} AND fence = ${fence} AND state = 'claimed'
        RETURNING 1 AS completed`
      return (yield* ofTenant(appId)(write)).length === 1
    }, Effect.orDie)

    const release = Effect.fn("Idempotency.release")(function* ({ fence, scope }: Claim) {
      const { appId, endpoint, key, mode } = scope
      const write = sql`DELETE FROM idempotency_keys
        WHERE app_id = ${appId} AND mode = ${mode} AND endpoint = ${endpoint} AND key = ${key} AND fence = ${fence} AND state = 'claimed'
        RETURNING 1 AS released`
      return (yield* ofTenant(appId)(write)).length === 1
    }, Effect.orDie)

    const claim = Effect.fnUntraced(function* (request: ClaimRequest) {
      const { scope } = request
      const now = yield* Clock.currentTimeMillis
      const row = yield* arrive({ ...request, now, leaseUntil: now + policy.idempotencyLeaseMs })
      if (!row.nonce_fresh) return Option.none()
      if (row.fence === null) return Option.some(takenKey(row))
      const { booked, reference } = yield* referenceOf(scope)
      const own = { scope, fence: row.fence, reference }
      if (booked) {
        yield* release(own)
        return Option.some<Claimed>({ _tag: "Booked", reference })
      }
      const fresh: FreshClaim = {
        _tag: "Fresh",
        claim: own,
        tenant: row.status === null ? null : { status: row.status, capabilities: row.capabilities ?? [] },
        windows: request.windows.map((window, at) => ({ ...window, used: row.used?.[at] ?? 0n }))
      }
      return Option.some<Claimed>(fresh)
    }, inSpan("Idempotency.claim"))

    // A key that somebody works with is held, and is left for the next round.
    const prune = Effect.fn("Idempotency.prune")(function* (before: Instant, limit: number) {
      const record = recordPrunedBefore(sql, distribution, "keys", before)
      yield* record.first
      const { rows } = yield* everyTenant.sweep(
        (of) => sql`WITH ${record.together}
        old AS MATERIALIZED (
          SELECT k.app_id, k.mode, k.endpoint, k.key FROM idempotency_keys k
          WHERE k.created_at < ${iso(before)}::timestamptz AND k.lease_until < ${iso(before)}::timestamptz ${of("k.app_id")} AND NOT EXISTS (
            SELECT 1 FROM transactions t WHERE t.app_id = k.app_id AND t.reference = k.reference ${of("t.app_id")}
              AND (t.needs_review OR t.status IN ('requires_action', 'pending')
                -- What ended late has just become a final answer, or none that anybody has read: its key lives as long as any other.
                OR (well_formed(t.record)->>'completedAt')::float8 >= ${before}::float8))
          ORDER BY k.created_at LIMIT ${limit} FOR UPDATE OF k SKIP LOCKED
        )
        DELETE FROM idempotency_keys k USING old o
        WHERE k.app_id = o.app_id AND k.mode = o.mode AND k.endpoint = o.endpoint AND k.key = o.key ${of("k.app_id")} RETURNING 1 AS swept`
      )
      return rows.length
    }, Effect.orDie)

    return Idempotency.of({ claim, complete, release, prune })
  })
)
