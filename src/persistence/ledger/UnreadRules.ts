import { Context, Effect, Schema } from "effect"
import { type SqlClient, SqlError } from "effect/sql"
import type { LedgerDifference } from "../../services/ports/LedgerVerification.ts"
import { isDamage } from "../connection/DatabaseError.ts"
import { sqlState } from "../connection/DatabaseSpans.ts"
import type { Distribution } from "../connection/Distribution.ts"
import { rowsOf } from "../connection/Rows.ts"

/** A value that no rule can read, such as an amount that is not a number. */
const UNREADABLE_VALUE = "22"

/** The tablespaces that PostgreSQL keeps in their own folders; the folder of any other has its number. */
const TABLESPACES: Readonly<Record<string, number>> = { base: 1663, global: 1664 }
const FILE = /\b(?<place>base|global|pg_tblspc\/(?<tablespace>\d+)\/[^/]+)\/(?:\d+\/)?(?<file>\d+)/
const SOME_FILE = "a file of the database"
const ELSEWHERE = /while executing command on (?<server>\S+)/

const relations = rowsOf(Schema.Struct({ name: Schema.String, table: Schema.String }))

/** The answer for some rules; or null and one difference per rule, when the database could not read what they need. */
export interface Asked<A> {
  readonly answer: A | null
  readonly unread: ReadonlyArray<LedgerDifference>
}
const answered = <A>(answer: A): Asked<A> => ({ answer, unread: [] })

/** Whether every part of a step has a savepoint, so that the parts after an unreadable one still run. */
export const InSavepoints = Context.Reference<boolean>("gateway/persistence/InSavepoints", { defaultValue: () => false })

/** Whether a row or a file cannot be read while others can. */
export const isUnreadable = (error: unknown): error is SqlError.SqlError =>
  isDamage(error) || (SqlError.isSqlError(error) && sqlState(error)?.startsWith(UNREADABLE_VALUE) === true)

/**
 * A statement whose rows are decoded dies when the database fails. Here one damaged file may be the reason, so that becomes an
 * error again.
 */
export const failing = <A, E, R>(work: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError.SqlError, R> =>
  Effect.catchDefect(work, (defect) => (isUnreadable(defect) ? Effect.fail(defect) : Effect.die(defect)))

/** For rules that meet an unreadable row or file: reports it as their difference, and continues with the other rules. */
export const unreadRules = (sql: SqlClient.SqlClient, { isDistributed }: Distribution["Service"]) => {
  /** The table of a file. On Citus another server alone may know it, and the catalogue may itself be damaged. */
  const subjectOf = Effect.fnUntraced(function* (words: string) {
    const { file = "", place = "", tablespace } = FILE.exec(words)?.groups ?? {}
    if (file === "" || isDistributed) return SOME_FILE
    const named = relations(sql`
      SELECT c.relname AS name, coalesce(t.relname, l.relname, c.relname) AS "table" FROM pg_class c
      LEFT JOIN pg_index i ON i.indexrelid = c.oid LEFT JOIN pg_class t ON t.oid = i.indrelid
      LEFT JOIN pg_class l ON l.reltoastrelid = c.oid AND c.relkind = 't'
      WHERE c.oid = pg_filenode_relation(${Number(tablespace ?? TABLESPACES[place])}::oid, ${Number(file)}::oid)`)
    const [found] = yield* Effect.catchIf(failing(sql.withTransaction(named)), isUnreadable, () => Effect.succeed([]))
    if (found === undefined) return SOME_FILE
    return found.name === found.table ? `table ${found.table}` : `${found.name} of table ${found.table}`
  })

  const unreadOf = Effect.fnUntraced(function* (rules: ReadonlyArray<string>, error: SqlError.SqlError) {
    const { cause } = error.reason
    const words = cause instanceof Error ? cause.message : error.message
    if (!isDamage(error)) return rules.map((rule) => ({ rule, subject: "", found: `a row that cannot be read: ${words}` }))
    const context = cause instanceof Error && "where" in cause ? String(cause.where) : ""
    const { server } = ELSEWHERE.exec(context)?.groups ?? {}
    const found = server === undefined ? words : `${words}, on ${server}`
    const subject = yield* subjectOf(words)
    return rules.map((rule): LedgerDifference => ({ rule, subject, found, unread: true }))
  })

  /** For a whole step, or several. */
  const orUnread = <A, E, R>(rules: ReadonlyArray<string>, work: Effect.Effect<A, E, R>) =>
    Effect.catch(
      Effect.map(failing(work), answered),
      (error): Effect.Effect<Asked<A>, E | SqlError.SqlError> =>
        isUnreadable(error) ? Effect.map(unreadOf(rules, error), (unread) => ({ answer: null, unread })) : Effect.fail(error)
    )

  /** For part of a step. Without savepoints, which double the statements, the step fails and is repeated with them. */
  const partOrUnread = Effect.fnUntraced(function* <A, E, R>(rules: ReadonlyArray<string>, part: Effect.Effect<A, E, R>) {
    return (yield* InSavepoints) ? yield* orUnread(rules, sql.withTransaction(part)) : answered(yield* part)
  })

  return {
    orUnread,
    partOrUnread,
    /** The same; if the part cannot be read, another one answers in its place. */
    partOrOther: Effect.fnUntraced(function* <A, E, R>(
      rules: ReadonlyArray<string>,
      part: Effect.Effect<A, E, R>,
      other: Effect.Effect<A, E, R>
    ) {
      const found = yield* partOrUnread(rules, part)
      if (found.unread.length === 0) return found
      const { answer, unread } = yield* partOrUnread(rules, other)
      return { answer, unread: [...found.unread, ...unread] } satisfies Asked<A>
    }),
    /** The rules that one statement can check together. */
    together: <A>(rules: ReadonlyArray<A>) =>
      Effect.map(InSavepoints, (isOneByOne) => (isOneByOne ? rules.map((one) => [one]) : [rules]))
  }
}
