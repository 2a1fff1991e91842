import { Clock, Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { KeyScope } from "../domain/Fingerprint.ts"
import { Reference } from "../domain/Ids.ts"
import { iso } from "../domain/Instant.ts"
import { type Claim, type Claimed, Idempotency, type StoredAnswer } from "../services/ports/Idempotency.ts"
import { Identifiers } from "../services/ports/Identifiers.ts"
import { Policy } from "../services/ports/Policy.ts"

/** A key can be released between losing it and reading who holds it; more often than this, somebody is simply working on it. */
const CLAIMS_AT_MOST = 3

const KeyRow = Schema.Struct({
  same: Schema.Boolean,
  state: Schema.Literals(["claimed", "pinned", "done"]),
  leased: Schema.Boolean,
  reference: Schema.NullOr(Reference),
  answer_status: Schema.NullOr(Schema.Number),
  answer_body: Schema.NullOr(Schema.String)
})
const decodeFences = Schema.decodeUnknownEffect(Schema.Array(Schema.Struct({ fence: Schema.BigInt })))
const decodeKeys = Schema.decodeUnknownEffect(Schema.Array(KeyRow))

const heldAs = (row: typeof KeyRow.Type): Claimed => {
  if (!row.same) return { _tag: "Reused" }
  if (row.answer_status !== null && row.answer_body !== null)
    return { _tag: "Replay", answer: { status: row.answer_status, body: row.answer_body } }
  return row.state === "pinned" && row.reference !== null
    ? { _tag: "Pinned", reference: row.reference, leased: row.leased }
    : { _tag: "Busy" }
}

/** Idempotency on PostgreSQL: one row a key. A claim is one statement; only a key that is held costs a second one. */
export const IdempotencyPg = Layer.effect(
  Idempotency,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const identifiers = yield* Identifiers
    const policy = yield* Policy

    /** Takes a key that nobody has, or whose claimant died before it made a transaction. */
    const take = Effect.fnUntraced(function* (scope: KeyScope, fingerprint: Uint8Array, now: number) {
      const { appId, endpoint, key, mode } = scope
      const lease = iso(now + policy.idempotencyLeaseMs)
      const rows =
        yield* sql`INSERT INTO idempotency_keys AS k (app_id, mode, endpoint, key, fingerprint, fence, state, lease_until, created_at)
        VALUES (${appId}, ${mode}, ${endpoint}, ${key}, ${fingerprint}, nextval('fences'), 'claimed', ${lease}::timestamptz, ${iso(now)}::timestamptz)
        ON CONFLICT (app_id, mode, endpoint, key) DO UPDATE SET fence = EXCLUDED.fence, lease_until = EXCLUDED.lease_until
          WHERE k.state = 'claimed' AND k.lease_until <= ${iso(now)}::timestamptz AND k.fingerprint = EXCLUDED.fingerprint
        RETURNING fence`
      return Option.fromUndefinedOr((yield* decodeFences(rows))[0])
    })

    const held = Effect.fnUntraced(function* ({ appId, endpoint, key, mode }: KeyScope, fingerprint: Uint8Array, now: number) {
      const rows =
        yield* sql`SELECT fingerprint = ${fingerprint} AS same, state, lease_until > ${iso(now)}::timestamptz AS leased, reference,
          answer_status, convert_from(answer_body, 'UTF8') AS answer_body
        FROM idempotency_keys WHERE app_id = ${appId} AND mode = ${mode} AND endpoint = ${endpoint} AND key = ${key}`
      return Option.fromUndefinedOr((yield* decodeKeys(rows))[0])
    })

    const claim = Effect.fn("Idempotency.claim")(function* (scope: KeyScope, fingerprint: Uint8Array) {
      for (let attempt = 0; attempt < CLAIMS_AT_MOST; attempt++) {
        const now = yield* Clock.currentTimeMillis
        const taken = yield* take(scope, fingerprint, now)
        if (Option.isSome(taken)) {
          const reference = yield* identifiers.reference
          return { _tag: "Fresh", claim: { scope, fence: taken.value.fence, reference } } satisfies Claimed
        }
        const row = yield* held(scope, fingerprint, now)
        if (Option.isSome(row)) return heldAs(row.value)
      }
      return { _tag: "Busy" } satisfies Claimed
    }, Effect.orDie)

    const complete = Effect.fn("Idempotency.complete")(function* ({ fence, scope }: Claim, answer: StoredAnswer) {
      const { appId, endpoint, key, mode } = scope
      const rows =
        yield* sql`UPDATE idempotency_keys SET state = 'done', answer_status = ${answer.status}, answer_body = convert_to(${answer.body}, 'UTF8')
        WHERE app_id = ${appId} AND mode = ${mode} AND endpoint = ${endpoint} AND key = ${key} AND fence = ${fence} AND state = 'claimed'
        RETURNING 1 AS completed`
      return rows.length === 1
    }, Effect.orDie)

    const release = Effect.fn("Idempotency.release")(function* ({ fence, scope }: Claim) {
      const { appId, endpoint, key, mode } = scope
      yield* sql`DELETE FROM idempotency_keys
        WHERE app_id = ${appId} AND mode = ${mode} AND endpoint = ${endpoint} AND key = ${key} AND fence = ${fence} AND state = 'claimed'`
    }, Effect.orDie)

    return Idempotency.of({ claim, complete, release })
  })
)
