import { Clock, Effect, Schema } from "effect"
import type { SqlClient, Statement } from "effect/sql"
import { type Instant, iso } from "../../domain/Instant.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import type { RecordFilter, StoredTransaction, Transactions } from "../../services/ports/Transactions.ts"
import { Distribution } from "../connection/Distribution.ts"
import { type makeHeavyReads, OPERATORS } from "../connection/HeavyReads.ts"
import { Moment } from "../connection/Rows.ts"
import { soughtEverywhere } from "./SoughtEverywhere.ts"

/** The newest so much is looked at first; each further step back is twice as long. */
const FIRST_STEP_MS = 900_000
/** No step back begins later than this. One more takes about as long as all before it together, well below the statement timeout. */
const LOOK_FOR_MS = 4_000

const decodeCreated = Schema.decodeUnknownEffect(Schema.Array(Schema.Struct({ created_at: Moment })))

/** The records created in `from <= created < to`; null at an open end. */
interface Span {
  readonly from: Instant | null
  readonly to: Instant | null
}

type Readable = (rows: ReadonlyArray<object>) => Effect.Effect<ReadonlyArray<StoredTransaction>>

/** An operator's searches. On Citus nothing finds the words of a customer in all tenants: each of its indexes begins with the tenant. */
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
 * An operator's search over all tenants. The index of ages finds each step back, and a tenant's own index where one is named, which has
 * to say that each time is later than -infinity; the filter is held against each record on the way. `readable` decodes rows and leaves out those that
 * cannot be read.
 */
const transactionSearch = (
  sql: SqlClient.SqlClient,
  heavy: ReturnType<typeof makeHeavyReads>,
  readable: Readable
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
    heavy(OPERATORS)(found(filter, limit)).pipe(Effect.catchTags({ SqlError: Effect.die, SchemaError: Effect.die }))
  )
}
