import { Effect, Option, Schema, type Scope } from "effect"
import type { SqlClient } from "effect/sql"
import { makeBatchedRead } from "./BatchedRead.ts"
import { cachedQuery, elapsed, freshResult } from "./CachedQuery.ts"
import { rowsOf } from "./Rows.ts"

/** What is changed without an entry, by a migration or by hand, is seen within this one. */
const CACHED_MS = 10_000

const heads = rowsOf(Schema.Struct({ sequence: Schema.BigInt }))

/** What is kept of some rows. */
export interface CachedRows<Value> {
  /** As it is in the database, or was at most a second ago. A database that does not say so in time is a defect: nothing older is answered. */
  readonly get: (key: string) => Effect.Effect<Value>
}

export interface CacheOptions<Value, E> {
  /** One answer a key, in their order; that a row is not there is an answer, too. A failure is a defect, and not kept. */
  readonly read: (keys: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Value>, E>
  /** How many keys are kept; those not asked for the longest make room. */
  readonly atMost: number
  /** Where anybody may name what is not there: such answers are kept apart, so that they put out no row. */
  readonly absent?: { readonly is: (value: Value) => boolean; readonly atMost: number }
}

export interface RowCache {
  readonly keep: <Value, E>(keeping: CacheOptions<Value, E>) => Effect.Effect<CachedRows<Value>, never, Scope.Scope>
  /** What is asked from now on is read anew: for a change that this process has made. */
  readonly forget: Effect.Effect<void>
}

/**
 * Keeps rows that only operators change, for as long as none does: each of their changes counts up a number in the same commit
 * (AuditTrail.withKept), which says for all rows together whether anything may be different. What tenants change does not count it up.
 */
export const makeRowCache = (sql: SqlClient.SqlClient): Effect.Effect<RowCache, never, Scope.Scope> =>
  Effect.gen(function* () {
    const look = yield* makeBatchedRead((asked: ReadonlyArray<null>) =>
      Effect.map(heads(sql`SELECT kept_version AS sequence FROM audit_head`), ([head]) => asked.map(() => head?.sequence ?? 0n))
    )
    const { forget, newest } = yield* cachedQuery(look(null))

    const keep = Effect.fnUntraced(function* <Value, E>({ absent, atMost, read }: CacheOptions<Value, E>) {
      const rows = leastRecentlyUsed<Value>(atMost)
      const absentRows = leastRecentlyUsed<Value>(absent?.atMost ?? 0)
      const put = (key: string, answer: Answer<Value>) => {
        const isAbsent = absent?.is(answer.value) ?? false
        const others = isAbsent ? rows : absentRows
        others.take(key)
        const own = isAbsent ? absentRows : rows
        own.put(key, answer)
      }
      const ask = yield* makeBatchedRead(read)
      const get = Effect.fnUntraced(function* (key: string) {
        const now = yield* elapsed
        // Before the row is read: an entry that is written meanwhile makes it too old already.
        const entry = Option.getOrUndefined(yield* newest)
        const known = rows.take(key) ?? absentRows.take(key)
        if (known !== undefined && known.entry === entry && now < known.until) {
          put(key, known)
          return known.value
        }
        const value = yield* freshResult(ask(key))
        if (entry !== undefined) put(key, { value, entry, until: now + CACHED_MS })
        return value
      })
      return { get } satisfies CachedRows<Value>
    })

    return { keep, forget }
  })

interface Answer<Value> {
  readonly value: Value
  /** What the number of the operators' changes was. */
  readonly entry: bigint
  readonly until: number
}

/** Answers in the order in which they were put; the oldest makes room. */
const leastRecentlyUsed = <Value>(atMost: number) => {
  const answers = new Map<string, Answer<Value>>()
  return {
    take: (key: string): Answer<Value> | undefined => {
      const answer = answers.get(key)
      answers.delete(key)
      return answer
    },
    put: (key: string, answer: Answer<Value>): void => {
      answers.delete(key)
      const [oldest] = answers.keys()
      if (answers.size >= atMost && oldest !== undefined) answers.delete(oldest)
      answers.set(key, answer)
    }
  }
}
