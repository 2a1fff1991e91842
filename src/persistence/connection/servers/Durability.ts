import type * as PgConnection from "@effect/sql-pg/PgConnection"
import type * as PgPool from "@effect/sql-pg/PgPool"
import { Effect, Schema } from "effect"
import type { SqlError } from "effect/sql"
import { refused } from "./FailureText.ts"

/**
 * The `cluster_name` of a server whose data is thrown away after a test; it can be set only when a server starts. On any other
 * server a commit has to survive a crash of the server and of its machine, because money is sent on the strength of it.
 */
export const THROWN_AWAY = "thrown-away-after-its-test"
/** As SQL. */
export const IS_THROWN_AWAY = `current_setting('cluster_name') = '${THROWN_AWAY}'`

/** SQL for the setting because of which a crash could undo such commits, as `name = value`; null when there is none. */
const weaknessWith = (commits: string): string => `nullif(concat_ws(', ',
  CASE WHEN ${commits} NOT IN ('on', 'remote_apply') THEN 'synchronous_commit = ' || ${commits} END,
  CASE WHEN current_setting('fsync') <> 'on' THEN 'fsync = ' || current_setting('fsync') END,
  CASE WHEN current_setting('full_page_writes') <> 'on' THEN 'full_page_writes = ' || current_setting('full_page_writes') END), '')`

/** The same for the current session as it is. */
export const WEAKNESS = weaknessWith("current_setting('synchronous_commit')")

/**
 * The same for a session whose setting this query raises first; null on a server that is thrown away. A stronger setting is
 * kept: the database or the role may set `remote_apply`. The value is set in any case, so that it cannot be lowered under an
 * open session. `$1`: the process id of the connection. Behind a pooler the role must bring the setting.
 */
export const RAISED_WEAKNESS = `(SELECT CASE WHEN ${IS_THROWN_AWAY} THEN NULL ELSE ${weaknessWith("session.commits")} END
  FROM (SELECT CASE WHEN ${IS_THROWN_AWAY} OR pg_backend_pid() <> $1 THEN current_setting('synchronous_commit')
    ELSE set_config('synchronous_commit', CASE current_setting('synchronous_commit') WHEN 'remote_apply' THEN 'remote_apply' ELSE 'on' END, false)
    END AS commits OFFSET 0) AS session)`

const decode = Schema.decodeUnknownEffect(Schema.NonEmptyArray(Schema.Struct({ weakness: Schema.NullOr(Schema.String) })))

/** Raises the session's setting, and returns why a crash could still undo its commits. */
const weaknessOf = (connection: PgConnection.PgConnection): Effect.Effect<string | null, SqlError.SqlError> =>
  Effect.flatMap(connection.query(`SELECT ${RAISED_WEAKNESS} AS weakness`, [connection.processId], false), ({ rows }) =>
    Effect.map(Effect.orDie(decode(rows)), ([{ weakness }]) => weakness)
  )

/** For the operator who has to fix it. */
export const forgetful = (weakness: string): string =>
  `a crash could take back what is committed (${weakness}): see docs/operations/durability.md#what-a-commit-survives`

const ASKED_EVERY_MS = 1000
/** In real time, whatever clock a test adjusts: each check is a real statement. */
const pause = Effect.callback<void>((resume) => {
  const timer = setTimeout(() => resume(Effect.void), ASKED_EVERY_MS)
  return Effect.sync(() => clearTimeout(timer))
})

/**
 * The connections of a pool to one server. Each is checked, and its setting raised, before its first use, and the server is
 * checked every second: while a crash could undo commits, no connection is handed out. `refusal` says why.
 */
export const durablePool = Effect.fnUntraced(function* (pool: Pick<PgPool.PgPool, "get" | "invalidate">) {
  const raised = new WeakSet<PgConnection.PgConnection>()
  let refusal: string | null = null

  const check = Effect.fnUntraced(function* (connection: PgConnection.PgConnection) {
    const weakness = yield* weaknessOf(connection)
    const why = weakness === null ? null : forgetful(weakness)
    if (why !== null && refusal !== why) yield* Effect.annotateLogs(Effect.logError("the database is not used"), { note: why })
    refusal = why
    raised.add(connection)
  })
  const recheck = Effect.ignore(Effect.scoped(Effect.flatMap(pool.get, check)))
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(pause, recheck)))

  const get = Effect.tap(pool.get, (connection) =>
    Effect.andThen(
      raised.has(connection) ? Effect.void : check(connection),
      Effect.suspend(() => (refusal === null ? Effect.void : refused(refusal)))
    )
  )
  const reserve = Effect.flatMap(get, ({ pin }) => pin)
  return { get, reserve, invalidate: pool.invalidate, refusal: Effect.sync(() => refusal) }
})
