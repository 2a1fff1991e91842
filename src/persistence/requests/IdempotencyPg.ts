import { Clock, Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Reference } from "../../domain/Ids.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import { referenceOfKey } from "../../domain/ReferenceBucket.ts"
import type { IdempotencyScope } from "../../domain/RequestFingerprint.ts"
import { Tenant } from "../../domain/Tenant.ts"
import type { WindowUse } from "../../domain/VelocityLimits.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { inSpan } from "../../runtime/Tracing.ts"
import { type Claim, type Claimed, type ClaimRequest, type FreshClaim, Idempotency } from "../../services/ports/Idempotency.ts"
import { Policy } from "../../services/ports/Policy.ts"
import { referenceHash, Vault } from "../../services/ports/Vault.ts"
import { EveryTenant } from "../cluster/EveryTenant.ts"
import { columnsOf } from "../connection/Columns.ts"
import { Distribution } from "../connection/Distribution.ts"
import { rowsOf } from "../connection/Rows.ts"
import { OnTenantServer } from "../connection/ServerSlots.ts"
import { isLockTimeout, makeBatcher } from "../connection/StepBatch.ts"
import type { TenantFilter } from "../connection/TenantFilter.ts"
import { makeTenantRead } from "../reads/BatchedRead.ts"
import { recordPrunedBefore } from "../vault/Retention.ts"

/** The result of a claim on a key that is taken. */
const takenKey = (row: ArrivedRow): Claimed => {
  if (row.same !== true) return { _tag: "Reused" }
  if (row.answer_status !== null && row.answer_body !== null)
    return { _tag: "Replay", response: { status: row.answer_status, body: row.answer_body } }
  return row.state === "pinned" && row.reference !== null
    ? { _tag: "Pinned", reference: row.reference, leased: row.leased === true }
    : { _tag: "Busy" }
}

/**
 * Idempotency on PostgreSQL. It owns idempotency_keys, one row per key: the primary key decides who was first. Every later
 * write names the fence of its claim and the expected state, so that a claimant that was overtaken writes nothing. A claim is
 * one step of a batched statement, which also spends the request's nonce.
 */
export const IdempotencyPg = layerOf(Idempotency)(function* () {
  const sql = yield* SqlClient.SqlClient
  const policy = yield* Policy
  const distribution = yield* Distribution
  const { isDistributed } = distribution
  const everyTenant = yield* EveryTenant
  const onTenantServer = yield* OnTenantServer
  const { candidateOf, referenceAfter } = yield* makeKeyReferences

  const arrive = yield* makeBatcher({
    statement: arriveTogether(sql, isDistributed),
    // The request that spent the nonce is unknown: it may be this one, whose result was lost. Its key is then busy until its
    // lease ends, and nothing has moved. If the nonce was fresh, nothing was committed before.
    recover: (_arrival, row) =>
      row.nonce_fresh ? Effect.succeed(row) : Effect.die(new Error("a nonce and a key may have been taken before")),
    laneOf: ({ scope }) => scope.appId,
    ...everyTenant.lanesOf(({ scope }: Arrival) => scope.appId),
    isLockTimeout
  })

  const release = Effect.fn("Idempotency.release")(function* ({ fence, scope }: Claim) {
    const { appId, endpoint, key, mode } = scope
    const write = sql`DELETE FROM idempotency_keys
      WHERE app_id = ${appId} AND mode = ${mode} AND endpoint = ${endpoint} AND key = ${key} AND fence = ${fence} AND state = 'claimed'
      RETURNING 1 AS released`
    return (yield* onTenantServer(appId)(write)).length === 1
  }, Effect.orDie)

  return {
    release,

    complete: Effect.fn("Idempotency.complete")(function* ({ fence, scope }, response) {
      const { appId, endpoint, key, mode } = scope
      const write = sql`UPDATE idempotency_keys SET state = 'done', answer_status = ${response.status}, answer_body = convert_to(${response.body}, 'UTF8'),
        answer_digest = answer_digest(${endpoint}, ${key}, ${response.status}, convert_to(${response.body}, 'UTF8'))
      WHERE app_id = ${appId} AND mode = ${mode} AND endpoint = ${endpoint} AND key = ${key} AND fence = ${fence} AND state = 'claimed'
      RETURNING 1 AS completed`
      return (yield* onTenantServer(appId)(write)).length === 1
    }, Effect.orDie),

    claim: Effect.fnUntraced(function* (request) {
      const { scope } = request
      const now = yield* Clock.currentTimeMillis
      const candidate = candidateOf(scope)
      const leaseUntil = now + policy.idempotencyLeaseMs
      const row = yield* arrive({ ...request, now, leaseUntil, candidate })
      if (!row.nonce_fresh) return Option.none()
      if (row.fence === null) return Option.some(takenKey(row))
      const { booked, reference } =
        row.taken === true ? yield* referenceAfter(scope) : { booked: row.booked === true, reference: candidate }
      const own = { scope, fence: row.fence, reference, leaseUntil }
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
    }, inSpan("Idempotency.claim")),

    // A key in use is locked, and is left for the next round.
    prune: Effect.fn("Idempotency.prune")(function* (before, limit) {
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
  }
})

/** A key creates at most one transaction per retention period, so this many periods are longer than a database lives. */
const TRANSACTIONS_AT_MOST = 1_000

interface Candidate extends Pick<IdempotencyScope, "appId" | "mode"> {
  readonly reference: Reference
}

const standings = rowsOf(Schema.Struct({ taken: Schema.Boolean, booked: Schema.Boolean }))

/**
 * Finds the reference for the next transaction of a key. A key's transactions are never removed, so earlier ones are found by
 * their references even after the key was pruned: `candidateOf` is the reference for a key without any, and `referenceAfter`
 * finds the next one that is free. Booked: operators booked a transaction's money by hand under this reference, after a restore
 * had lost the transaction; a second one would move it again.
 */
const makeKeyReferences = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const hash = referenceHash(yield* Vault)

  // Each is looked up by its key, whatever the planner's statistics say.
  const readAll = (candidates: ReadonlyArray<Candidate>, of: TenantFilter) => {
    const keys = candidates.map(({ appId, mode, reference }, ord) => ({ ord, app_id: appId, mode, reference }))
    return standings(sql`
      SELECT t.found IS NOT NULL AS taken, f.found IS NOT NULL AS booked
      FROM json_to_recordset(${JSON.stringify(keys)}::json) AS a(ord int, app_id text, mode text, reference text)
      LEFT JOIN LATERAL (
        SELECT 1 AS found FROM transactions WHERE app_id = a.app_id AND reference = a.reference ${of("app_id")} LIMIT 1
      ) t ON true
      LEFT JOIN LATERAL (
        SELECT 1 AS found FROM float_adjustments
        WHERE app_id = a.app_id AND mode = a.mode AND external_id = a.reference ${of("app_id")} LIMIT 1
      ) f ON true
      ORDER BY a.ord`)
  }
  const read = yield* makeTenantRead(sql, ({ appId }: Candidate) => appId, readAll)

  const referenceAfter = Effect.fnUntraced(function* (scope: IdempotencyScope) {
    for (let earlier = 1; earlier < TRANSACTIONS_AT_MOST; earlier++) {
      const reference = referenceOfKey(hash, scope, earlier)
      const { booked, taken } = yield* read({ appId: scope.appId, mode: scope.mode, reference })
      if (!taken) return { reference, booked }
    }
    return yield* Effect.die(new Error("a key made more transactions than it can have lived retentions"))
  })
  return { candidateOf: (scope: IdempotencyScope) => referenceOfKey(hash, scope, 0), referenceAfter }
})

/** A request that claims a key, and the time of its arrival. */
export interface Arrival extends ClaimRequest {
  readonly now: Instant
  readonly leaseUntil: Instant
  /** The reference of the transaction that it would create, unless an earlier one has it. */
  readonly candidate: Reference
}

const requests = columnsOf<Arrival>({
  app_id: { type: "text", of: ({ scope }) => scope.appId },
  key_id: { type: "text", of: ({ nonce }) => nonce.caller.keyId },
  nonce: { type: "text", of: ({ nonce }) => nonce.nonce },
  nonce_expires: { type: "timestamptz", of: ({ nonce }) => nonce.expiresAt },
  mode: { type: "text", of: ({ scope }) => scope.mode },
  endpoint: { type: "text", of: ({ scope }) => scope.endpoint },
  key: { type: "text", of: ({ scope }) => scope.key },
  fingerprint: { type: "bytea", of: ({ fingerprint }) => fingerprint },
  at: { type: "timestamptz", of: ({ now }) => now },
  lease_until: { type: "timestamptz", of: ({ leaseUntil }) => leaseUntil },
  candidate: { type: "text", of: ({ candidate }) => candidate }
})
const windowEnds = columnsOf<number>({ window_end: { type: "int", of: (end) => end } })
const windowUses = columnsOf<WindowUse>({
  name: { type: "text", of: ({ name }) => name },
  subject: { type: "text", of: ({ subject }) => subject },
  starts_at: { type: "timestamptz", of: ({ startsAt }) => startsAt }
})

const columns =
  "nonce_fresh, fence, same, state, leased, reference, answer_status, answer_body, used, tenant_status AS status, capabilities, taken, booked"
const numbered = (first: number, names: ReadonlyArray<string>) => names.map((_, at) => `$${at + first}`).join(", ")
const [ofOne, ofSeveral] = [
  [...requests.names, ...windowUses.names],
  [...requests.names, ...windowEnds.names, ...windowUses.names]
]

const requestCall = `SELECT ${columns} FROM arrive_request(${numbered(1, ofOne)})`
const requestsCall = `SELECT ${columns} FROM arrive_at_once(${numbered(1, ofSeveral)}) ORDER BY ord`
/** The same on Citus, where all requests are of one tenant. */
const requestsOfTenantCall = `SELECT ${columns} FROM arrive_together_of_tenant(coalesce($1, ''), ${numbered(2, ofSeveral)}) ORDER BY ord`

/** The result of one request's arrival. A claimed key has only the fence; a taken one has everything but the fence. */
const ArrivedRow = Schema.Struct({
  nonce_fresh: Schema.Boolean,
  fence: Schema.NullOr(Schema.BigInt),
  same: Schema.NullOr(Schema.Boolean),
  state: Schema.NullOr(Schema.Literals(["claimed", "pinned", "done"])),
  leased: Schema.NullOr(Schema.Boolean),
  reference: Schema.NullOr(Reference),
  answer_status: Schema.NullOr(Schema.Number),
  answer_body: Schema.NullOr(Schema.String),
  /** Per window; null for one that did not exist. */
  used: Schema.NullOr(Schema.Array(Schema.NullOr(Schema.BigInt))),
  /** Null when there is no such tenant. */
  status: Schema.NullOr(Tenant.fields.status),
  capabilities: Schema.NullOr(Tenant.fields.capabilities),
  /** For the candidate, when the key was claimed. */
  taken: Schema.NullOr(Schema.Boolean),
  booked: Schema.NullOr(Schema.Boolean)
})
type ArrivedRow = typeof ArrivedRow.Type

const decodeRows = Schema.decodeUnknownEffect(Schema.Array(ArrivedRow))

/** One statement and commit for all, with one row per request in order; a single one has a cheaper form. */
const arriveTogether = (sql: SqlClient.SqlClient, isDistributed: boolean) => (arrivals: ReadonlyArray<Arrival>) =>
  Effect.flatMap(sql.unsafe(...arrivalStatement(arrivals, isDistributed)), decodeRows)

export const arrivalStatement = (
  arrivals: ReadonlyArray<Arrival>,
  isDistributed: boolean
): readonly [string, ReadonlyArray<unknown>] => {
  const [one] = arrivals
  if (one !== undefined && arrivals.length === 1 && !isDistributed)
    return [requestCall, [...requests.values(one), ...windowUses.arrays(one.windows)]]
  let end = 0
  const ends = arrivals.map(({ windows }) => (end += windows.length))
  const windows = arrivals.flatMap((arrival) => arrival.windows)
  const parameters = [...requests.arrays(arrivals), ...windowEnds.arrays(ends), ...windowUses.arrays(windows)]
  return isDistributed ? [requestsOfTenantCall, [one?.scope.appId ?? "", ...parameters]] : [requestsCall, parameters]
}
