import { Clock, Effect, Option, Schema } from "effect"
import { SqlClient, type Statement } from "effect/sql"
import { Currency } from "../../domain/Currency.ts"
import { type AppId, type Mode, Reference } from "../../domain/Ids.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import { Phase } from "../../domain/Ledger.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { type EntryPosition, FloatEntries, type FloatEntry, type FloatName } from "../../services/ports/FloatEntries.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import { NoteAlone } from "../transactions/StoredNote.ts"
import { statementReader } from "./StatementPg.ts"

/** The most recent interval, which is searched first; each further step back is twice as long. */
const FIRST_STEP_MS = 900_000
/** No step back begins later. One more takes about as long as all before it, well below the statement timeout. */
const LOOK_FOR_MS = 4_000

const Balance = { available: Schema.BigInt, reserved: Schema.BigInt }
const balances = rowsOf(Schema.Struct(Balance))
const entryRows = rowsOf(
  Schema.Struct({
    at: Moment,
    reference: Reference,
    revision: Schema.BigInt,
    phase: Phase,
    note: NoteAlone,
    externalId: Schema.NullOr(Schema.String),
    ...Balance
  })
)

const adjustments = rowsOf(
  Schema.Struct({ at: Moment, direction: Schema.Literals(["credit", "debit"]), currency: Currency, amount: Schema.BigInt })
)

/** The entries with `from <= at < to`, ending before a position; null at an open end. */
interface Span {
  readonly from: Instant | null
  readonly to: Instant | null
  readonly before: EntryPosition | null
}

/**
 * FloatEntries on PostgreSQL, reading the journal. There is no index of the entries of one float, because each payment would
 * pay for it with every entry. Each step back uses the index by age, which costs a payment nothing, or, for a tenant with few
 * entries, the key that begins with the tenant.
 */
export const FloatEntriesPg = layerOf(FloatEntries)(function* () {
  const sql = yield* SqlClient.SqlClient

  const changed = (accounts: Statement.Fragment, currency: string) => sql`
      (SELECT coalesce(sum(p.amount), 0)::bigint FROM unnest(j.currencies, j.accounts, j.amounts) AS p(currency, account, amount)
        WHERE p.currency = ${currency} AND p.account IN (${accounts}))`

  const postedIn = ({ appId, currency, mode }: FloatName, { before, from, to }: Span, limit: number) =>
    entryRows(sql`
        SELECT j.at, j.reference, j.revision, j.phase, j.note, a.external_id AS "externalId",
          ${changed(sql`'available', 'receivable'`, currency)} AS available, ${changed(sql`'reserved'`, currency)} AS reserved
        FROM journal j LEFT JOIN float_adjustments a ON j.phase IN ('credit', 'debit') AND a.app_id = j.app_id AND a.reference = j.reference
        WHERE j.app_id = ${appId} AND j.mode = ${mode} AND j.phase IS NOT NULL AND ${currency} = ANY (j.currencies)
          AND j.at >= ${from === null ? "-infinity" : iso(from)}::timestamptz AND j.at < ${to === null ? "infinity" : iso(to)}::timestamptz
          ${before === null ? sql`` : sql`AND (j.at, j.reference, j.revision) < (${iso(before.at)}::timestamptz, ${before.reference}, ${before.revision}::bigint)`}
        ORDER BY j.at DESC, j.reference DESC, j.revision DESC LIMIT ${limit}`)

  const balanceNow = ({ appId, currency, mode }: FloatName) =>
    balances(sql`SELECT available_minor - receivable_minor AS available, reserved_minor AS reserved FROM float_positions
        WHERE app_id = ${appId} AND mode = ${mode} AND currency = ${currency}`)

  const list = Effect.fn("FloatEntries.list")(
    function* (float: FloatName, before: EntryPosition | null, limit: number) {
      // The position and every step back are from one snapshot, so that they agree.
      yield* sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`
      const began = yield* Clock.currentTimeMillis
      const [now] = before === null ? yield* balanceNow(float) : [before.balance]
      // Every entry has a position.
      if (now === undefined) return { items: [], next: null }
      let balance = now
      const items: Array<FloatEntry> = []
      let to = before === null ? null : before.at + 1
      for (let step = FIRST_STEP_MS; ; step *= 2) {
        const start = (to ?? began) - step
        const isLast = start <= 0
        const room = limit - items.length
        // One more than fits shows whether there is another entry.
        const found = yield* postedIn(float, { from: isLast ? null : start, to, before }, room + 1)
        for (const { available, reserved, ...entry } of found.slice(0, room)) {
          items.push({ ...entry, change: { available, reserved }, after: balance })
          balance = { available: balance.available - available, reserved: balance.reserved - reserved }
        }
        const last = items.at(-1)
        if (found.length > room && last !== undefined)
          return { items, next: { at: last.at, reference: last.reference, revision: last.revision, balance } }
        if (isLast) return { items, next: null }
        to = start
        if ((yield* Clock.currentTimeMillis) - began > LOOK_FOR_MS)
          return { items, next: { at: start, reference: "" as const, revision: 0n, balance } }
      }
    },
    sql.withTransaction,
    Effect.orDie
  )

  const adjustment = Effect.fn("FloatEntries.adjustment")((appId: AppId, mode: Mode, externalId: string) =>
    Effect.map(
      adjustments(sql`SELECT at, direction, currency, amount_minor AS amount FROM float_adjustments
          WHERE app_id = ${appId} AND mode = ${mode} AND external_id = ${externalId}`),
      ([found]) => Option.fromUndefinedOr(found)
    )
  )

  return { list, statement: statementReader(sql), adjustment }
})
