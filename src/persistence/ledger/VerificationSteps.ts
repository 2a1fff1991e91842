import { Effect, Schema } from "effect"
import type { SqlClient } from "effect/sql"
import type { LedgerDifference } from "../../services/ports/LedgerVerification.ts"
import { AnswerBoundMs } from "../connection/BoundedClient.ts"
import type { Distribution } from "../connection/Distribution.ts"
import { auditSettings, joinsServers, type LedgerRule } from "./LedgerRule.ts"
import { failing, InSavepoints, isUnreadable, unreadRules } from "./UnreadRules.ts"

/** Per rule: a ledger that is broken everywhere need not be printed completely. */
export const MAX_DIFFERENCES = 1000
/** A statement about part of the ledger that takes this long has met something broken. */
const PART_TIMEOUT_MS = 3_600_000
/** A rule that reads everything may take as long as it needs; after a day its connection is considered dead. */
const WHOLE_TIMEOUT_MS = 86_400_000
/** A statement that PostgreSQL has not ended this much later has hung. */
const ANSWER_MS = 3_000

type Settings = Readonly<Record<string, string>>

/** Keys are found by walking indexes in order, not by sorting all of them. */
export const keySettings: Settings = {
  enable_hashagg: "off",
  enable_sort: "off",
  statement_timeout: `${PART_TIMEOUT_MS}ms`
}
export const sliceSettings: Settings = { ...auditSettings, enable_hashagg: "on", enable_sort: "on" }
/** Changes are found by time: no table with an index is scanned sequentially. */
export const changeSettings: Settings = {
  ...auditSettings,
  enable_seqscan: "off",
  statement_timeout: `${PART_TIMEOUT_MS}ms`
}
const wholeSettings: Settings = { ...auditSettings, statement_timeout: `${WHOLE_TIMEOUT_MS}ms` }

const decodeBreaches = Schema.decodeUnknownEffect(Schema.Array(Schema.Struct({ subject: Schema.String, found: Schema.String })))

/** The findings of a rule that reads everything, and how many rows it checked. */
interface CheckedWhole {
  readonly count: number
  readonly differences: ReadonlyArray<LedgerDifference>
}

/** The steps of a verification, each a transaction with its own settings. */
export const verificationSteps = (sql: SqlClient.SqlClient, distribution: Distribution["Service"]) => {
  const { orUnread, partOrOther, partOrUnread, together } = unreadRules(sql, distribution)
  const set = (settings: Settings) =>
    sql`SELECT set_config(s.name, s.value, true)
      FROM unnest(${Object.keys(settings)}::text[], ${Object.values(settings)}::text[]) AS s(name, value)`

  /**
   * One snapshot of the database. A month of events that is truncated disappears even from older snapshots, so this lock comes
   * first and the truncation waits.
   */
  const moment = Effect.andThen(
    sql`SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY`,
    sql`LOCK TABLE events IN ACCESS SHARE MODE`
  )

  const step =
    (settings: Settings, boundMs: number) =>
    <A, E>(work: Effect.Effect<A, E>) =>
      Effect.andThen(set(settings), work).pipe(
        (effect) => sql.withTransaction(effect),
        Effect.provideService(AnswerBoundMs, boundMs + ANSWER_MS)
      )
  const snapshot =
    (settings: Settings, boundMs: number) =>
    <A, E>(work: Effect.Effect<A, E>) => {
      const once = Effect.andThen(Effect.andThen(moment, set(settings)), work).pipe(
        (effect) => sql.withTransaction(effect),
        Effect.provideService(AnswerBoundMs, boundMs + ANSWER_MS),
        failing
      )
      // Savepoints would double the statements, and unreadable rows are rare.
      return Effect.catchIf(once, isUnreadable, () => Effect.provideService(once, InSavepoints, true))
    }

  const breaches = Effect.fnUntraced(function* ({ rule }: LedgerRule, statement: string, values: ReadonlyArray<unknown>) {
    const { answer, unread } = yield* partOrUnread([rule], sql.unsafe(statement, values))
    const found = yield* decodeBreaches(answer ?? [])
    return [...unread, ...found.map((breach): LedgerDifference => ({ rule, ...breach }))]
  })

  const ofEverything = snapshot(wholeSettings, WHOLE_TIMEOUT_MS)
  /**
   * On Citus each server answers as of a moment of its own, so that what is written in between looks like a difference between
   * their rows. It counts when a second query finds it as well, in the same words: damage stays, also in a window that has ended.
   */
  const whole = Effect.fnUntraced(function* <E>(rule: LedgerRule, check: Effect.Effect<CheckedWhole, E>) {
    const found = yield* ofEverything(check)
    if (!distribution.isDistributed || !joinsServers(rule) || found.differences.length === 0) return found
    const again = yield* ofEverything(check)
    const isLasting = (one: LedgerDifference) => one.unread === true || again.differences.some((other) => isSame(one, other))
    return { ...found, differences: found.differences.filter(isLasting) }
  })

  return {
    breaches,
    orUnread,
    partOrOther,
    partOrUnread,
    set,
    together,
    /** A rule that reads everything. */
    whole,
    /** A count of everything. */
    count: step({ statement_timeout: `${WHOLE_TIMEOUT_MS}ms` }, WHOLE_TIMEOUT_MS),
    /** A part of the ledger, whose keys are looked up first. */
    part: snapshot(keySettings, PART_TIMEOUT_MS),
    /** A part of the changes. */
    changes: snapshot(changeSettings, PART_TIMEOUT_MS),
    /** Writes sums. */
    write: step(changeSettings, PART_TIMEOUT_MS)
  }
}
export type VerificationSteps = ReturnType<typeof verificationSteps>

/**
 * Without duplicates, because two slices may find the same difference. At most this many per rule, and as many of its
 * unreadable places.
 */
export const joined = (
  before: ReadonlyArray<LedgerDifference>,
  found: ReadonlyArray<LedgerDifference>
): ReadonlyArray<LedgerDifference> => {
  const fresh = found.filter((one) => !before.some((other) => isSame(one, other)))
  // An unreadable place counts separately, so that it does not use up the differences' limit.
  const kindOf = ({ rule, unread }: LedgerDifference) => `${rule} ${unread === true}`
  const taken = new Map<string, number>()
  const countOf = (one: LedgerDifference) => {
    const count = (taken.get(kindOf(one)) ?? 0) + 1
    taken.set(kindOf(one), count)
    return count
  }
  for (const one of before) countOf(one)
  return [...before, ...fresh.filter((one) => countOf(one) <= MAX_DIFFERENCES)]
}

const isSame = (one: LedgerDifference, other: LedgerDifference): boolean =>
  one.rule === other.rule && one.subject === other.subject && one.found === other.found

export const unreadOf = (differences: ReadonlyArray<LedgerDifference>): ReadonlyArray<LedgerDifference> =>
  differences.filter(({ unread }) => unread === true)
