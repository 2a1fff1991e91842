import { Effect, Layer, Option, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { LedgerRecord } from "../domain/Exchange.ts"
import { Actor } from "../domain/Fact.ts"
import type { AppId, Mode, Reference } from "../domain/Ids.ts"
import { type Instant, iso } from "../domain/Instant.ts"
import { Transaction } from "../domain/Transaction.ts"
import { inSpan } from "../runtime/Tracing.ts"
import type { AuditEntry } from "../services/ports/AuditLog.ts"
import { type CreatedRange, type StoredTransaction, Transactions } from "../services/ports/Transactions.ts"
import { Vault } from "../services/ports/Vault.ts"
import { type AuditTrail, auditTrail } from "./AuditTrail.ts"
import { makeBatchedRead } from "./BatchedRead.ts"
import { postedEntries } from "./PostedEntries.ts"
import { Moment, rowsOf } from "./Rows.ts"
import { storedRecord } from "./StoredRecord.ts"
import { transactionList } from "./TransactionList.ts"
import { transactionSearch } from "./TransactionSearch.ts"

/** So much of a day is read and sorted at once. */
const SLICE_MS = 900_000

const StoredRow = Schema.Struct({
  record: storedRecord(LedgerRecord),
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
const RawRow = Schema.Struct({ record: storedRecord(Transaction), ...CallRow.fields })
const SealedRow = Schema.Struct({ sealed_destination: Schema.Uint8Array })

const polls = rowsOf(Schema.Struct({ nextPollAt: Moment }))

const decodeStored = Schema.decodeUnknownEffect(Schema.Array(StoredRow))
const decodeHistory = Schema.decodeUnknownEffect(Schema.Array(HistoryRow))
const decodeRaw = Schema.decodeUnknownEffect(Schema.Array(RawRow))
const decodeCalls = Schema.decodeUnknownEffect(Schema.Array(CallRow))
const decodeSealed = Schema.decodeUnknownEffect(Schema.Array(SealedRow))

const decodeTransactions = (rows: unknown) =>
  Effect.map(decodeStored(rows), (decoded) =>
    decoded.map(({ record, ...row }): StoredTransaction => ({ transaction: record, ...row }))
  )
/** One row of a list. A row that cannot be read is logged as an error and left out, so that it holds up no other. */
const decodeOrSkip =
  (found: string) =>
  ({ reference, ...row }: { readonly reference?: unknown }) =>
    decodeTransactions([row]).pipe(
      Effect.map((decoded) => Option.fromUndefinedOr(decoded[0])),
      // What it says of the record may be somebody's, and stays out of the log.
      Effect.catchTag("SchemaError", () =>
        Effect.logError("a transaction cannot be read, and is left out").pipe(
          Effect.annotateLogs({ reference: String(reference), found }),
          Effect.as(Option.none<StoredTransaction>())
        )
      )
    )
const decodeReadable = (found: string, rows: ReadonlyArray<object>) =>
  Effect.map(Effect.forEach(rows, decodeOrSkip(found)), (all) => all.flatMap(Option.toArray))
const firstOf = (rows: unknown) => Effect.map(decodeTransactions(rows), (all) => Option.fromUndefinedOr(all[0]))

/** Reads that only operators make; those of what was sent and answered leave an audit row. */
const operatorReads = (sql: SqlClient.SqlClient, trail: AuditTrail) => {
  const raw = Effect.fn("Transactions.raw")(function* (mode: Mode, reference: Reference, audit: AuditEntry) {
    const rows = yield* trail.with(
      sql`
        SELECT record, raw_request AS "rawRequest", raw_response AS "rawResponse"
        FROM transactions WHERE reference = ${reference} AND mode = ${mode} AND kind <> 'exchange'`,
      audit
    )
    const [row] = yield* decodeRaw(rows)
    return row === undefined
      ? Option.none()
      : Option.some({ transaction: row.record, rawRequest: row.rawRequest, rawResponse: row.rawResponse })
  }, Effect.orDie)
  const lastCall = Effect.fn("Transactions.lastCall")(function* (reference: Reference, audit: AuditEntry) {
    const rows = yield* trail.with(
      sql`SELECT raw_request AS "rawRequest", raw_response AS "rawResponse" FROM transactions WHERE reference = ${reference}`,
      audit
    )
    return Option.fromUndefinedOr((yield* decodeCalls(rows))[0])
  }, Effect.orDie)
  const audited = Effect.fn("Transactions.audited")(
    (reference: Reference, audit: AuditEntry) =>
      trail
        .with(sql`SELECT record, revision, traceparent FROM transactions WHERE reference = ${reference}`, audit)
        .pipe(Effect.flatMap(firstOf)),
    Effect.orDie
  )
  const nextPoll = Effect.fn("Transactions.nextPoll")(function* (reference: Reference) {
    const [row] = yield* polls(sql`SELECT w.next_poll_at AS "nextPollAt"
      FROM transactions t JOIN open_work w ON w.app_id = t.app_id AND w.reference = t.reference
      WHERE t.reference = ${reference} AND w.next_poll_at IS NOT NULL`)
    return Option.map(Option.fromUndefinedOr(row), ({ nextPollAt }) => nextPollAt)
  })
  return { raw, lastCall, audited, nextPoll, entries: postedEntries(sql) }
}

interface TransactionKey {
  readonly app_id: AppId
  readonly mode: Mode
  readonly reference: Reference
}

/** Each is found by its key, whatever the planner thinks of the table. */
const findStatement = `
SELECT a.ord, t.record, t.revision FROM json_to_recordset($1::json) AS a(ord int, app_id text, mode text, reference text)
CROSS JOIN LATERAL (
  SELECT record, revision FROM transactions WHERE app_id = a.app_id AND reference = a.reference AND mode = a.mode LIMIT 1
) t`

/**
 * Transactions on PostgreSQL: the reads of transactions, open_work and transaction_history, which the money statements own and write. Its one
 * write is the lease of claimDue, which skips rows that are locked.
 */
export const TransactionsPg = Layer.effect(
  Transactions,
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const trail = auditTrail(sql, (yield* Vault).hash)

    const findOne = yield* makeBatchedRead((names: ReadonlyArray<TransactionKey>) =>
      sql.unsafe<{ readonly ord: number }>(findStatement, [JSON.stringify(names.map((name, ord) => ({ ord, ...name })))]).pipe(
        Effect.map((rows) => new Map(rows.map((row) => [row.ord, row]))),
        Effect.map((found) => names.map((_, ord) => found.get(ord)))
      )
    )
    const find = (appId: AppId, mode: Mode, reference: Reference) =>
      Effect.flatMap(findOne({ app_id: appId, mode, reference }), (row) =>
        row === undefined ? Effect.succeedNone : Effect.orDie(firstOf([row]))
      ).pipe(inSpan("Transactions.find"))

    const byReference = (reference: Reference) =>
      sql`SELECT record, revision, traceparent FROM transactions WHERE reference = ${reference}`.pipe(
        Effect.flatMap(firstOf),
        Effect.orDie
      )

    const byProviderReference = (provider: string, mode: Mode, providerReference: string) =>
      sql`SELECT t.record, t.revision, t.traceparent
          FROM provider_references p JOIN transactions t ON t.app_id = p.app_id AND t.reference = p.reference
          WHERE p.provider = ${provider} AND p.mode = ${mode} AND p.provider_reference = ${providerReference}
            -- Not the one of a provider that it was taken from again.
            AND t.provider = p.provider AND t.provider_reference = p.provider_reference
          ORDER BY t.created_at LIMIT 1`.pipe(Effect.flatMap(firstOf), Effect.orDie)

    const history = Effect.fn("Transactions.history")(function* (reference: Reference) {
      const rows = yield* sql`SELECT (extract(epoch FROM h.at) * 1000)::float8 AS at_ms, h.actor, h.fact, h.note, h.status
        FROM transactions t JOIN transaction_history h ON h.app_id = t.app_id AND h.reference = t.reference
        WHERE t.reference = ${reference} ORDER BY h.line`
      return (yield* decodeHistory(rows)).map(({ at_ms, ...line }) => ({ at: Math.round(at_ms), ...line }))
    }, Effect.orDie)

    // What is open comes before what is closed and may still change. It takes only rows that nobody holds, so that it never waits and is part of no deadlock.
    const claimDue = Effect.fn("Transactions.claimDue")(function* (now: Instant, limit: number, leaseMs: number) {
      const free = sql`next_poll_at <= ${iso(now)}::timestamptz AND (lease_until IS NULL OR lease_until <= ${iso(now)}::timestamptz)`
      const rows = yield* sql`WITH open AS MATERIALIZED (
          SELECT app_id, reference FROM open_work WHERE is_open AND ${free} ORDER BY next_poll_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
        ),
        closed AS MATERIALIZED (
          SELECT app_id, reference FROM open_work WHERE NOT is_open AND ${free} ORDER BY next_poll_at
          LIMIT ${limit} - (SELECT count(*) FROM open) FOR UPDATE SKIP LOCKED
        ),
        due AS (SELECT * FROM open UNION ALL SELECT * FROM closed)
        UPDATE open_work w SET lease_until = ${iso(now + leaseMs)}::timestamptz
        FROM due JOIN transactions t ON t.app_id = due.app_id AND t.reference = due.reference
        WHERE w.app_id = due.app_id AND w.reference = due.reference
        RETURNING t.reference, t.record, t.revision, t.traceparent`
      // The lease of one that cannot be read stays, so that nobody comes back to it before the lease runs out.
      return yield* decodeReadable("due", rows)
    }, Effect.orDie)

    const inReview = Effect.fn("Transactions.inReview")(
      (limit: number) =>
        sql`SELECT t.reference, t.record, t.revision FROM open_work w JOIN transactions t ON t.app_id = w.app_id AND t.reference = w.reference
          WHERE w.needs_review ORDER BY w.created_at, w.reference LIMIT ${limit}`.pipe(
          Effect.flatMap((rows) => decodeReadable("in review", rows))
        ),
      Effect.orDie
    )

    // Slice by slice: the index of ages finds a time, and sorts nothing.
    const createdBetween = Effect.fn("Transactions.createdBetween")(function* (
      { from, mode, provider, to }: CreatedRange,
      after: LedgerRecord | null,
      limit: number
    ) {
      const first = after?.createdAt ?? from
      const found: Array<LedgerRecord> = []
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

    const sealedDestination = Effect.fn("Transactions.sealedDestination")(function* (reference: Reference) {
      const rows =
        yield* sql`SELECT w.sealed_destination FROM transactions t JOIN open_work w ON w.app_id = t.app_id AND w.reference = t.reference
          WHERE t.reference = ${reference} AND w.sealed_destination IS NOT NULL`
      const [row] = yield* decodeSealed(rows)
      return Option.fromUndefinedOr(row?.sealed_destination)
    }, Effect.orDie)

    return Transactions.of({
      find,
      byReference,
      byProviderReference,
      history,
      list: transactionList(sql, (rows) => decodeReadable("listed", rows)),
      search: transactionSearch(sql, (rows) => decodeReadable("searched", rows)),
      createdBetween,
      claimDue,
      inReview,
      ...operatorReads(sql, trail),
      sealedDestination
    })
  })
)
