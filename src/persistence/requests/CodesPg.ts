import { Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import type { Reference } from "../../domain/Ids.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import type { WindowUse } from "../../domain/VelocityLimits.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import {
  type CodeAttempt,
  type CodeAttemptOutcome,
  Codes,
  type CountedCode,
  type SendQuotaOutcome
} from "../../services/ports/Codes.ts"
import type { Claim } from "../../services/ports/Idempotency.ts"
import { makeReferenceOwner } from "../cluster/ReferenceOwner.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import { OnTenantServer } from "../connection/ServerSlots.ts"

const codeRows = rowsOf(
  Schema.Struct({
    known: Schema.Boolean,
    wrong: Schema.Number,
    sent: Schema.Boolean,
    closed: Schema.Boolean,
    leased: Schema.Boolean
  })
)
const holderRows = rowsOf(Schema.Struct({ reference: Schema.NullOr(Schema.String) }))
const statusRows = rowsOf(Schema.Struct({ status: Schema.String }))
const partyRows = rowsOf(Schema.Struct({ party_hash: Schema.NullOr(Schema.Uint8Array) }))
const countRows = rowsOf(Schema.Struct({ wrong: Schema.Number }))
const closedRows = rowsOf(Schema.Struct({ wrong: Schema.Boolean }))
const stateRows = rowsOf(Schema.Struct({ sent: Schema.Boolean, wrong: Schema.Number, leased: Schema.Boolean }))
const leasedRows = rowsOf(Schema.Struct({ leased: Schema.Boolean }))

type AttemptKey = Pick<CodeAttempt, "appId" | "reference">

/**
 * Codes on PostgreSQL. It owns charge_codes, code_requests and sent_codes. An attempt is one transaction: its first lock is the
 * row of the charge's codes, which serializes all attempts on one charge. The other rows are locked in the order of
 * `open_step`.
 */
export const CodesPg = layerOf(Codes)(function* () {
  const sql = yield* SqlClient.SqlClient
  const onTenantServer = yield* OnTenantServer
  const ownerOf = yield* makeReferenceOwner

  const lockCodes = Effect.fnUntraced(function* ({ appId, reference }: AttemptKey, codeHash: Uint8Array, at: Instant) {
    yield* sql`INSERT INTO charge_codes (app_id, reference) VALUES (${appId}, ${reference}) ON CONFLICT DO NOTHING`
    const [row] = yield* codeRows(sql`SELECT ${codeHash} = ANY (wrong) AS known, cardinality(wrong) AS wrong, sent, closed,
        coalesce(lease_until > ${iso(at)}::timestamptz, false) AS leased
      FROM charge_codes WHERE app_id = ${appId} AND reference = ${reference} FOR UPDATE`)
    return row ?? (yield* Effect.die(new Error("the codes of a charge vanished")))
  })

  const isWaiting = Effect.fnUntraced(function* ({ appId, reference }: AttemptKey) {
    const [row] = yield* statusRows(
      sql`SELECT status FROM transactions WHERE app_id = ${appId} AND reference = ${reference} FOR SHARE`
    )
    return row?.status === "requires_action"
  })

  /** The claim is still the newest of its key, and stays so until the commit. */
  const isClaimed = Effect.fnUntraced(function* ({ fence, scope: { appId, endpoint, key, mode } }: Claim) {
    const rows = yield* sql`SELECT 1 FROM idempotency_keys WHERE app_id = ${appId} AND mode = ${mode} AND endpoint = ${endpoint}
      AND key = ${key} AND fence = ${fence} AND state = 'claimed' FOR UPDATE`
    return rows.length === 1
  })

  const pin = ({ fence, scope: { appId, endpoint, key, mode } }: Claim, reference: Reference) =>
    sql`UPDATE idempotency_keys SET state = 'pinned', reference = ${reference}
      WHERE app_id = ${appId} AND mode = ${mode} AND endpoint = ${endpoint} AND key = ${key} AND fence = ${fence} AND state = 'claimed'`

  const forget = ({ fence, scope: { appId, endpoint, key, mode } }: Claim) =>
    sql`DELETE FROM idempotency_keys WHERE app_id = ${appId} AND mode = ${mode} AND endpoint = ${endpoint} AND key = ${key}
      AND fence = ${fence} AND state = 'pinned'`

  const begin = Effect.fn("Codes.begin")(
    function* (attempt: CodeAttempt) {
      const { appId, at, claim, codeHash, holder, leaseMs, mode, partyHash, reference, wrongAtMost } = attempt
      const codes = yield* lockCodes(attempt, codeHash, at)
      if (codes.sent) return { _tag: codes.leased ? "Busy" : "Unheard" } satisfies CodeAttemptOutcome
      if (codes.closed) return { _tag: "Moved" } satisfies CodeAttemptOutcome
      if (codes.wrong >= wrongAtMost) return { _tag: "Spent" } satisfies CodeAttemptOutcome
      if (codes.known) return { _tag: "KnownWrong", wrong: codes.wrong } satisfies CodeAttemptOutcome
      if (!(yield* isWaiting(attempt))) return { _tag: "Moved" } satisfies CodeAttemptOutcome
      if (claim !== null && !(yield* isClaimed(claim))) return { _tag: "Busy" } satisfies CodeAttemptOutcome
      const [tenant] = yield* statusRows(sql`SELECT status FROM tenants WHERE app_id = ${appId} FOR SHARE`)
      if (tenant?.status !== "active") return { _tag: "Frozen" } satisfies CodeAttemptOutcome
      const [payer] = yield* holderRows(sql`SELECT reference FROM payer_locks
        WHERE app_id = ${appId} AND mode = ${mode} AND party_hash = ${partyHash} FOR UPDATE`)
      if (payer === undefined || payer.reference !== holder) return { _tag: "PayerBusy" } satisfies CodeAttemptOutcome
      if (claim !== null) yield* pin(claim, reference)
      yield* sql`UPDATE payer_locks SET reference = ${reference}, at = ${iso(at)}::timestamptz,
          recent = add_charge(recent, ${reference}, ${iso(at)}::timestamptz)
        WHERE app_id = ${appId} AND mode = ${mode} AND party_hash = ${partyHash}`
      yield* sql`UPDATE charge_codes SET sent = true, lease_until = ${iso(at + leaseMs)}::timestamptz
        WHERE app_id = ${appId} AND reference = ${reference}`
      return { _tag: "Leased", wrong: codes.wrong } satisfies CodeAttemptOutcome
    },
    (effect, { appId }) => onTenantServer(appId)(sql.withTransaction(effect)),
    Effect.orDie
  )

  const giveFree = Effect.fnUntraced(function* ({
    appId,
    claim,
    mode,
    partyHash,
    reference
  }: Parameters<Codes["Service"]["unsaid"]>[0]) {
    if (claim !== null) yield* forget(claim)
    yield* sql`UPDATE payer_locks SET reference = nullif(reference, ${reference})
      WHERE app_id = ${appId} AND mode = ${mode} AND party_hash = ${partyHash}`
  })

  const unsaid = Effect.fn("Codes.unsaid")(
    function* (attempt: Parameters<Codes["Service"]["unsaid"]>[0]) {
      const { appId, reference } = attempt
      yield* sql`UPDATE charge_codes SET sent = false, lease_until = NULL WHERE app_id = ${appId} AND reference = ${reference}`
      yield* giveFree(attempt)
    },
    (effect, { appId }) => onTenantServer(appId)(sql.withTransaction(effect)),
    Effect.orDie
  )

  const wrong = Effect.fn("Codes.wrong")(
    function* (attempt: Parameters<Codes["Service"]["wrong"]>[0]) {
      const { appId, codeHash, reference } = attempt
      yield* sql`INSERT INTO charge_codes (app_id, reference) VALUES (${appId}, ${reference}) ON CONFLICT DO NOTHING`
      const [row] = yield* countRows(sql`UPDATE charge_codes SET sent = false, lease_until = NULL,
          wrong = CASE WHEN ${codeHash} = ANY (wrong) THEN wrong ELSE array_append(wrong, ${codeHash}) END
        WHERE app_id = ${appId} AND reference = ${reference} RETURNING cardinality(wrong) AS wrong`)
      yield* giveFree(attempt)
      return row?.wrong ?? (yield* Effect.die(new Error("the codes of a charge vanished")))
    },
    (effect, { appId }) => onTenantServer(appId)(sql.withTransaction(effect)),
    Effect.orDie
  )

  const partyHash = Effect.fn("Codes.partyHash")(function* (reference: Reference) {
    const { of, within } = yield* ownerOf(reference)
    const [row] = yield* partyRows(
      within(sql`SELECT party_hash FROM transactions WHERE reference = ${reference} ${of("app_id")}`)
    )
    return Option.fromNullOr(row?.party_hash ?? null)
  })

  const close = Effect.fn("Codes.close")(function* (reference: Reference, at: Instant) {
    const { of, within } = yield* ownerOf(reference)
    const [closed] = yield* closedRows(
      within(sql`INSERT INTO charge_codes AS c (app_id, reference, closed)
      SELECT app_id, reference, true FROM transactions WHERE reference = ${reference} ${of("app_id")}
      ON CONFLICT (app_id, reference) DO UPDATE SET closed = true WHERE NOT c.sent RETURNING cardinality(c.wrong) > 0 AS wrong`)
    )
    if (closed !== undefined) return closed.wrong ? "wrong" : "free"
    const read = sql`SELECT coalesce(c.lease_until > ${iso(at)}::timestamptz, false) AS leased
      FROM transactions t JOIN charge_codes c ON c.app_id = t.app_id AND c.reference = t.reference WHERE t.reference = ${reference} ${of("t.app_id")}`
    const [row] = yield* leasedRows(within(read))
    return row?.leased === true ? "leased" : "unheard"
  }, Effect.orDie)

  const stateOf = Effect.fn("Codes.stateOf")(function* (reference: Reference, at: Instant) {
    const { of, within } = yield* ownerOf(reference)
    const read = sql`SELECT c.sent, cardinality(c.wrong) AS wrong, coalesce(c.lease_until > ${iso(at)}::timestamptz, false) AS leased
      FROM transactions t JOIN charge_codes c ON c.app_id = t.app_id AND c.reference = t.reference WHERE t.reference = ${reference} ${of("t.app_id")}`
    const [row] = yield* stateRows(within(read))
    if (row?.sent === true) return row.leased ? "leased" : "unheard"
    return row === undefined || row.wrong === 0 ? "free" : "wrong"
  }, Effect.orDie)

  return { begin, wrong, unsaid, partyHash, close, stateOf, ...sentCodes(sql, onTenantServer) }
})

const sentRows = rowsOf(Schema.Struct({ account: Schema.NullOr(Schema.String) }))
const requestRows = rowsOf(Schema.Struct({ sent: Schema.Array(Moment) }))

/** Stands in place of the mode, because a number's codes are counted over both modes. */
const BOTH_MODES = "both"

/**
 * The part of `CodesPg` that counts codes and knows to whom they were sent. It owns code_requests and sent_codes. The row of
 * the number is locked by its upsert, then the windows by name, so that requests for one number are counted in turn.
 */
const sentCodes = (
  sql: SqlClient.SqlClient,
  onTenantServer: OnTenantServer
): Pick<Codes["Service"], "request" | "unsent" | "sent" | "sentBy"> => {
  /** When the number may get the next code; null when it may now, and is counted. */
  const countNumber = Effect.fnUntraced(function* ({ appId, at, partyHash }: CountedCode, atMost: number, windowMs: number) {
    const own = sql`app_id = ${appId} AND mode = ${BOTH_MODES} AND party_hash = ${partyHash}`
    // The conflict locks an existing row. Its new value is computed here, because Citus allows no subquery in ON CONFLICT.
    const [row] = yield* requestRows(sql`INSERT INTO code_requests AS r (app_id, mode, party_hash, sent)
      VALUES (${appId}, ${BOTH_MODES}, ${partyHash}, '{}') ON CONFLICT (app_id, mode, party_hash) DO UPDATE SET sent = r.sent RETURNING sent`)
    if (row === undefined) return yield* Effect.die(new Error("a code request was not counted"))
    const inWindow = [...row.sent, at].filter((moment) => moment > at - windowMs).sort((one, other) => one - other)
    // One more than are granted says that they are full.
    const kept = inWindow.slice(0, atMost + 1)
    yield* sql`UPDATE code_requests SET sent = ${kept.map(iso)}::timestamptz[] WHERE ${own}`
    return kept.length <= atMost ? null : (kept[0] ?? at) + windowMs
  })

  const countWindow = Effect.fnUntraced(function* (counter: WindowUse) {
    const { amount, appId, bound, mode, name, startsAt, subject } = counter
    if (amount > bound) return false
    const counted = yield* sql`INSERT INTO counters AS c (app_id, mode, name, subject, starts_at, used)
      VALUES (${appId}, ${mode}, ${name}, ${subject}, ${iso(startsAt)}::timestamptz, ${amount}::bigint)
      ON CONFLICT (app_id, mode, name, subject, starts_at) DO UPDATE SET used = c.used + EXCLUDED.used
        WHERE c.used + EXCLUDED.used <= ${bound}::bigint
      RETURNING 1 AS counted`
    return counted.length === 1
  })

  const request: Codes["Service"]["request"] = Effect.fn("Codes.request")((code, { perNumber, windowMs }) =>
    Effect.gen(function* () {
      const freeAt = yield* countNumber(code, perNumber, windowMs)
      // A failure takes back what was counted before it.
      if (freeAt !== null) return yield* Effect.fail({ _tag: "NumberFull", freeAt } as const)
      for (const counter of inLockOrder(code.counters))
        if (!(yield* countWindow(counter))) return yield* Effect.fail({ _tag: "TenantFull", counter } as const)
      return { _tag: "Granted" } as const
    }).pipe(
      (counted) => onTenantServer(code.appId)(sql.withTransaction(counted)),
      Effect.catchTag("NumberFull", (full): Effect.Effect<SendQuotaOutcome> => Effect.succeed(full)),
      Effect.catchTag("TenantFull", (full): Effect.Effect<SendQuotaOutcome> => Effect.succeed(full)),
      Effect.orDie
    )
  )

  const unsent = Effect.fn("Codes.unsent")(
    function* ({ appId, at, counters, partyHash }: CountedCode) {
      // One of those that were counted in the same millisecond, and not all of them.
      const taken = yield* sql`UPDATE code_requests SET sent = sent[:array_position(sent, ${iso(at)}::timestamptz) - 1]
          || sent[array_position(sent, ${iso(at)}::timestamptz) + 1:]
        WHERE app_id = ${appId} AND mode = ${BOTH_MODES} AND party_hash = ${partyHash}
          AND array_position(sent, ${iso(at)}::timestamptz) IS NOT NULL RETURNING 1 AS taken`
      if (taken.length === 0) return
      for (const { amount, appId, mode, name, startsAt, subject } of inLockOrder(counters))
        yield* sql`UPDATE counters SET used = greatest(used - ${amount}::bigint, 0) WHERE app_id = ${appId} AND mode = ${mode}
          AND name = ${name} AND subject = ${subject} AND starts_at = ${iso(startsAt)}::timestamptz`
    },
    (effect, { appId }) => onTenantServer(appId)(sql.withTransaction(effect)),
    Effect.orDie
  )

  const sent: Codes["Service"]["sent"] = Effect.fn("Codes.sent")(function* ({ account, appId, mode, partyHash, pinId }, at) {
    yield* onTenantServer(appId)(sql`INSERT INTO sent_codes (app_id, mode, pin_id, party_hash, account, at)
      VALUES (${appId}, ${mode}, ${pinId}, ${partyHash}, ${account}, ${iso(at)}::timestamptz)
      ON CONFLICT (app_id, mode, pin_id) DO UPDATE SET party_hash = EXCLUDED.party_hash, account = EXCLUDED.account, at = EXCLUDED.at`)
  }, Effect.orDie)

  const sentBy: Codes["Service"]["sentBy"] = Effect.fn("Codes.sentBy")(function* ({ appId, mode, partyHash, pinId }) {
    const [row] = yield* sentRows(
      onTenantServer(appId)(sql`SELECT account FROM sent_codes
      WHERE app_id = ${appId} AND mode = ${mode} AND pin_id = ${pinId} AND party_hash = ${partyHash}`)
    )
    return Option.map(Option.fromUndefinedOr(row), ({ account }) => account)
  })

  return { request, unsent, sent, sentBy }
}

/** The order in which every statement locks windows. */
const inLockOrder = (counters: ReadonlyArray<WindowUse>): ReadonlyArray<WindowUse> =>
  counters.toSorted((one, other) => (one.name < other.name ? -1 : 1))
