import { Clock, Effect, Exit, Schema, type Scope } from "effect"
import type { SqlClient } from "effect/sql"
import { readTogether } from "./ReadsTogether.ts"
import { rowsOf } from "./Rows.ts"

/** Every node sees an operator's change within this time. */
const LOOKED_EVERY_MS = 500
/** What is changed without an entry, by a migration or by hand, is seen within this one. */
const KEPT_MS = 10_000

const heads = rowsOf(Schema.Struct({ sequence: Schema.BigInt }))

/** What is kept of some rows. */
export interface Kept<Value> {
  /** As it is in the database, or was at most half a second ago. */
  readonly get: (key: string) => Effect.Effect<Value>
}

export interface Keeping<Value, E> {
  /** One answer a key, in their order; that a row is not there is an answer, too. A failure is a defect, and not kept. */
  readonly read: (keys: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Value>, E>
  /** How many keys are kept; the oldest make room. */
  readonly atMost: number
}

export interface UnchangedRows {
  readonly keep: <Value, E>(keeping: Keeping<Value, E>) => Effect.Effect<Kept<Value>, never, Scope.Scope>
  /** What is asked from now on is read anew: for a change that this process has made. */
  readonly forget: Effect.Effect<void>
}

/**
 * Keeps rows that only operators change, for as long as none does: each of their changes counts up a number in the same commit
 * (AuditTrail.withKept), which says for all rows together whether anything may be different. What tenants change does not count it up.
 */
export const unchangedRows = (sql: SqlClient.SqlClient): Effect.Effect<UnchangedRows, never, Scope.Scope> =>
  Effect.gen(function* () {
    // Everybody waits for it: on a connection that went silent it is given up soon, and asked again.
    const look = yield* readTogether((asked: ReadonlyArray<null>) =>
      Effect.map(heads(sql`SELECT kept_version AS sequence FROM audit_head`), ([head]) => asked.map(() => head?.sequence ?? 0n))
    )
    const [newest, forget] = yield* Effect.cachedInvalidateWithTTL(look(null), (exit) =>
      Exit.isSuccess(exit) ? LOOKED_EVERY_MS : 0
    )

    const keep = Effect.fnUntraced(function* <Value, E>({ atMost, read }: Keeping<Value, E>) {
      const kept = new Map<string, { readonly value: Value; readonly entry: bigint; readonly until: number }>()
      const ask = yield* readTogether(read)
      const get = Effect.fnUntraced(function* (key: string) {
        const now = yield* Clock.currentTimeMillis
        // Before the row is read: an entry that is written meanwhile makes it too old already.
        const entry = yield* newest
        const known = kept.get(key)
        if (known !== undefined && known.entry === entry && now < known.until) return known.value
        const value = yield* ask(key)
        kept.delete(key)
        const [oldest] = kept.keys()
        if (kept.size >= atMost && oldest !== undefined) kept.delete(oldest)
        kept.set(key, { value, entry, until: now + KEPT_MS })
        return value
      })
      return { get } satisfies Kept<Value>
    })

    return { keep, forget }
  })
