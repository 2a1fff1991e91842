import { Effect, Schema } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import type { AppId, Mode } from "../../domain/Ids.ts"
import { iso } from "../../domain/Instant.ts"
import type {
  StoredTransaction,
  TransactionFilter,
  TransactionPosition,
  Transactions
} from "../../services/ports/Transactions.ts"
import type { makeHeavyReads } from "../connection/HeavyReads.ts"
import { laterOf } from "../connection/PlaceInList.ts"

/** So many records one page looks at, however few of them its filter lets through. */
const RECORDS_A_PAGE = 5_000
/** The same where the filter asks what only the record itself says, which has to be read for it. */
const RECORDS_READ_A_PAGE = 1_000
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

const recordsOf = ({ currency, metadata }: TransactionFilter): number =>
  currency === null && metadata === null ? RECORDS_A_PAGE : RECORDS_READ_A_PAGE

/**
 * A tenant's list. The index `transactions_by_tenant_and_time` carries the walk, which has to say that each time is later than -infinity, or where a member
 * of metadata is asked for `metadata_members`; a filter is held against each record on the way, and so is that member: two may have one hash.
 * `readable` decodes rows and leaves out those that cannot be read.
 */
export const transactionList = (
  sql: SqlClient.SqlClient,
  heavy: ReturnType<typeof makeHeavyReads>,
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

  /** Where the records are walked, the newest first. */
  const places = (query: ListQuery): Statement.Fragment => {
    const { idempotencyKey, metadata } = query.filter
    const from =
      metadata === null
        ? sql`FROM transactions WHERE ${inTime(query)}`
        : sql`FROM metadata_members WHERE member = metadata_member(${metadata.key}, ${metadata.value}) AND ${inTime(query)}`
    return sql`${from} ${idempotencyKey === null ? sql`` : byKey(query, idempotencyKey)} ORDER BY created_at DESC, reference DESC`
  }

  /** Each is found by its key, in the order of the walk, so that the last of a page is the last that is read. */
  const walked = (query: ListQuery): Statement.Fragment =>
    query.filter.metadata === null
      ? sql`(SELECT * ${places(query)} LIMIT ${recordsOf(query.filter)}) walked`
      : sql`(SELECT created_at, reference ${places(query)} LIMIT ${recordsOf(query.filter)}) found CROSS JOIN LATERAL (
          SELECT kind, status, needs_review, record, revision FROM transactions
          WHERE app_id = ${query.appId} AND reference = found.reference AND mode = ${query.mode} LIMIT 1) walked`

  /** What the filter lets through of the records that a page looks at, the newest first. */
  const matching = (query: ListQuery, limit: number) => {
    const { currency, kind, metadata, needsReview, status } = query.filter
    return sql`
      SELECT reference, record, revision, ${moment} FROM ${walked(query)}
      WHERE kind <> 'exchange'
        AND (${kind}::text IS NULL OR kind = ${kind})
        AND (${status}::text IS NULL OR status = ${status})
        AND (${needsReview}::boolean IS NULL OR needs_review = ${needsReview})
        AND (${currency}::text IS NULL OR well_formed(record) ->> 'currency' = ${currency})
        AND (${metadata?.key ?? null}::text IS NULL
          OR (well_formed(record) ->> 'metadata')::json ->> ${metadata?.key ?? null} = ${metadata?.value ?? null})
      ORDER BY created_at DESC, reference DESC LIMIT ${limit}`
  }

  /** The last of the records that a page looks at; none where the list ends before it. */
  const lastSeen = (query: ListQuery) =>
    Effect.flatMap(sql`SELECT ${moment}, reference ${places(query)} OFFSET ${recordsOf(query.filter) - 1} LIMIT 1`, placeOf)

  const pageOf = Effect.fnUntraced(function* (query: ListQuery, limit: number) {
    // One more than asked for tells whether there is another page.
    const rows = yield* matching(query, limit + 1)
    const page = rows.slice(0, limit)
    const items = (yield* readable(page)).flatMap(({ transaction }) => (transaction.kind === "exchange" ? [] : [transaction]))
    // Of the rows, and not of what could be read of them: a page that cannot be read does not end the list.
    const end = yield* placeOf(page.slice(-1))
    if (rows.length > limit) return { items, next: end }
    // A key stands for a few records at most.
    const seen = query.filter.idempotencyKey === null ? yield* lastSeen(query) : null
    return { items, next: seen === null || end === null ? seen : laterPlace(seen, end) }
  })

  return Effect.fn("Transactions.list")((owner, filter, { from, limit }) =>
    heavy(`${owner.appId}:${owner.mode}`)(pageOf({ ...owner, filter, from }, limit)).pipe(
      Effect.catchTags({ SqlError: Effect.die, SchemaError: Effect.die })
    )
  )
}

const laterPlace = laterOf(({ createdAt }: TransactionPosition) => createdAt)
