import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { Reference } from "../../domain/Ids.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import type { LeasedCallback } from "../../services/ports/ProviderInbox.ts"

/** So long a callback that was processed waits at most for another one, with which it is written. */
const WRITTEN_WITHIN = "2 seconds"
/** More than these are written without waiting. */
const WAITING_AT_MOST = 256

interface Processed {
  readonly id: Reference
  readonly leasedUntil: Instant
  readonly reference: Reference
}

/**
 * Callbacks that were processed and are not yet written as done. What is lost of them with the process is looked into again when its lease
 * ends, which asks the provider once more and changes nothing.
 */
export const makeProcessedCallbacks = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  const scope = yield* Effect.scope
  let waiting: Array<Processed> = []
  let isTimed = false

  /** A lease that somebody else has by now, or a replay that somebody asked for, stays as it is. */
  const done = (processed: ReadonlyArray<Processed>) => sql`
    UPDATE provider_inbox i SET status = 'done', next_look_at = NULL, matched_reference = p.reference
    FROM unnest(${processed.map(({ id }) => id)}::text[], ${processed.map(({ leasedUntil }) => iso(leasedUntil))}::timestamptz[],
      ${processed.map(({ reference }) => reference)}::text[]) AS p(id, leased_until, reference)
    WHERE i.id = p.id AND i.status = 'due' AND i.next_look_at = p.leased_until`

  const taken = (isOne: (processed: Processed) => boolean): ReadonlyArray<Processed> => {
    const some = waiting.filter(isOne)
    waiting = waiting.filter((processed) => !isOne(processed))
    return some
  }

  const write = Effect.suspend(() => {
    isTimed = false
    const all = taken(() => true)
    return all.length === 0 ? Effect.void : Effect.asVoid(done(all))
  }).pipe(
    Effect.catchCause((cause) =>
      Effect.logWarning("callbacks that were processed could not be written: they are looked into again", cause)
    )
  )
  yield* Effect.addFinalizer(() => write)

  const add = ({ id, leasedUntil }: LeasedCallback, reference: Reference): Effect.Effect<void> =>
    Effect.suspend(() => {
      waiting.push({ id, leasedUntil, reference })
      if (waiting.length > WAITING_AT_MOST) return write
      if (isTimed) return Effect.void
      isTimed = true
      return Effect.asVoid(Effect.forkIn(Effect.delay(write, WRITTEN_WITHIN), scope))
    })

  /** What begins a statement that stores the callback `id`: those that wait are written with it, but itself, which it may find in its place. */
  const alongWith = (id: Reference) => {
    const others = taken((processed) => processed.id !== id)
    return others.length === 0 ? sql.literal("") : sql`WITH done AS (${done(others)})`
  }

  return { add, alongWith }
})
