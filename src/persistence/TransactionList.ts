import { Effect, Schema } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import type { AppId, Mode } from "../domain/Ids.ts"
import { iso } from "../domain/Instant.ts"
import type { StoredTransaction, TransactionFilter, TransactionPosition, Transactions } from "../services/ports/Transactions.ts"

/** So many records one page looks at, however few of them its filter lets through. */
const RECORDS_A_PAGE = 5_000
/** The endpoints whose keys stand for a payout or a collection. */
const KEYED_ENDPOINTS = ["POST /v1/collections", "POST /v1/payouts"]

const PlaceRow = Schema.Struct({ at_ms: Schema.Number, reference: Schema.String })
const decodePlaces = Schema.decodeUnknownEffect(Schema.Array(PlaceRow))
/** The place of a row; null where there is none. */
const placeOf = (rows: unknown) =>
  Effect.map(decodePlaces(rows), ([place]): TransactionPosition | null =>
    place === undefined ? null : { createdAt: Math.round(place.at_ms), id: place.reference }
  )

interface ListQuery {
  readonly appId: AppId
  readonly mode: Mode
  readonly filter: TransactionFilter
  readonly from: TransactionPosition | null
}

/**
 * A tenant's list. The index `transactions_by_tenant_and_time` carries the walk, which has to say that each time is later than -infinity; a filter is
 * held against each record on the way.
 * `readable` decodes rows and leaves out those that cannot be read.
 */
export const transactionList = (
  sql: SqlClient.SqlClient,
  readable: (rows: ReadonlyArray<object>) => Effect.Effect<ReadonlyArray<StoredTransaction>>
): Transactions["Service"]["list"] => {
  const moment = sql.literal("(extract(epoch FROM created_at) * 1000)::float8 AS at_ms")

  const inTime = ({ appId, filter: { createdFrom, createdTo }, from, mode }: ListQuery): Statement.Fragment =>
    sql`app_id = ${appId} AND mode = ${mode} AND created_at > '-infinity'
      AND created_at >= ${createdFrom === null ? "-infinity" : iso(createdFrom)}::timestamptz
      AND created_at < ${createdTo === null ? "infinity" : iso(createdTo)}::timestamptz
      AND (created_at, reference) < (${from === null ? "infinity" : iso(from.createdAt)}::timestamptz, ${from?.id ?? ""})`

  const byKey = ({ appId, mode }: ListQuery, key: string): Statement.Fragment =>
    sql`AND reference IN (SELECT k.reference FROM idempotency_keys k
      WHERE k.app_id = ${appId} AND k.mode = ${mode} AND k.endpoint IN ${sql.in(KEYED_ENDPOINTS)} AND k.key = ${key})`

  /** What the filter lets through of the records that a page looks at, the newest first. */
  const matching = (query: ListQuery, limit: number) => {
    const { currency, idempotencyKey, kind, metadata, needsReview, status } = query.filter
    return sql`
      SELECT reference, record, revision, ${moment} FROM (
        SELECT * FROM transactions WHERE ${inTime(query)} ${idempotencyKey === null ? sql`` : byKey(query, idempotencyKey)}
        ORDER BY created_at DESC, reference DESC LIMIT ${RECORDS_A_PAGE}
      ) walked
      WHERE kind <> 'exchange'
        AND (${kind}::text IS NULL OR kind = ${kind})
        AND (${status}::text IS NULL OR status = ${status})
        AND (${needsReview}::boolean IS NULL OR needs_review = ${needsReview})
        AND (${currency}::text IS NULL OR record ->> 'currency' = ${currency})
        AND (${metadata?.key ?? null}::text IS NULL
          OR (record ->> 'metadata')::json ->> ${metadata?.key ?? null} = ${metadata?.value ?? null})
      ORDER BY created_at DESC, reference DESC LIMIT ${limit}`
  }

  /** The last of the records that a page looks at; none where the list ends before it. */
  const lastSeen = (query: ListQuery) =>
    Effect.flatMap(
      sql`SELECT ${moment}, reference FROM transactions WHERE ${inTime(query)}
        ORDER BY created_at DESC, reference DESC OFFSET ${RECORDS_A_PAGE - 1} LIMIT 1`,
      placeOf
    )

  return Effect.fn("Transactions.list")(function* (owner, filter, { from, limit }) {
    const query = { ...owner, filter, from }
    // One more than asked for tells whether there is another page.
    const rows = yield* matching(query, limit + 1)
    const page = rows.slice(0, limit)
    const items = (yield* readable(page)).flatMap(({ transaction }) => (transaction.kind === "exchange" ? [] : [transaction]))
    // Of the rows, and not of what could be read of them: a page that cannot be read does not end the list.
    const end = yield* placeOf(page.slice(-1))
    if (rows.length > limit) return { items, next: end }
    // A key stands for a few records at most.
    const seen = filter.idempotencyKey === null ? yield* lastSeen(query) : null
    return { items, next: seen === null || end === null ? seen : laterOf(seen, end) }
  }, Effect.orDie)
}

/** The place that comes later in a list whose newest comes first. */
const laterOf = (one: TransactionPosition, other: TransactionPosition): TransactionPosition =>
  other.createdAt < one.createdAt || (other.createdAt === one.createdAt && other.id < one.id) ? other : one
