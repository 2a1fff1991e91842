import { Effect, Option, Schema, type Scope } from "effect"
import type { SqlClient } from "effect/sql"
import { monotonicMs } from "../../runtime/Timer.ts"
import { Distribution } from "../connection/Distribution.ts"
import { rowsOf } from "../connection/Rows.ts"
import { ofAll, type TenantFilter } from "../connection/TenantFilter.ts"
import { makeBatchedRead, makeTenantRead } from "./BatchedRead.ts"
import { cachedQuery, freshResult } from "./CachedQuery.ts"

// Effect's Cache expires by time only; with the rows' version beside it, it is no faster (`npm run bench -- --part row-cache`).

/** A change without an audit row, by a migration or by hand, is seen within this time. */
const CACHED_MS = 10_000
/** How often a row that is used is moved to the end of the eviction order: each payout uses ten, most of them repeatedly. */
const MOVED_EVERY_MS = 1_000

const heads = rowsOf(Schema.Struct({ sequence: Schema.BigInt }))

interface CachedRows<Value> {
  /** The row as it is in the database, or was at most a second ago. Dies when the database does not answer in time. */
  readonly get: (key: string) => Effect.Effect<Value>
}

interface CacheOptions<Value, E> {
  /** One result per key, in the order of the keys; an absent row is a result, too. A failure is a defect and is not cached. */
  readonly read: (keys: ReadonlyArray<string>, of: TenantFilter) => Effect.Effect<ReadonlyArray<Value>, E>
  /** The tenant of a key's row; omitted when the rows belong to no tenant. */
  readonly tenantOf?: (key: string) => string
  /** How many keys are cached; the least recently used one is evicted. */
  readonly atMost: number
  /** For rows that any client can ask for without their existing: absent ones have their own cache and evict no other row. */
  readonly absent?: { readonly is: (value: Value) => boolean; readonly atMost: number }
}

export interface RowCache {
  readonly keep: <Value, E>(keeping: CacheOptions<Value, E>) => Effect.Effect<CachedRows<Value>, never, Scope.Scope>
  /** Makes every row be read again. Call it after a change by this process. */
  readonly forget: Effect.Effect<void>
}

/**
 * Caches rows that only operators change, until one of them changes something: each of their changes increases a version in its
 * own commit (AuditTrail.withKept). The version, read at most twice a second, says for all rows together whether any may have
 * changed. Changes by tenants do not increase it.
 */
export const makeVersionedRowCache = (sql: SqlClient.SqlClient): Effect.Effect<RowCache, never, Distribution | Scope.Scope> =>
  Effect.gen(function* () {
    const distribution = yield* Distribution
    const look = yield* makeBatchedRead((queries: ReadonlyArray<null>) =>
      Effect.map(heads(sql`SELECT cache_version AS sequence FROM audit_head`), ([head]) =>
        queries.map(() => head?.sequence ?? 0n)
      )
    )
    const { forget, newest, recent } = yield* cachedQuery(look(null))

    const keep = Effect.fnUntraced(function* <Value, E>({ absent, atMost, read, tenantOf }: CacheOptions<Value, E>) {
      const rows = leastRecentlyUsed<Value>(atMost)
      const absentRows = leastRecentlyUsed<Value>(absent?.atMost ?? 0)
      const put = (key: string, answer: Omit<Answer<Value>, "usedAt">, usedAt: number) => {
        const isAbsent = absent?.is(answer.value) ?? false
        const others = isAbsent ? rows : absentRows
        others.drop(key)
        const own = isAbsent ? absentRows : rows
        own.put(key, { ...answer, usedAt })
      }
      const ask =
        tenantOf === undefined
          ? yield* makeBatchedRead((keys: ReadonlyArray<string>) => read(keys, ofAll(sql)))
          : yield* Effect.provideService(makeTenantRead(sql, tenantOf, read), Distribution, distribution)
      /** The row if it is cached as of this version. */
      const cached = (key: string, entry: bigint | undefined, now: number): Answer<Value> | undefined => {
        const known = rows.get(key) ?? absentRows.get(key)
        if (known === undefined || known.entry !== entry || now >= known.until) return undefined
        if (now - known.usedAt >= MOVED_EVERY_MS) put(key, known, now)
        return known
      }
      const readOrCached = Effect.fnUntraced(function* (key: string, now: number) {
        // Read before the row: a change that is committed in between makes the cached row outdated at once.
        const entry = Option.getOrUndefined(yield* newest)
        const known = cached(key, entry, now)
        if (known !== undefined) return known.value
        const value = yield* freshResult(ask(key))
        if (entry !== undefined) put(key, { value, entry, until: now + CACHED_MS }, now)
        return value
      })
      // Nearly every row is cached, and is returned without a generator, because a payout reads several.
      const get = (key: string): Effect.Effect<Value> =>
        Effect.clockWith((clock) => {
          const now = monotonicMs(clock)
          const entry = recent(now)
          const known = Option.isSome(entry) ? cached(key, entry.value, now) : undefined
          return known === undefined ? readOrCached(key, now) : Effect.succeed(known.value)
        })
      return { get } satisfies CachedRows<Value>
    })

    return { keep, forget }
  })

interface Answer<Value> {
  readonly value: Value
  /** The version at that time. */
  readonly entry: bigint
  readonly until: number
  /** When it was last moved. */
  readonly usedAt: number
}

/** Entries in the order in which they were put; the oldest is evicted. */
const leastRecentlyUsed = <Value>(atMost: number) => {
  const answers = new Map<string, Answer<Value>>()
  return {
    get: (key: string): Answer<Value> | undefined => answers.get(key),
    drop: (key: string): void => void answers.delete(key),
    put: (key: string, answer: Answer<Value>): void => {
      answers.delete(key)
      const [oldest] = answers.keys()
      if (answers.size >= atMost && oldest !== undefined) answers.delete(oldest)
      answers.set(key, answer)
    }
  }
}
