import { Clock, Effect, Schema } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { type Instant, iso } from "../../domain/Instant.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import type { ListPosition, RecordFilter, StoredTransaction, Transactions } from "../../services/ports/Transactions.ts"
import { Distribution } from "../connection/Distribution.ts"
import { type makeHeavyReads, OPERATORS } from "../connection/HeavyReads.ts"
import { Moment } from "../connection/Rows.ts"
import { soughtEverywhere } from "./SoughtEverywhere.ts"

/** The most recent interval, which is searched first; each further step back is twice as long. */
const FIRST_STEP_MS = 900_000
/** No step back begins later. One more takes about as long as all before it, well below the statement timeout. */
const LOOK_FOR_MS = 4_000

const decodePlaces = Schema.decodeUnknownEffect(Schema.Array(Schema.Struct({ created_at: Moment, reference: Schema.String })))

/** The records created since `from` and, in the list's order, after `to`; null at an open end. */
interface Span {
  readonly from: Instant | null
  readonly to: ListPosition | null
}

type Readable = (rows: ReadonlyArray<object>) => Effect.Effect<ReadonlyArray<StoredTransaction>>

/** An operator's searches. On Citus a customer's words are not searched over all tenants: each index begins with the tenant. */
export const operatorSearches = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  heavy: ReturnType<typeof makeHeavyReads>,
  readable: Readable
) {
  const { isDistributed } = yield* Distribution
  return {
    search: transactionSearch(sql, heavy, readable),
    soughtEverywhere: isDistributed ? () => Effect.succeed(null) : soughtEverywhere(sql, heavy, readable)
  }
})

/**
 * An operator's search over all tenants. Each step back uses the index by age, or the tenant's own index when one is named,
 * which requires the condition that each time is later than -infinity. The filter is applied to each record. `readable` decodes
 * rows and leaves out those that cannot be read.
 */
const transactionSearch = (
  sql: SqlClient.SqlClient,
  heavy: ReturnType<typeof makeHeavyReads>,
  readable: Readable
): Transactions["Service"]["search"] => {
  const amount = sql.literal("(well_formed(t.record) ->> 'amount')::numeric")
  const amountCurrency = sql.literal("coalesce(well_formed(t.record) ->> 'amountCurrency', well_formed(t.record) ->> 'currency')")
  /** A condition on the record, for which there is no index. */
  const member = (path: string, wanted: string | undefined) =>
    wanted === undefined ? sql`` : sql`AND well_formed(t.record) #>> ${path}::text[] = ${wanted}`

  const ofRecord = ({ amountFrom, amountTo, corridor, currency, failure, partyEnd }: RecordFilter) => sql`
      ${amountFrom === null ? sql`` : sql`AND ${amount} >= ${amountFrom.toString()}::numeric`}
      ${amountTo === null ? sql`` : sql`AND ${amount} <= ${amountTo.toString()}::numeric`}
      ${currency === null ? sql`` : sql`AND ${amountCurrency} = ${currency}`}
      ${member("{failure,code}", failure ?? undefined)}
      ${member("{corridor,country}", corridor?.country)}
      ${member("{corridor,currency}", corridor?.currency)}
      ${member("{corridor,method}", corridor?.method)}
      ${partyEnd === null ? sql`` : sql`AND right(coalesce(well_formed(t.record) ->> 'maskedDestination', well_formed(t.record) ->> 'maskedSource'), 4) = ${partyEnd}`}`

  const matching = (filter: RecordFilter, { from, to }: Span, limit: number): Statement.Statement<object> => {
    const { appId, isUnknown, kind, mode, needsReview, provider, status } = filter
    // Within the millisecond in which a page ended, only the rows after its end remain.
    const isWithin = to !== null && to.id !== ""
    return sql`
    SELECT t.reference, t.record, t.revision, t.created_at FROM ${needsReview ? waiting : sql.literal("transactions t")}
    WHERE t.created_at >= ${from === null ? "-infinity" : iso(from)}::timestamptz
      AND t.created_at < ${to === null ? "infinity" : iso(isWithin ? to.at + 1 : to.at)}::timestamptz
      ${isWithin ? sql`AND (t.created_at, t.reference) < (${iso(to.at)}::timestamptz, ${to.id})` : sql``}
      ${appId === null ? sql`` : sql`AND t.app_id = ${appId} AND t.created_at > '-infinity'`}
      ${mode === null ? sql`` : sql`AND t.mode = ${mode}`}
      ${kind === null ? sql`` : sql`AND t.kind = ${kind}`}
      ${status === null ? sql`` : sql`AND t.status = ${status}`}
      ${provider === null ? sql`` : sql`AND t.provider = ${provider}`}
      ${ofRecord(filter)} ${isUnknown ? unanswered : sql``}
    ORDER BY t.created_at DESC, t.reference DESC LIMIT ${limit}`
  }

  // The records in review are few, however old.
  const waiting = sql.literal(
    "open_work w JOIN transactions t ON w.needs_review AND t.app_id = w.app_id AND t.reference = w.reference"
  )

  // Each revision has its line in the history, and none is older than its record; the day allows for clock differences.
  const unanswered = sql.literal(`AND t.status IN ('pending', 'requires_action') AND EXISTS (
        SELECT 1 FROM transaction_history h WHERE h.app_id = t.app_id AND h.reference = t.reference AND h.line = t.revision
          AND h.at >= t.created_at - interval '1 day' AND h.fact IN ('Unknown', 'NotFound'))`)

  const found = Effect.fnUntraced(function* (filter: RecordFilter, limit: number, position: ListPosition | null) {
    const { createdFrom: from, createdTo, needsReview } = filter
    const began = yield* Clock.currentTimeMillis
    const items: Array<Transaction> = []
    /** Null when it has found everything in the span; otherwise where it continues. */
    const take = Effect.fnUntraced(function* (span: Span) {
      const room = limit - items.length
      // One more than requested shows whether there is another.
      const rows = yield* matching(filter, span, room + 1)
      const page = rows.slice(0, room)
      items.push(...(yield* readable(page)).map(({ transaction }) => transaction))
      const [last] = yield* decodePlaces(page.slice(-1))
      return rows.length > room && last !== undefined ? { at: last.created_at, id: last.reference } : null
    })

    const newest = createdTo === null ? null : { at: createdTo, id: "" }
    let end = position !== null && (newest === null || position.at < newest.at) ? position : newest
    if (needsReview) return { items, next: yield* take({ from, to: end }) }
    for (let step = FIRST_STEP_MS; ; step *= 2) {
      const start = (end?.at ?? began) - step
      const isLast = start <= (from ?? 0)
      const cut = yield* take({ from: isLast ? from : start, to: end })
      if (cut !== null || isLast) return { items, next: cut }
      end = { at: start, id: "" }
      const isLate = (yield* Clock.currentTimeMillis) - began > LOOK_FOR_MS
      if (isLate || items.length >= limit) return { items, next: end }
    }
  })

  return Effect.fn("Transactions.search")((filter, { from, limit }) =>
    heavy(OPERATORS)(found(filter, limit, from)).pipe(Effect.catchTags({ SqlError: Effect.die, SchemaError: Effect.die }))
  )
}
