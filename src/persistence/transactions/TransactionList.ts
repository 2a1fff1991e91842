import { Clock, Effect, Schema } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import type { AppId, Mode } from "../../domain/Ids.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import type {
  MetadataMember,
  RecordFilter,
  SoughtRecords,
  StoredTransaction,
  TransactionFilter,
  TransactionPosition,
  Transactions
} from "../../services/ports/Transactions.ts"
import type { makeHeavyReads } from "../connection/HeavyReads.ts"
import { laterOf, Moment } from "../connection/Rows.ts"

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
  /** Null: all of them. */
  readonly sought: SoughtRecords | null
  readonly from: TransactionPosition | null
}

const recordsOf = ({ filter, sought }: ListQuery): number =>
  filter.currency === null && sought === null ? RECORDS_A_PAGE : RECORDS_READ_A_PAGE

const everything: TransactionFilter = {
  kind: null,
  status: null,
  needsReview: null,
  currency: null,
  createdFrom: null,
  createdTo: null,
  idempotencyKey: null,
  metadata: null
}
/** Where the keyed hash stands that each is found by. */
const hashColumns = { party: "party_hash", account: "account_hash" } as const

/**
 * A tenant's list, and what is sought in it. The index `transactions_by_tenant_and_time` carries the walk, which has to say that each time is later than
 * -infinity; where a member of metadata or a receipt is sought `metadata_members`, and where a number is the index of its hash. A filter is held against
 * each record on the way, and so is a member or receipt: two may have one hash. `readable` decodes rows and leaves out those that cannot be read.
 */
export const transactionLists = (
  sql: SqlClient.SqlClient,
  heavy: ReturnType<typeof makeHeavyReads>,
  readable: (rows: ReadonlyArray<object>) => Effect.Effect<ReadonlyArray<StoredTransaction>>
): Pick<Transactions["Service"], "list" | "sought"> => {
  const moment = sql.literal("(extract(epoch FROM created_at) * 1000)::float8 AS at_ms")

  const inTime = ({ appId, filter: { createdFrom, createdTo }, from, mode }: ListQuery): Statement.Fragment =>
    sql`app_id = ${appId} AND mode = ${mode} AND created_at > '-infinity'
      AND created_at >= ${createdFrom === null ? "-infinity" : iso(createdFrom)}::timestamptz
      AND created_at < ${createdTo === null ? "infinity" : iso(createdTo)}::timestamptz
      AND (created_at, reference) < (${from === null ? "infinity" : iso(from.createdAt)}::timestamptz, ${from?.id ?? ""})`

  const byKey = ({ appId, mode }: ListQuery, key: string): Statement.Fragment =>
    sql`AND reference IN (SELECT k.reference FROM idempotency_keys k
      WHERE k.app_id = ${appId} AND k.mode = ${mode} AND k.endpoint IN ${sql.in(KEYED_ENDPOINTS)} AND k.key = ${key})`

  const ofMember = (query: ListQuery, { key, value }: MetadataMember): Statement.Fragment =>
    sql`FROM metadata_members WHERE member = metadata_member(${key}, ${value}) AND ${inTime(query)}`

  /** A number is that of a payer and that of a recipient, each of which has a walk of its own. */
  const ofParty = (query: ListQuery, column: string, hashes: ReadonlyArray<Uint8Array>): Statement.Fragment => {
    const walks = hashes.map(
      (hash) => sql`(SELECT created_at, reference FROM transactions WHERE ${sql(column)} = ${hash} AND ${inTime(query)}
        ORDER BY created_at DESC, reference DESC LIMIT ${recordsOf(query)})`
    )
    return sql`FROM (${sql.join(" UNION ALL ", false)(walks)}) of_party`
  }

  const origin = (query: ListQuery): Statement.Fragment => {
    const { sought } = query
    switch (sought?._tag) {
      case undefined:
        return sql`FROM transactions WHERE ${inTime(query)}`
      case "party":
      case "account":
        return ofParty(query, hashColumns[sought._tag], sought.hashes)
      case "receipt":
        return ofMember(query, { key: "", value: `receipt ${sought.identity}` })
      case "metadata":
        return sought.members[0] === undefined ? sql`FROM transactions WHERE false` : ofMember(query, sought.members[0])
    }
  }

  /** Where the records are walked, the newest first. */
  const places = (query: ListQuery): Statement.Fragment => {
    const { idempotencyKey } = query.filter
    return sql`${origin(query)} ${idempotencyKey === null ? sql`` : byKey(query, idempotencyKey)} ORDER BY created_at DESC, reference DESC`
  }

  /** Each is found by its key, in the order of the walk, so that the last of a page is the last that is read. */
  const walked = (query: ListQuery): Statement.Fragment =>
    query.sought === null
      ? sql`(SELECT * ${places(query)} LIMIT ${recordsOf(query)}) walked`
      : sql`(SELECT created_at, reference ${places(query)} LIMIT ${recordsOf(query)}) found CROSS JOIN LATERAL (
          SELECT kind, status, needs_review, record, revision FROM transactions
          WHERE app_id = ${query.appId} AND reference = found.reference AND mode = ${query.mode} LIMIT 1) walked`

  /** A hash of a number is whole; one of a member or a receipt only narrows. */
  const fits = (sought: SoughtRecords | null): ReadonlyArray<Statement.Fragment> => {
    if (sought?._tag === "receipt")
      return [sql`AND receipt_identity(well_formed(record) ->> 'providerReceipt') = ${sought.identity}`]
    if (sought?._tag !== "metadata") return []
    return sought.members.map(({ key, value }) => sql`AND (well_formed(record) ->> 'metadata')::json ->> ${key} = ${value}`)
  }

  /** The records of a page's range that pass the filter, the newest first. */
  const matching = (query: ListQuery, limit: number) => {
    const { currency, kind, needsReview, status } = query.filter
    return sql`
      SELECT reference, record, revision, ${moment} FROM ${walked(query)}
      WHERE kind <> 'exchange'
        AND (${kind}::text IS NULL OR kind = ${kind})
        AND (${status}::text IS NULL OR status = ${status})
        AND (${needsReview}::boolean IS NULL OR needs_review = ${needsReview})
        AND (${currency}::text IS NULL OR well_formed(record) ->> 'currency' = ${currency})
        ${fits(query.sought).reduce((all, one) => sql`${all} ${one}`, sql``)}
      ORDER BY created_at DESC, reference DESC LIMIT ${limit}`
  }

  /** The last of the records that a page looks at; none where the list ends before it. */
  const lastSeen = (query: ListQuery) =>
    Effect.flatMap(sql`SELECT ${moment}, reference ${places(query)} OFFSET ${recordsOf(query) - 1} LIMIT 1`, placeOf)

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

  const inItsTurn = (query: ListQuery, limit: number) =>
    heavy(`${query.appId}:${query.mode}`)(pageOf(query, limit)).pipe(
      Effect.catchTags({ SqlError: Effect.die, SchemaError: Effect.die })
    )

  return {
    list: Effect.fn("Transactions.list")((owner, filter, { from, limit }) => {
      const { metadata } = filter
      const sought = metadata === null ? null : ({ _tag: "metadata", members: [metadata] } as const)
      return inItsTurn({ ...owner, filter, sought, from }, limit)
    }),
    sought: Effect.fn("Transactions.sought")((owner, sought, { from, limit }) =>
      inItsTurn({ ...owner, filter: everything, sought, from }, limit)
    )
  }
}

const laterPlace = laterOf(({ createdAt }: TransactionPosition) => createdAt)

/** The newest so much is looked at first; each further step back is twice as long. */
const FIRST_STEP_MS = 900_000
/** No step back begins later than this. One more takes about as long as all before it together, well below the statement timeout. */
const LOOK_FOR_MS = 4_000
/** The name under which all operators take turns in heavy reads. No tenant has this name. */
const CONSOLE = "console"

const decodeCreated = Schema.decodeUnknownEffect(Schema.Array(Schema.Struct({ created_at: Moment })))

/** The records created in `from <= created < to`; null at an open end. */
interface Span {
  readonly from: Instant | null
  readonly to: Instant | null
}

/**
 * An operator's search over all tenants. The index of ages finds each step back, and a tenant's own index where one is named, which has
 * to say that each time is later than -infinity; the filter is held against each record on the way. `readable` decodes rows and leaves out those that
 * cannot be read.
 */
export const transactionSearch = (
  sql: SqlClient.SqlClient,
  heavy: ReturnType<typeof makeHeavyReads>,
  readable: (rows: ReadonlyArray<object>) => Effect.Effect<ReadonlyArray<StoredTransaction>>
): Transactions["Service"]["search"] => {
  const matching = (
    { amount, appId, currency, kind, mode, needsReview, partyEnd, provider, status }: RecordFilter,
    { from, to }: Span,
    limit: number
  ): Statement.Statement<object> => sql`
    SELECT t.reference, t.record, t.revision, t.created_at FROM ${needsReview ? waiting : sql.literal("transactions t")}
    WHERE t.created_at >= ${from === null ? "-infinity" : iso(from)}::timestamptz
      AND t.created_at < ${to === null ? "infinity" : iso(to)}::timestamptz
      ${appId === null ? sql`` : sql`AND t.app_id = ${appId} AND t.created_at > '-infinity'`}
      ${mode === null ? sql`` : sql`AND t.mode = ${mode}`}
      ${kind === null ? sql`` : sql`AND t.kind = ${kind}`}
      ${status === null ? sql`` : sql`AND t.status = ${status}`}
      ${provider === null ? sql`` : sql`AND t.provider = ${provider}`}
      ${amount === null ? sql`` : sql`AND well_formed(t.record) ->> 'amount' = ${amount.toString()}`}
      ${currency === null ? sql`` : sql`AND well_formed(t.record) ->> 'currency' = ${currency}`}
      ${partyEnd === null ? sql`` : sql`AND right(coalesce(well_formed(t.record) ->> 'maskedDestination', well_formed(t.record) ->> 'maskedSource'), 4) = ${partyEnd}`}
    ORDER BY t.created_at DESC, t.reference DESC LIMIT ${limit}`

  // The records that wait for a person are few, however old they are.
  const waiting = sql.literal(
    "open_work w JOIN transactions t ON w.needs_review AND t.app_id = w.app_id AND t.reference = w.reference"
  )

  const found = Effect.fnUntraced(function* (filter: RecordFilter, limit: number) {
    const { createdFrom: from, createdTo: to, needsReview } = filter
    const began = yield* Clock.currentTimeMillis
    const items: Array<Transaction> = []
    /** Null where it has found all of the span; else what was created before is still to be looked at. */
    const take = Effect.fnUntraced(function* (span: Span) {
      const room = limit - items.length
      // One more than asked for tells whether there is another.
      const rows = yield* matching(filter, span, room + 1)
      const page = rows.slice(0, room)
      items.push(...(yield* readable(page)).map(({ transaction }) => transaction))
      const [last] = yield* decodeCreated(page.slice(-1))
      // Others may be of the same millisecond: a search for what is older finds the last one again.
      return rows.length > room && last !== undefined ? last.created_at + 1 : null
    })

    if (needsReview) return { items, olderThan: yield* take({ from, to }) }
    let end = to
    for (let step = FIRST_STEP_MS; ; step *= 2) {
      const start = (end ?? began) - step
      const isLast = start <= (from ?? 0)
      const cut = yield* take({ from: isLast ? from : start, to: end })
      if (cut !== null || isLast) return { items, olderThan: cut }
      end = start
      const isLate = (yield* Clock.currentTimeMillis) - began > LOOK_FOR_MS
      if (isLate || items.length >= limit) return { items, olderThan: end }
    }
  })

  return Effect.fn("Transactions.search")((filter, limit) =>
    heavy(CONSOLE)(found(filter, limit)).pipe(Effect.catchTags({ SqlError: Effect.die, SchemaError: Effect.die }))
  )
}
