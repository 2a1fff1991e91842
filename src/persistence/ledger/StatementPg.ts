import { Clock, Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { ValidationFailed } from "../../domain/errors/Terminal.ts"
import { Reference } from "../../domain/Ids.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import { Phase } from "../../domain/Ledger.ts"
import { statementType } from "../../domain/Statement.ts"
import type {
  FloatBalance,
  FloatEntries,
  FloatName,
  StatementEntry,
  StatementPosition,
  StatementRange
} from "../../services/ports/FloatEntries.ts"
import type { PageAfter } from "../../services/ports/Page.ts"
import { makeHeavyReads, ofOneMoment } from "../connection/HeavyReads.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"

/** The first interval, the oldest; each further one is twice as long. */
const FIRST_STEP_MS = 900_000
/** No step begins later than this. */
const LOOK_FOR_MS = 4_000
/** How many entries one page examines, however few pass its filters. */
const ENTRIES_A_PAGE = 5_000
/** A step is committed within this time after its own time; when one takes longer, the counts of recent entries reveal it. */
const SETTLED_AFTER_MS = 5_000
/** The interval before a place whose entries are counted. */
const COUNTED_MS = 600_000

const Balance = { available: Schema.BigInt, reserved: Schema.BigInt }
const balances = rowsOf(Schema.Struct(Balance))
const counts = rowsOf(Schema.Struct({ found: Schema.Int }))
const moments = rowsOf(Schema.Struct({ at: Schema.NullOr(Moment) }))
const rows = rowsOf(
  Schema.Struct({
    at: Moment,
    reference: Reference,
    revision: Schema.BigInt,
    phase: Phase,
    fee: Schema.BigInt,
    collected: Schema.BigInt,
    isReversed: Schema.Boolean,
    isRefund: Schema.Boolean,
    externalId: Schema.NullOr(Schema.String),
    metadata: Schema.NullOr(Schema.String),
    ...Balance
  })
)
type Row = Effect.Success<ReturnType<typeof rows>>[number]

type Place = Pick<StatementPosition, "at" | "reference" | "revision">

/** The entries with `start <= at < end`, after a place at its beginning; null at an open end. */
interface Stretch {
  readonly start: Instant
  readonly end: Instant | null
  readonly after: Place | null
}

/** A tenant's statement, read from the journal in order of time. Each page is read from one snapshot. */
export const statementReader = (sql: SqlClient.SqlClient): FloatEntries["Service"]["statement"] => {
  const heavy = makeHeavyReads(sql)

  const changed = (accounts: string, currency: string) => sql`
    (SELECT coalesce(sum(p.amount), 0)::bigint FROM unnest(j.currencies, j.accounts, j.amounts) AS p(currency, account, amount)
      WHERE p.currency = ${currency} AND p.account = ANY (${accounts}::text[]))`

  const ofFloat = ({ appId, currency, mode }: FloatName) => sql`
    j.app_id = ${appId} AND j.mode = ${mode} AND j.phase IS NOT NULL AND ${currency} = ANY (j.currencies)`

  /** The sum that the record's entries up to this one collected: zero after a complete reversal. */
  const collectedUpTo = ({ appId, currency }: FloatName) => sql`
    (SELECT coalesce(sum(p.amount), 0) FROM journal e CROSS JOIN LATERAL unnest(e.currencies, e.accounts, e.amounts) AS p(currency, account, amount)
      WHERE e.app_id = ${appId} AND e.reference = j.reference AND e.revision <= j.revision AND e.phase IS NOT NULL
        AND p.currency = ${currency} AND p.account = 'collected')`

  const postedIn = (float: FloatName, { after, end, start }: Stretch, limit: number) =>
    rows(sql`
      WITH walked AS MATERIALIZED (
        SELECT j.app_id, j.at, j.reference, j.revision, j.phase, j.currencies, j.accounts, j.amounts FROM journal j
        WHERE ${ofFloat(float)} AND j.at >= ${iso(start)}::timestamptz AND j.at < ${end === null ? "infinity" : iso(end)}::timestamptz
          ${after === null ? sql`` : sql`AND (j.at, j.reference, j.revision) > (${iso(after.at)}::timestamptz, ${after.reference}, ${after.revision}::bigint)`}
        ORDER BY j.at, j.reference, j.revision LIMIT ${limit})
      SELECT j.at, j.reference, j.revision, j.phase, a.external_id AS "externalId", r.metadata,
        CASE WHEN j.phase = 'correct' THEN ${collectedUpTo(float)} = 0 ELSE false END AS "isReversed",
        coalesce(r."refundOf", '') <> '' AS "isRefund", m.available, m.reserved, m.fee, m.collected
      FROM walked j
        CROSS JOIN LATERAL (
          SELECT coalesce(sum(p.amount) FILTER (WHERE p.account IN ('available', 'receivable')), 0)::bigint AS available,
            coalesce(sum(p.amount) FILTER (WHERE p.account = 'reserved'), 0)::bigint AS reserved,
            coalesce(sum(p.amount) FILTER (WHERE p.account = 'provider_fees'), 0)::bigint AS fee,
            coalesce(sum(p.amount) FILTER (WHERE p.account = 'collected'), 0)::bigint AS collected
          FROM unnest(j.currencies, j.accounts, j.amounts) AS p(currency, account, amount) WHERE p.currency = ${float.currency}) m
        LEFT JOIN float_adjustments a ON j.phase IN ('credit', 'debit') AND a.app_id = ${float.appId} AND a.app_id = j.app_id
          AND a.mode = ${float.mode} AND a.reference = j.reference
        LEFT JOIN transactions t ON t.app_id = ${float.appId} AND t.app_id = j.app_id AND t.reference = j.reference
        LEFT JOIN LATERAL json_to_record(well_formed(t.record)) AS r(metadata text, "refundOf" text) ON true
      ORDER BY j.at, j.reference, j.revision`)

  /** How many entries the last minutes up to a place have. */
  const recentTo = (float: FloatName, { at, reference, revision }: Place) =>
    Effect.map(
      counts(sql`SELECT count(*)::int AS found FROM journal j WHERE ${ofFloat(float)} AND j.at >= ${iso(Math.max(0, at - COUNTED_MS))}::timestamptz
        AND j.at <= ${iso(at)}::timestamptz AND (j.at, j.reference, j.revision) <= (${iso(at)}::timestamptz, ${reference}, ${revision}::bigint)`),
      ([row]) => row?.found ?? 0
    )

  const firstMoment = (float: FloatName) =>
    Effect.map(moments(sql`SELECT min(j.at) AS at FROM journal j WHERE ${ofFloat(float)}`), ([row]) => row?.at ?? null)

  /** The present position minus everything posted since. */
  const balanceBefore = (float: FloatName, from: Instant) =>
    Effect.map(
      balances(sql`
        SELECT p.available_minor - p.receivable_minor - s.available AS available, p.reserved_minor - s.reserved AS reserved
        FROM float_positions p CROSS JOIN (
          SELECT coalesce(sum(${changed("{available,receivable}", float.currency)}), 0)::bigint AS available,
            coalesce(sum(${changed("{reserved}", float.currency)}), 0)::bigint AS reserved
          FROM journal j WHERE ${ofFloat(float)} AND j.at >= ${iso(from)}::timestamptz) s
        WHERE p.app_id = ${float.appId} AND p.mode = ${float.mode} AND p.currency = ${float.currency}`),
      ([row]): FloatBalance => row ?? NOTHING
    )

  /** Rows after the place, oldest first: one more than `limit` if there are more, and whether the search reached the end. */
  const walk = Effect.fnUntraced(function* (float: FloatName, { from, to }: StatementRange, after: Place | null, limit: number) {
    const began = yield* Clock.currentTimeMillis
    const found: Array<Row> = []
    let start = after?.at ?? from ?? (yield* firstMoment(float))
    if (start === null) return found
    for (let step = FIRST_STEP_MS; ; step *= 2) {
      const isLast: boolean = start + step >= (to ?? began) || (yield* Clock.currentTimeMillis) - began > LOOK_FOR_MS
      const end: Instant | null = isLast ? to : start + step
      found.push(...(yield* postedIn(float, { start, end, after }, limit + 1 - found.length)))
      if (isLast || end === null || found.length > limit) return found
      start = end
    }
  })

  const read = Effect.fnUntraced(function* (
    float: FloatName,
    range: StatementRange,
    { after, limit }: PageAfter<StatementPosition>
  ) {
    if (after !== null && (yield* recentTo(float, after)) !== after.recent)
      return yield* new ValidationFailed({ issues: [{ path: "cursor", message: OVERTAKEN }] })
    const opening = after?.balance ?? (range.from === null ? NOTHING : yield* balanceBefore(float, range.from))
    const isFiltered = range.type !== null || range.reference !== null
    const atMost = isFiltered ? ENTRIES_A_PAGE : limit
    const found = yield* walk(float, range, after, atMost)
    const page = pageOf(found, atMost, (yield* Clock.currentTimeMillis) - SETTLED_AFTER_MS)
    const { closing, items, last } = itemsOf(page, opening, range, limit)
    const isWhole = last === null || last === found.at(-1)
    if (isWhole) return { opening, items, closing, next: null }
    const { at, reference, revision } = last
    return { opening, items, closing, next: { at, reference, revision, balance: closing, recent: yield* recentTo(float, last) } }
  })

  return Effect.fn("FloatEntries.statement")((float, range, page) =>
    heavy(`${float.appId}:${float.mode}`)(ofOneMoment(sql)(read(float, range, page))).pipe(
      Effect.catchTag("SqlError", Effect.die)
    )
  )
}

const NOTHING: FloatBalance = { available: 0n, reserved: 0n }
const OVERTAKEN = "is of a page that an entry came in before meanwhile: begin again without it"

/** The rows of a page. When others follow, it ends before the newest ones: an older one may still be committed. */
const pageOf = (found: ReadonlyArray<Row>, atMost: number, settled: Instant): ReadonlyArray<Row> => {
  if (found.length <= atMost) return found
  const page = found.slice(0, atMost)
  const old = page.filter(({ at }) => at < settled)
  return old.length === 0 ? page : old
}

/** The items that pass the filters, up to `limit`, with the balance after each, and the row in which the page ends. */
const itemsOf = (page: ReadonlyArray<Row>, opening: FloatBalance, range: StatementRange, limit: number) => {
  const items: Array<StatementEntry> = []
  let closing = opening
  let last: Row | null = null
  for (const row of page) {
    if (items.length === limit) break
    const { at, available, collected, externalId, fee, isRefund, metadata, phase, reference, reserved, revision } = row
    const change = { available, reserved }
    closing = { available: closing.available + available, reserved: closing.reserved + reserved }
    last = row
    // For incoming money the account has the negative amount: a reversal adds to it.
    const type = statementType(phase, { isReversal: row.isReversed && collected > 0n, isRefund })
    // The gateway's own loss does not concern the tenant.
    const isOwn = available !== 0n || reserved !== 0n || fee !== 0n
    if (isOwn && type === (range.type ?? type) && reference === (range.reference ?? reference))
      items.push({ at, reference, revision, externalId, change, after: closing, type, fee, metadata })
  }
  return { items, closing, last }
}
