import { Effect } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { sqlState } from "./DatabaseSpans.ts"
import { timedCommit } from "./DatabaseTimes.ts"
import { reasonOf } from "./servers/FailureText.ts"

/** A load balancer notices a full disk within seconds, and four short statements every five seconds cost nothing. */
const TRIED_EVERY = "5 seconds"
/** While writes are refused, so that the node gets requests again soon afterwards. */
const TRIED_AGAIN_AFTER = "1 second"
/** More than the memory for the rows, so that they are written to a temporary file and the disk must allocate blocks. */
const SPILLED_LINES = 128
const LINE_BYTES = 8_000
const LEAST_MEMORY = "64kB"
const MARK = "payment-gateway"

const DISK_FULL = "53100"
const READ_ONLY = "25006"
/** The role may not do what is tried, or may write no temporary files: this says nothing about payments. */
const PROVES_NOTHING: ReadonlyArray<string> = ["42501", "53400"]

/**
 * Checks every few seconds whether the database accepts what a payment writes, and why not, in one line; null when it does. A
 * transaction writes a message to the write-ahead log and commits, as a payment does, including the wait for a standby. Before
 * that it fills a temporary file of a megabyte, because a full disk may still accept a short commit. No table grows, and every
 * role may do both. On Citus this checks the coordinator: a worker with a full disk stops only its own tenants.
 */
export const makeWriteProbe = Effect.fnUntraced(function* (sql: SqlClient.SqlClient) {
  let refusal: string | null = "it is not known yet whether the database takes writes"
  let logged: string | null = null

  const tell = Effect.fnUntraced(function* (next: string | null) {
    refusal = next
    if (next === logged) return
    if (next === null) yield* Effect.logWarning("the database takes writes again")
    else yield* Effect.annotateLogs(Effect.logError("the database does not take writes"), { note: next })
    logged = next
  })
  const once = Effect.matchEffect(timedCommit(written(sql)), {
    onSuccess: () => tell(null),
    onFailure: (error) => tell(refusalOf(error))
  })
  const pause = Effect.suspend(() => Effect.sleep(refusal === null ? TRIED_EVERY : TRIED_AGAIN_AFTER))
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(once, pause)))
  return Effect.sync(() => refusal)
})

const written = (sql: SqlClient.SqlClient) =>
  sql
    .withTransaction(
      Effect.gen(function* () {
        // Changes no row. A read-only session refuses it, and its connection is then discarded.
        yield* sql`UPDATE clock_watch SET doubt = doubt WHERE false`
        yield* sql`SELECT set_config('work_mem', ${LEAST_MEMORY}, true)`
        yield* sql`WITH lines AS MATERIALIZED (SELECT repeat('x', ${LINE_BYTES}::int) AS line FROM generate_series(1, ${SPILLED_LINES}::int))
        SELECT count(line)::int FROM lines`
        yield* sql`SELECT pg_logical_emit_message(true, ${MARK}, '') IS NOT NULL`
      })
    )
    .pipe(Effect.withTracerEnabled(false))

const refusalOf = (error: SqlError.SqlError): string | null => {
  const state = sqlState(error)
  if (state !== undefined && PROVES_NOTHING.includes(state)) return null
  if (state === DISK_FULL) return `the disk of the database is full (${reasonOf(error.reason)}): see docs/runbooks/not-ready.md`
  if (state === READ_ONLY) return "the database is read-only: see docs/runbooks/not-ready.md"
  return `the database does not take writes: ${reasonOf(error.reason)}`
}
