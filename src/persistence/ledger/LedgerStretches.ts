import { Clock, Context, Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import { iso } from "../../domain/Instant.ts"
import type { LedgerDifference } from "../../services/ports/LedgerVerification.ts"
import { Moment, rowsOf } from "../connection/Rows.ts"
import { askedAgain, askedOfStretch, type Changes, changesRead, countedInStretch, linesIn, valuesOf } from "./LedgerChanges.ts"
import type { LedgerRule } from "./LedgerRule.ts"
import { SETTLED_AFTER_MS } from "./PositionFolds.ts"
import { joined, MAX_DIFFERENCES, unreadOf, type VerificationSteps } from "./VerificationSteps.ts"

/** How many records of an interval one statement reads. */
export const StretchSize = Context.Reference<number>("gateway/persistence/StretchSize", { defaultValue: () => 2_000 })
const FIRST_STRETCH_MS = 600_000
const SHORTEST_STRETCH_MS = 1_000
/** An interval with this many steps is shortened before it is read; after few steps the next one is longer. */
const MUCH = 20_000
const LITTLE = 5_000

/** Where a walk continues: everything before `from` was checked; null: nothing was. */
export const Stretch = Schema.Struct({ from: Schema.NullOr(Schema.Number), length: Schema.Number })
export type Stretch = typeof Stretch.Type
export const firstStretch: Stretch = { from: null, length: FIRST_STRETCH_MS }

const counts = rowsOf(Schema.Struct({ count: Schema.BigInt }))
const oldest = rowsOf(Schema.Struct({ at: Schema.NullOr(Moment) }))

interface StretchChecked {
  readonly differences: ReadonlyArray<LedgerDifference>
  readonly counts: ReadonlyArray<readonly [rule: string, count: number]>
  /** Null at the end. */
  readonly next: Stretch | null
}

/**
 * Applies the rules that cannot be looked up by reference to one time interval after another, from the first to the last, open
 * one. Each query is about a bounded number of records, in its own snapshot, so that its duration does not grow with the
 * ledger.
 */
export const ledgerStretches = (sql: SqlClient.SqlClient, steps: VerificationSteps, rules: ReadonlyArray<LedgerRule>) => {
  const { breaches, changes, partOrUnread } = steps
  const statements = rules.map((one) => ({
    one,
    first: askedOfStretch(one, MAX_DIFFERENCES),
    again: askedAgain(one, MAX_DIFFERENCES)
  }))

  const names = rules.map(({ rule }) => rule)

  const asked = Effect.fnUntraced(function* (part: Changes) {
    const found: Array<LedgerDifference> = []
    for (const { again, first, one } of statements) {
      const differences = yield* breaches(one, first, valuesOf(part, first))
      if (again === null || differences.length === 0) found.push(...differences)
      // The second query finds everything that the first found, except what only the first could not read.
      else found.push(...unreadOf(differences), ...(yield* breaches(one, again, valuesOf(part, again))))
    }
    return found
  })

  /**
   * The end of the next interval. Everything before the first tenant is one interval. The last interval begins where rows are
   * no longer added: a row may be committed later than its time.
   */
  const endOf = Effect.fnUntraced(function* ({ from, length }: Stretch) {
    const settled = (yield* Clock.currentTimeMillis) - SETTLED_AFTER_MS
    if (from === null) {
      const [row] = yield* oldest(sql`SELECT min(created_at) AS at FROM tenants`)
      return { to: row?.at ?? null, lines: MUCH, length }
    }
    for (let shorter = length; ; shorter = Math.max(SHORTEST_STRETCH_MS, shorter / 2)) {
      const to = from + shorter >= settled ? null : from + shorter
      const lines = yield* linesIn(sql, from, to, MUCH)
      if (lines < MUCH || shorter === SHORTEST_STRETCH_MS) return { to, lines, length: shorter }
    }
  })

  const check = Effect.fnUntraced(function* (stretch: Stretch) {
    const { length, lines, to } = yield* changes(endOf(stretch))
    const { from } = stretch
    const { all, unread } = yield* changesRead(sql, steps, names, { from, to })
    const size = yield* StretchSize
    let differences = unread
    for (let at = 0; at < all.length || at === 0; at += size) {
      const part = all.slice(at, at + size)
      const records = { appIds: part.map(({ appId }) => appId), references: part.map(({ reference }) => reference), from, to }
      differences = joined(differences, yield* changes(asked(records)))
    }
    const ends = [from === null ? "-infinity" : iso(from), to === null ? "infinity" : iso(to)]
    const counted = yield* changes(
      Effect.forEach(rules, (one) => partOrUnread([one.rule], counts(sql.unsafe(countedInStretch(one), ends))))
    )
    const next = to === null ? null : { from: to, length: lines < LITTLE ? length * 2 : length }
    return {
      differences: counted.reduce((found, one) => joined(found, one.unread), differences),
      counts: rules.map(({ rule }, at) => [rule, Number(counted[at]?.answer?.[0]?.count ?? 0n)] as const),
      next
    } satisfies StretchChecked
  })

  return { check }
}
