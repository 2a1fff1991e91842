import { hostname } from "node:os"
import { Context, Deferred, Effect, Exit, Layer, type Redacted, Schema } from "effect"
import { SqlClient } from "effect/sql"
import { CommitsWaiting } from "../../services/ports/CommitsWaiting.ts"
import { advisoryLocks } from "../connection/AdvisoryLocks.ts"
import { AnswerBoundMs } from "../connection/BoundedClient.ts"
import { makeCommitsWatch, WAITING_SESSIONS } from "../connection/CommitsWatch.ts"
import { DatabaseError } from "../connection/DatabaseError.ts"
import { rowsOf } from "../connection/Rows.ts"
import { ownSession, SessionPooling } from "../connection/SessionPooling.ts"
import { APPLICATION_NAME, Database } from "../Database.ts"
import { opensEveryKey } from "./HashKey.ts"
import { parseMasterKey, type VaultError } from "./Sealing.ts"

const TRIED_EVERY = "1 second"
/** A session that does not answer in this time is gone, and its lock with it. */
const ANSWER_MS = 4_000
const FIRST_WITHIN = "10 seconds"
/** The length to which PostgreSQL truncates a session's name. */
const LONGEST_NAME = 63
const CHANGING = "the master key of this database is being changed"

const locks = rowsOf(Schema.Struct({ isHeld: Schema.Boolean }))

/** The name of a node in `pg_stat_activity`. */
const nodeName = (): string => `${APPLICATION_NAME} node ${hostname()} ${process.pid}`.slice(0, LONGEST_NAME)

/**
 * Shows, for as long as it lives, that a node works with the present master key: it shares a lock that a key change takes
 * exclusively. The lock ends with its session, so that a key change never waits for a node that is gone. The same session also
 * watches whether commits wait for a standby (CommitsWaiting): it writes nothing, so it never waits with them.
 */
export class MasterKeyHold extends Context.Service<
  MasterKeyHold,
  {
    /** Why this node must not serve, in one line, or null. Fails as the database does. */
    readonly obstacle: Effect.Effect<string | null, unknown>
  }
>()("gateway/persistence/MasterKeyHold") {
  /** Building it fails while the master key is being changed. */
  static readonly layer = (
    url: Redacted.Redacted,
    masterKey: Redacted.Redacted
  ): Layer.Layer<MasterKeyHold, DatabaseError | VaultError, SqlClient.SqlClient> => Layer.effectContext(make(url, masterKey))
}

type State = "held" | "changing" | "lost"

const make = Effect.fnUntraced(function* (url: Redacted.Redacted, masterKey: Redacted.Redacted) {
  const pool = yield* SqlClient.SqlClient
  const master = yield* parseMasterKey(masterKey)
  // A separate session, so that the pool loses none and this one has the node's name.
  const own = yield* Layer.build(Layer.fresh(Database.layer({ url }, { applicationName: nodeName(), connections: 1 })))
  const sql = Context.get(own, SqlClient.SqlClient)
  const first = yield* Deferred.make<State>()
  let state: State = "lost"
  const commits = makeCommitsWatch()

  const hold = Effect.gen(function* () {
    const { ask, tryLock } = yield* ownSession(sql)
    const [row] = yield* locks(ask(`SELECT ${tryLock}_shared($1) AS "isHeld"`, [advisoryLocks.masterKey]))
    const isHeld = row?.isHeld === true
    state = isHeld ? "held" : "changing"
    yield* Deferred.succeed(first, state)
    if (isHeld) yield* commits.watch(ask(WAITING_SESSIONS))
  }).pipe(
    Effect.scoped,
    Effect.provideService(SessionPooling, Context.get(own, SessionPooling)),
    Effect.provideService(AnswerBoundMs, ANSWER_MS),
    Effect.withTracerEnabled(false)
  )

  const holdAgain = Effect.gen(function* () {
    const exit = yield* Effect.exit(hold)
    if (Exit.isSuccess(exit)) return
    state = "lost"
    yield* Effect.logWarning("the session that keeps the master key from being changed has gone; it is opened again", exit.cause)
  })
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(holdAgain, Effect.sleep(TRIED_EVERY))))

  const begun = yield* Deferred.await(first).pipe(
    Effect.timeoutOrElse({
      duration: FIRST_WITHIN,
      orElse: () => new DatabaseError(`the database gave this node no session within ${FIRST_WITHIN}`)
    })
  )
  if (begun === "changing") return yield* new DatabaseError(`${CHANGING}: start again when \`gateway secrets rotate\` has ended`)

  const ownKey = Effect.map(opensEveryKey(pool, master), (opens) =>
    opens ? null : "MASTER_KEY opens nothing in this database: it was changed, and this node has another one"
  )
  const obstacle = Effect.suspend(() => {
    if (state === "changing") return Effect.succeed(CHANGING)
    if (state === "lost") return Effect.succeed("the session that keeps the master key from being changed has gone")
    return ownKey
  })
  return Context.make(MasterKeyHold, { obstacle }).pipe(Context.add(CommitsWaiting, commits.isWaiting))
})
