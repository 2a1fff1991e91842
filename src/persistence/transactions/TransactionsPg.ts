import { Effect, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { Actor } from "../../domain/Fact.ts"
import type { AppId, Mode, Reference } from "../../domain/Ids.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import { Phase, Posting } from "../../domain/Ledger.ts"
import { Payment } from "../../domain/Payment.ts"
import { Transaction } from "../../domain/Transaction.ts"
import { inTurns } from "../../runtime/InTurns.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { inSpan } from "../../runtime/Tracing.ts"
import type { AuditEntry } from "../../services/ports/AuditLog.ts"
import { type StoredTransaction, Transactions } from "../../services/ports/Transactions.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { type AuditTrail, auditTrail } from "../audit/AuditTrail.ts"
import { EveryTenant } from "../cluster/EveryTenant.ts"
import { makeReferenceOwner, NOT_WHOLE, type ReferenceOwner } from "../cluster/ReferenceOwner.ts"
import { makeHeavyReads } from "../connection/HeavyReads.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import type { TenantFilter } from "../connection/TenantFilter.ts"
import { makeTenantRead } from "../reads/BatchedRead.ts"
import { refundReads } from "./RefundsPg.ts"
import { lineOf } from "./StoredNote.ts"
import { storedRecord } from "./StoredRecord.ts"
import { transactionLists } from "./TransactionList.ts"
import { operatorSearches } from "./TransactionSearch.ts"

/** The most records with one provider reference: one of each kind and account, and a few for a provider that issues it twice. */
const SHARED_AT_MOST = 20
/** The part of a day that is read and sorted at once. */
const SLICE_MS = 900_000

const StoredRow = Schema.Struct({
  record: storedRecord(Transaction),
  revision: Schema.BigInt,
  traceparent: Schema.optionalKey(Schema.NullOr(Schema.String))
})
const HistoryRow = Schema.Struct({
  at_ms: Schema.Number,
  actor: Actor,
  fact: Schema.String,
  note: Schema.String,
  status: Schema.String
})
const CallRow = Schema.Struct({ rawRequest: Schema.NullOr(Schema.String), rawResponse: Schema.NullOr(Schema.String) })
const RawRow = Schema.Struct({ record: storedRecord(Payment), ...CallRow.fields })

const polls = rowsOf(Schema.Struct({ nextPollAt: Moment }))

const decodeStored = Schema.decodeUnknownEffect(Schema.Array(StoredRow))
const decodeHistory = Schema.decodeUnknownEffect(Schema.Array(HistoryRow))
const decodeRaw = Schema.decodeUnknownEffect(Schema.Array(RawRow))
const decodeCalls = Schema.decodeUnknownEffect(Schema.Array(CallRow))

const decodeTransactions = (rows: unknown) =>
  Effect.map(decodeStored(rows), (decoded) =>
    decoded.map(({ record, ...row }): StoredTransaction => ({ transaction: record, ...row }))
  )
/** One row of a list. A row that cannot be decoded is logged as an error and left out, so that it does not block the others. */
const decodeOrSkip =
  (found: string) =>
  ({ reference, ...row }: { readonly reference?: unknown }) =>
    decodeTransactions([row]).pipe(
      Effect.map((decoded) => Option.fromUndefinedOr(decoded[0])),
      // The schema error may quote personal data, so it is not logged.
      Effect.catchTag("SchemaError", () =>
        Effect.logError("a transaction cannot be read, and is left out").pipe(
          Effect.annotateLogs({ reference: String(reference), found }),
          Effect.as(Option.none<StoredTransaction>())
        )
      )
    )
const decodeReadable = (found: string, rows: ReadonlyArray<object>) =>
  Effect.map(inTurns(rows, decodeOrSkip(found)), (all) => all.flatMap(Option.toArray))
const firstOf = (rows: unknown) => Effect.map(decodeTransactions(rows), (all) => Option.fromUndefinedOr(all[0]))

/** Reads for operators only. Reading a provider call leaves an audit row. */
const operatorReads = (sql: SqlClient.SqlClient, trail: AuditTrail, ownerOf: ReferenceOwner) => {
  const raw = Effect.fn("Transactions.raw")(function* (mode: Mode, reference: Reference, audit: AuditEntry) {
    const { of, within } = yield* ownerOf(reference)
    const read = sql`
      SELECT record, raw_request AS "rawRequest", raw_response AS "rawResponse"
      FROM transactions WHERE reference = ${reference} AND mode = ${mode} AND kind <> 'exchange' ${of("app_id")}`
    const rows = yield* within(trail.with(read, audit))
    const [row] = yield* decodeRaw(rows)
    return row === undefined
      ? Option.none()
      : Option.some({ transaction: row.record, rawRequest: row.rawRequest, rawResponse: row.rawResponse })
  }, Effect.orDie)
  const lastCall = Effect.fn("Transactions.lastCall")(function* (reference: Reference, audit: AuditEntry) {
    const { of, within } = yield* ownerOf(reference)
    const read = sql`SELECT raw_request AS "rawRequest", raw_response AS "rawResponse" FROM transactions WHERE reference = ${reference} ${of("app_id")}`
    const rows = yield* within(trail.with(read, audit))
    return Option.fromUndefinedOr((yield* decodeCalls(rows))[0])
  }, Effect.orDie)
  const audited = Effect.fn("Transactions.audited")(function* (reference: Reference, audit: AuditEntry) {
    const { of, within } = yield* ownerOf(reference)
    const read = sql`SELECT record, revision, traceparent FROM transactions WHERE reference = ${reference} ${of("app_id")}`
    return yield* firstOf(yield* within(trail.with(read, audit)))
  }, Effect.orDie)
  const noteSearch = Effect.fn("Transactions.noteSearch")((audit: AuditEntry) =>
    Effect.asVoid(trail.with(sql`SELECT true AS searched`, audit))
  )
  const nextPoll = Effect.fn("Transactions.nextPoll")(function* (reference: Reference) {
    const { of, within } = yield* ownerOf(reference)
    const read = sql`SELECT w.next_poll_at AS "nextPollAt"
      FROM transactions t JOIN open_work w ON w.app_id = t.app_id AND w.reference = t.reference
      WHERE t.reference = ${reference} ${of("t.app_id")} AND w.next_poll_at IS NOT NULL`
    const [row] = yield* polls(within(read))
    return Option.map(Option.fromUndefinedOr(row), ({ nextPollAt }) => nextPollAt)
  })
  return { raw, lastCall, audited, noteSearch, nextPoll, entries: postedEntries(sql, ownerOf) }
}

interface TransactionKey {
  readonly app_id: AppId
  readonly mode: Mode
  readonly reference: Reference
}

/**
 * Transactions on PostgreSQL: the reads of transactions, open_work and transaction_history, which the money statements own and
 * write. It writes only the lease of claimDue, which skips locked rows, and the end of that lease.
 */
export const TransactionsPg = layerOf(Transactions)(function* () {
  const sql = yield* SqlClient.SqlClient
  const everyTenant = yield* EveryTenant
  const ownerOf = yield* makeReferenceOwner
  const trail = auditTrail(sql, (yield* Vault).hash)

  // Each is looked up by its key, whatever the planner's statistics say.
  const findAll = (names: ReadonlyArray<TransactionKey>, of: TenantFilter) =>
    sql<{ readonly ord: number }>`
        SELECT a.ord, t.record, t.revision
        FROM json_to_recordset(${JSON.stringify(names.map((name, ord) => ({ ord, ...name })))}::json) AS a(ord int, app_id text, mode text, reference text)
        CROSS JOIN LATERAL (
          SELECT record, revision FROM transactions WHERE app_id = a.app_id AND reference = a.reference AND mode = a.mode ${of("app_id")} LIMIT 1
        ) t`.pipe(
      Effect.map((rows) => new Map(rows.map((row) => [row.ord, row]))),
      Effect.map((found) => names.map((_, ord) => Option.fromUndefinedOr(found.get(ord))))
    )
  const findOne = yield* makeTenantRead(sql, ({ app_id }: TransactionKey) => app_id, findAll)

  const heavy = makeHeavyReads(sql)
  const claimRows = duePolls(sql, everyTenant)

  return {
    ...transactionLists(sql, heavy, (rows) => decodeReadable("listed", rows)),
    ...(yield* operatorSearches(sql, heavy, (rows) => decodeReadable("searched", rows))),
    ...(yield* refundReads(sql)),
    ...operatorReads(sql, trail, ownerOf),

    find: (appId, mode, reference) =>
      Effect.flatMap(findOne({ app_id: appId, mode, reference }), (row) => Effect.orDie(firstOf(Option.toArray(row)))).pipe(
        inSpan("Transactions.find")
      ),

    byReference: (reference) =>
      Effect.flatMap(ownerOf(reference), ({ of, within }) =>
        within(sql`SELECT record, revision, traceparent FROM transactions WHERE reference = ${reference} ${of("app_id")}`).pipe(
          Effect.flatMap(firstOf),
          Effect.orDie
        )
      ),

    byProviderReference: Effect.fnUntraced(function* (provider, mode, providerReference) {
      const { isWhole, rows } = yield* everyTenant.find(
        (of) => sql`SELECT t.reference, t.record, t.revision, t.traceparent
          FROM provider_references p JOIN transactions t ON t.app_id = p.app_id AND t.reference = p.reference
          WHERE p.provider = ${provider} AND p.mode = ${mode} AND p.provider_reference = ${providerReference} ${of("p.app_id")} ${of("t.app_id")}
            -- Not the one of a provider that it was taken from again.
            AND t.provider = p.provider AND t.provider_reference = p.provider_reference
          ORDER BY t.created_at DESC LIMIT ${SHARED_AT_MOST}`
      )
      if (!isWhole) return yield* Effect.die(new Error(`${NOT_WHOLE}: whose a reference of ${provider} is cannot be said now`))
      const found = yield* decodeReadable("with one reference of the provider", rows)
      if (found.length === 0 && rows.length > 0) return yield* Effect.die(new Error("no record with this reference can be read"))
      return found.toSorted((one, other) => one.transaction.createdAt - other.transaction.createdAt)
    }, Effect.orDie),

    history: Effect.fn("Transactions.history")(function* (reference) {
      const { of, within } = yield* ownerOf(reference)
      const read = sql`SELECT (extract(epoch FROM h.at) * 1000)::float8 AS at_ms, h.actor, h.fact, h.note, h.status
        FROM transactions t JOIN transaction_history h ON h.app_id = t.app_id AND h.reference = t.reference
        WHERE t.reference = ${reference} ${of("t.app_id")} ORDER BY h.line`
      return (yield* decodeHistory(yield* within(read))).map(({ at_ms, ...line }) => lineOf({ at: Math.round(at_ms), ...line }))
    }, Effect.orDie),

    claimDue: Effect.fn("Transactions.claimDue")(function* (now, limit, leaseMs) {
      // A record that cannot be decoded keeps its lease, so that no worker claims it again before the lease ends.
      return yield* decodeReadable("due", yield* claimRows(now, limit, leaseMs))
    }, Effect.orDie),

    putBack: Effect.fn("Transactions.putBack")(
      ({ appId, reference }, at) =>
        sql`UPDATE open_work SET lease_until = ${iso(at)}::timestamptz
          WHERE app_id = ${appId} AND reference = ${reference} AND lease_until IS NOT NULL`,
      Effect.asVoid,
      Effect.orDie
    ),

    inReview: Effect.fn("Transactions.inReview")(
      (limit) =>
        sql`SELECT t.reference, t.record, t.revision FROM open_work w JOIN transactions t ON t.app_id = w.app_id AND t.reference = w.reference
          WHERE w.needs_review ORDER BY w.created_at, w.reference LIMIT ${limit}`.pipe(
          Effect.flatMap((rows) => decodeReadable("in review", rows))
        ),
      Effect.orDie
    ),

    // In slices, because the index by age finds a time range without sorting.
    createdBetween: Effect.fn("Transactions.createdBetween")(function* ({ from, mode, provider, to }, after, limit) {
      const first = after?.createdAt ?? from
      const found: Array<Transaction> = []
      for (let start = first; start < to && found.length < limit; start += SLICE_MS) {
        const rows = yield* sql`SELECT record, revision FROM transactions
          WHERE provider = ${provider} AND mode = ${mode}
            AND created_at >= ${iso(start)}::timestamptz AND created_at < ${iso(Math.min(start + SLICE_MS, to))}::timestamptz
            AND (created_at, reference) > (${iso(first)}::timestamptz, ${after?.reference ?? ""})
          ORDER BY created_at, reference LIMIT ${limit - found.length}`
        found.push(...(yield* decodeTransactions(rows)).map(({ transaction }) => transaction))
      }
      return found
    }, Effect.orDie)
  }
})

const entries = rowsOf(
  Schema.Struct({
    at: Moment,
    phase: Phase,
    postings: Schema.Array(Posting.mapFields((fields) => ({ ...fields, amount: Schema.BigIntFromString })))
  })
)

/** The journal's entries of one record. The amounts are read as text, because JSON numbers would lose digits. */
const postedEntries = (sql: SqlClient.SqlClient, ownerOf: ReferenceOwner): Transactions["Service"]["entries"] =>
  Effect.fn("Transactions.entries")(function* (reference: Reference) {
    const { of, within } = yield* ownerOf(reference)
    const read = sql`
      SELECT j.at, j.phase,
        json_agg(json_build_object('currency', p.currency, 'account', p.account, 'amount', p.amount::text) ORDER BY p.place) AS postings
      FROM transactions t JOIN journal j ON j.app_id = t.app_id AND j.reference = t.reference
      CROSS JOIN LATERAL unnest(j.currencies, j.accounts, j.amounts) WITH ORDINALITY AS p(currency, account, amount, place)
      WHERE t.reference = ${reference} ${of("t.app_id")} AND j.phase IS NOT NULL
      GROUP BY j.revision, j.at, j.phase ORDER BY j.revision`
    return yield* entries(within(read))
  })

/**
 * The queue for polling outcomes: the rows of open_work that are due and not leased. Open records come before closed ones that
 * may still change. It takes only unlocked rows, so that it never waits and cannot deadlock.
 */
const duePolls = (sql: SqlClient.SqlClient, everyTenant: EveryTenant["Service"]) =>
  Effect.fnUntraced(function* (now: Instant, limit: number, leaseMs: number) {
    const free = sql`next_poll_at <= ${iso(now)}::timestamptz AND (lease_until IS NULL OR lease_until <= ${iso(now)}::timestamptz)`
    // However much of a tenant is due, the first row decides.
    const due = (of: TenantFilter) => sql<{ readonly app_id: string }>`
      SELECT t.app_id FROM tenants t WHERE EXISTS (
        SELECT 1 FROM open_work w WHERE w.app_id = t.app_id AND w.is_open AND ${free} ${of("w.app_id")}) ${of("t.app_id")}
      UNION SELECT t.app_id FROM tenants t WHERE EXISTS (
        SELECT 1 FROM open_work w WHERE w.app_id = t.app_id AND NOT w.is_open AND ${free} ${of("w.app_id")}) ${of("t.app_id")}`
    const take = (of: TenantFilter, share: number) => sql`WITH open AS MATERIALIZED (
        SELECT app_id, reference FROM open_work WHERE is_open AND ${free} ${of("app_id")} ORDER BY next_poll_at LIMIT ${share} FOR UPDATE SKIP LOCKED
      ),
      closed AS MATERIALIZED (
        SELECT app_id, reference FROM open_work WHERE NOT is_open AND ${free} ${of("app_id")} ORDER BY next_poll_at
        LIMIT ${share} - (SELECT count(*) FROM open) FOR UPDATE SKIP LOCKED
      ),
      due AS (SELECT * FROM open UNION ALL SELECT * FROM closed)
      UPDATE open_work w SET lease_until = ${iso(now + leaseMs)}::timestamptz
      FROM due JOIN transactions t ON t.app_id = due.app_id AND t.reference = due.reference
      WHERE w.app_id = due.app_id AND w.reference = due.reference ${of("w.app_id")} ${of("t.app_id")}
      RETURNING t.reference, t.record, t.revision, t.traceparent`
    return yield* everyTenant.claim(limit, { kind: "polls", due, take })
  })
