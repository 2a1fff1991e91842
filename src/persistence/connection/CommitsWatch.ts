import { Effect, Schema } from "effect"
import type { SqlError } from "effect/sql"
import { COMMITS_WAIT } from "../../services/ports/CommitsWaiting.ts"
import { rowsOf } from "./Rows.ts"

const LOOKED_EVERY = "1 second"
/** A commit takes milliseconds. One that takes this long waits for a standby that is gone or far behind. */
const WAITING_SECONDS = 2

const sessions = rowsOf(Schema.Struct({ session: Schema.String, isLong: Schema.Boolean }))

/**
 * Our sessions that wait in a commit for a standby, each with its transaction, and whether the statement is old enough to
 * count. A role sees the waits of its own sessions only. PostgreSQL does not report when the wait began: the statement may have
 * waited for a row before.
 */
export const WAITING_SESSIONS = `
  SELECT pid || ' ' || xact_start AS session, clock_timestamp() - query_start > interval '${WAITING_SECONDS} seconds' AS "isLong"
  FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'SyncRep' AND xact_start IS NOT NULL`

/**
 * Detects commits that wait for a standby: the same transaction waits in two consecutive checks, and its statement began more
 * than two seconds ago. A transaction commits once, so it waited from one check to the other. Logs one line when the wait
 * begins, and one when it is over.
 */
export const makeCommitsWatch = () => {
  let isWaiting = false

  const tell = Effect.fnUntraced(function* (next: boolean) {
    if (next === isWaiting) return
    isWaiting = next
    yield* next ? Effect.logError(COMMITS_WAIT) : Effect.logWarning("commits no longer wait for a standby of the database")
  })

  return {
    /** False while `watch` does not run, because the wait that an ended session saw may be over. */
    isWaiting: Effect.sync(() => isWaiting),
    /** Checks every second, with the rows of `WAITING_SESSIONS`, until `look` fails. */
    watch: (look: Effect.Effect<ReadonlyArray<unknown>, SqlError.SqlError>): Effect.Effect<never> =>
      Effect.suspend(() => {
        let earlier: ReadonlySet<string> = new Set()
        const once = Effect.flatMap(sessions(look), (seen) => {
          const waits = seen.some(({ isLong, session }) => isLong && earlier.has(session))
          earlier = new Set(seen.map(({ session }) => session))
          return tell(waits)
        })
        return Effect.forever(Effect.delay(once, LOOKED_EVERY))
      }).pipe(
        Effect.ensuring(
          Effect.sync(() => {
            isWaiting = false
          })
        )
      )
  }
}
