import { Effect, Schema } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import type { Exchange } from "../../domain/Exchange.ts"
import type { AppId, Mode } from "../../domain/Ids.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import type { Payment } from "../../domain/Payment.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import {
  type ListPosition,
  type MetadataMember,
  orderOf,
  type SoughtRecords,
  type StoredTransaction,
  type TransactionFilter,
  type TransactionPage,
  type Transactions
} from "../../services/ports/Transactions.ts"
import { type makeHeavyReads, ofOneMoment } from "../connection/HeavyReads.ts"
import { placesOfKey, placesOfValue } from "./OwnIds.ts"

/** How many places one page examines, however few of their records pass the filter. */
const PLACES_A_PAGE = 5_000
/** The same when the filter needs the record itself, which then has to be read. */
const RECORDS_READ_A_PAGE = 1_000
/** How many of a tenant's newest records are read to collect the names in its metadata. */
const RECORDS_OF_NAMES = 100

const PlaceRow = Schema.Struct({ at_ms: Schema.Number, reference: Schema.String })
const decodePlaces = Schema.decodeUnknownEffect(Schema.Array(PlaceRow))
/** The place of a row; null when there is none. */
const placeOf = (rows: unknown) =>
  Effect.map(decodePlaces(rows), ([place]): ListPosition | null =>
    place === undefined ? null : { at: Math.round(place.at_ms), id: place.reference }
  )

/** Which records a list contains. `endpoints`: the endpoints whose keys can lead to one. */
interface Kind {
  readonly isExchange: boolean
  readonly endpoints: ReadonlyArray<string>
}
export const PAYMENTS: Kind = { isExchange: false, endpoints: ["POST /v1/collections", "POST /v1/payouts"] }
const EXCHANGES: Kind = { isExchange: true, endpoints: ["POST /v1/fx/exchange"] }

interface ListQuery {
  readonly appId: AppId
  readonly mode: Mode
  readonly of: Kind
  readonly filter: TransactionFilter
  /** A search in order of creation; null: all records. */
  readonly sought: SoughtRecords | null
  readonly from: ListPosition | null
}

type Lists = Pick<Transactions["Service"], "list" | "exchanges" | "sought">

/** Half-open; null at an open end. */
interface Span {
  readonly from: Instant | null
  readonly to: Instant | null
}

const everything: TransactionFilter = {
  kind: null,
  status: null,
  needsReview: null,
  currency: null,
  created: null,
  completed: null,
  updatedFrom: null,
  idempotencyKey: null,
  metadata: null
}
/** The column with the keyed hash for each. */
export const hashColumns = { party: "party_hash", account: "account_hash" } as const

/** Only the metadata of payments is in `metadata_members`. */
const soughtBy = (of: Kind, filter: TransactionFilter): SoughtRecords | null =>
  filter.metadata === null || of.isExchange || orderOf(filter) !== "created"
    ? null
    : { _tag: "metadata", members: [filter.metadata] }

const placesOf = ({ filter, of, sought }: ListQuery): number => {
  const isRead = filter.currency !== null || filter.metadata !== null || sought !== null
  // Whether a place in the journal is its record's place is known only from the record.
  const isHeld = orderOf(filter) === "created" ? filter.completed !== null || filter.updatedFrom !== null : !of.isExchange
  return isRead || isHeld ? RECORDS_READ_A_PAGE : PLACES_A_PAGE
}

/**
 * A tenant's lists. Each page walks a bounded number of places along one index, and applies the filter to each record:
 *
 * - in order of creation along `transactions_by_tenant_and_time`, for exchanges along `exchanges_by_tenant_and_time`, which
 *   require the condition that each time is later than -infinity. A search for a metadata member of a payment or a receipt
 *   walks `metadata_members`, and a search for a number the index of its hash. The record is compared with a member or receipt
 *   too, because two may share a hash;
 * - in order of completion or of change along `journal_by_tenant_and_time`: a line is the place of its record if the record was
 *   completed, or last changed, at the time of that line.
 *
 * `readable` decodes rows and leaves out those that cannot be read.
 */
export const transactionLists = (
  sql: SqlClient.SqlClient,
  heavy: ReturnType<typeof makeHeavyReads>,
  readable: (rows: ReadonlyArray<object>) => Effect.Effect<ReadonlyArray<StoredTransaction>>
): Lists => {
  const moment = sql.literal("(extract(epoch FROM at) * 1000)::float8 AS at_ms")
  const { places, walked } = placesIn(sql)
  const { fits, inItsTimes } = conditionsOn(sql)

  /** The records in a page's range that pass the filter, in the list's order. */
  const matching = (query: ListQuery, limit: number) => {
    const { currency, kind, needsReview, status } = query.filter
    const direction = sql.literal(orderOf(query.filter) === "updated" ? "ASC" : "DESC")
    return sql`
      SELECT reference, record, revision, ${moment} FROM ${walked(query)}
      WHERE kind ${sql.literal(query.of.isExchange ? "=" : "<>")} 'exchange'
        AND (${kind}::text IS NULL OR kind = ${kind})
        AND (${status}::text IS NULL OR status = ${status})
        AND (${needsReview}::boolean IS NULL OR needs_review = ${needsReview})
        AND (${currency}::text IS NULL OR well_formed(record) ->> 'currency' = ${currency}
          OR kind = 'exchange' AND well_formed(record) ->> 'destinationCurrency' = ${currency})
        ${fits(query).reduce((all, one) => sql`${all} ${one}`, sql``)}
        ${inItsTimes(query)}
      ORDER BY at ${direction}, reference ${direction} LIMIT ${limit}`
  }

  /** The last of the places that a page examines; none when the list ends before it. */
  const lastSeen = (query: ListQuery) =>
    Effect.flatMap(sql`SELECT ${moment}, reference FROM (${places(query)} OFFSET ${placesOf(query) - 1} LIMIT 1) last`, placeOf)

  const pageOf = Effect.fnUntraced(function* (query: ListQuery, limit: number) {
    // One more than requested shows whether there is another page.
    const rows = yield* matching(query, limit + 1)
    const page = rows.slice(0, limit)
    const items = (yield* readable(page)).map(({ transaction }) => transaction)
    // From the rows, not from those that could be decoded: an unreadable page does not end the list.
    if (rows.length > limit) return { items, next: yield* placeOf(page.slice(-1)) }
    // A key leads to a few records at most.
    return { items, next: query.filter.idempotencyKey === null ? yield* lastSeen(query) : null }
  })

  // In one snapshot: a commit between two statements would shift the last examined place.
  const inItsTurn = (query: ListQuery, limit: number) =>
    heavy(`${query.appId}:${query.mode}`)(ofOneMoment(sql)(pageOf(query, limit))).pipe(
      Effect.catchTags({ SqlError: Effect.die, SchemaError: Effect.die })
    )
  const only =
    <R extends Transaction>(isOne: (record: Transaction) => record is R) =>
    ({ items, next }: TransactionPage<Transaction>): TransactionPage<R> => ({ items: items.filter(isOne), next })

  return {
    list: Effect.fn("Transactions.list")((owner, filter, { from, limit }) =>
      Effect.map(inItsTurn({ ...owner, of: PAYMENTS, filter, sought: soughtBy(PAYMENTS, filter), from }, limit), only(isPayment))
    ),
    exchanges: Effect.fn("Transactions.exchanges")((owner, filter, { from, limit }) =>
      Effect.map(inItsTurn({ ...owner, of: EXCHANGES, filter, sought: null, from }, limit), only(isExchange))
    ),
    sought: Effect.fn("Transactions.sought")((owner, sought, { from, limit }) =>
      Effect.map(inItsTurn({ ...owner, of: PAYMENTS, filter: everything, sought, from }, limit), only(isPayment))
    )
  }
}

const isPayment = (record: Transaction): record is Payment => record.kind !== "exchange"
const isExchange = (record: Transaction): record is Exchange => record.kind === "exchange"

const startOf = (span: Span | null) => (span === null || span.from === null ? "-infinity" : iso(span.from))
const endOf = (span: Span | null) => (span === null || span.to === null ? "infinity" : iso(span.to))

/** The places of a list in its order, and the records at them. */
const placesIn = (sql: SqlClient.SqlClient) => {
  /** The rows of the tenant and mode within a time range, after the end of the previous page; null at the beginning of a list. */
  const inTime = ({ appId, filter, from, mode }: ListQuery, span: Span | null, at: Statement.Fragment): Statement.Fragment => {
    const isAscending = orderOf(filter) === "updated"
    return sql`app_id = ${appId} AND mode = ${mode} AND ${at} > '-infinity'
      AND ${at} >= ${startOf(span)}::timestamptz AND ${at} < ${endOf(span)}::timestamptz
      AND (${at}, reference) ${sql.literal(isAscending ? ">" : "<")}
        (${from === null ? (isAscending ? "-infinity" : "infinity") : iso(from.at)}::timestamptz, ${from?.id ?? ""})`
  }

  const byKey = ({ appId, filter, mode, of }: ListQuery): Statement.Fragment =>
    filter.idempotencyKey === null
      ? sql``
      : sql`AND reference IN (SELECT k.reference FROM idempotency_keys k
          WHERE k.app_id = ${appId} AND k.mode = ${mode} AND k.endpoint IN ${sql.in(of.endpoints)} AND k.key = ${filter.idempotencyKey})`

  const createdAt = sql.literal("created_at")
  const bookedAt = sql.literal("at")

  const ofMember = (query: ListQuery, { key, value }: MetadataMember): Statement.Fragment =>
    sql`FROM metadata_members WHERE member = metadata_member(${key}, ${value}) AND ${inTime(query, query.filter.created, createdAt)}`

  /** A number can be a payer's and a recipient's, each with its own walk. */
  const ofParty = (query: ListQuery, column: string, hashes: ReadonlyArray<Uint8Array>): Statement.Fragment => {
    const walks = hashes.map(
      (
        hash
      ) => sql`(SELECT created_at, reference FROM transactions WHERE ${sql(column)} = ${hash} AND ${inTime(query, null, createdAt)}
        ORDER BY created_at DESC, reference DESC LIMIT ${placesOf(query)})`
    )
    return sql`FROM (${sql.join(" UNION ALL ", false)(walks)}) of_party`
  }

  const origin = (query: ListQuery): Statement.Fragment => {
    const { of, sought } = query
    switch (sought?._tag) {
      case undefined:
        return sql`FROM transactions WHERE ${of.isExchange ? sql.literal("kind = 'exchange' AND") : sql``} ${inTime(query, query.filter.created, createdAt)}`
      case "party":
      case "account":
        return ofParty(query, hashColumns[sought._tag], sought.hashes)
      case "receipt":
        return ofMember(query, { key: "", value: `receipt ${sought.identity}` })
      case "metadata":
        return sought.members[0] === undefined ? sql`FROM transactions WHERE false` : ofMember(query, sought.members[0])
      case "value":
        return sql`FROM ${placesOfValue(sql, sought.value, {
          owner: sql`app_id = ${query.appId} AND mode = ${query.mode} AND created_at > '-infinity'`,
          records: RECORDS_OF_NAMES,
          within: inTime(query, null, createdAt),
          limit: placesOf(query)
        })} WHERE true`
      case "key": {
        const { appId, mode } = query
        return sql`FROM ${placesOfKey(sql, sought.key, { appId, mode, endpoints: of.endpoints })} WHERE ${inTime(query, null, createdAt)}`
      }
    }
  }

  /** The places of a list in their order: the time and the reference of each. */
  const places = (query: ListQuery, columns = "reference"): Statement.Fragment => {
    const { completed, updatedFrom } = query.filter
    switch (orderOf(query.filter)) {
      case "created":
        return sql`SELECT created_at AS at, ${sql.literal(columns)} ${origin(query)} ${byKey(query)} ORDER BY created_at DESC, reference DESC`
      case "completed":
        return sql`SELECT DISTINCT at, reference FROM journal WHERE ${inTime(query, completed, bookedAt)} ORDER BY at DESC, reference DESC`
      case "updated":
        return sql`SELECT DISTINCT at, reference FROM journal WHERE ${inTime(query, { from: updatedFrom, to: null }, bookedAt)}
          ORDER BY at, reference`
    }
  }

  /** Each record is looked up by its key, in the order of the walk, so that the last one of a page is the last one read. */
  const walked = (query: ListQuery): Statement.Fragment =>
    orderOf(query.filter) === "created" && query.sought === null
      ? sql`(${places(query, "reference, created_at, kind, status, needs_review, record, revision")} LIMIT ${placesOf(query)}) walked`
      : sql`(${places(query)} LIMIT ${placesOf(query)}) found CROSS JOIN LATERAL (
          SELECT created_at, kind, status, needs_review, record, revision FROM transactions
          WHERE app_id = ${query.appId} AND reference = found.reference AND mode = ${query.mode} LIMIT 1) walked`

  return { places, walked }
}

/** The conditions for a record to match. The hash of a number identifies it; that of a member or receipt narrows the search. */
export const heldAgainst = (sql: SqlClient.SqlClient, sought: SoughtRecords): ReadonlyArray<Statement.Fragment> => {
  if (sought._tag === "receipt")
    return [sql`AND receipt_identity(well_formed(record) ->> 'providerReceipt') = ${sought.identity}`]
  if (sought._tag === "value")
    return [
      sql`AND EXISTS (SELECT 1 FROM json_each_text((well_formed(record) ->> 'metadata')::json) m WHERE m.value = ${sought.value})`
    ]
  const members = sought._tag === "metadata" ? sought.members : []
  return members.map(({ key, value }) => sql`AND (well_formed(record) ->> 'metadata')::json ->> ${key} = ${value}`)
}

/** The conditions of a list that only the record itself, or its row, can answer. */
const conditionsOn = (sql: SqlClient.SqlClient) => {
  const momentIn = (member: "completedAt" | "updatedAt") => sql.literal(`(well_formed(record) ->> '${member}')::numeric`)
  const place = sql.literal("extract(epoch FROM at) * 1000")
  const within = (member: "completedAt" | "updatedAt", { from, to }: Span) => sql`
    ${from === null ? sql`` : sql`AND ${momentIn(member)} >= ${from}`} ${to === null ? sql`` : sql`AND ${momentIn(member)} < ${to}`}`

  /** Whether a place is its record's, and the record is within the requested times. */
  const inItsTimes = ({ filter }: ListQuery): Statement.Fragment => {
    const { completed, created, updatedFrom } = filter
    const order = orderOf(filter)
    return sql`
      ${order === "completed" ? sql`AND ${momentIn("completedAt")} = ${place}` : sql``}
      ${order === "updated" ? sql`AND ${momentIn("updatedAt")} = ${place}` : sql``}
      ${order === "created" || created === null ? sql`` : sql`AND created_at >= ${startOf(created)}::timestamptz AND created_at < ${endOf(created)}::timestamptz`}
      ${order === "completed" || completed === null ? sql`` : sql`AND ${momentIn("completedAt")} IS NOT NULL ${within("completedAt", completed)}`}
      ${order === "updated" || updatedFrom === null ? sql`` : within("updatedAt", { from: updatedFrom, to: null })}`
  }

  const fits = ({ filter, sought }: ListQuery): ReadonlyArray<Statement.Fragment> => {
    if (sought !== null) return heldAgainst(sql, sought)
    return filter.metadata === null ? [] : heldAgainst(sql, { _tag: "metadata", members: [filter.metadata] })
  }

  return { fits, inItsTimes }
}
