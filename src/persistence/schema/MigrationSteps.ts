import { Clock, Effect, Schedule } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { AnswerBoundMs } from "../connection/BoundedClient.ts"
import { DatabaseError } from "../connection/DatabaseError.ts"
import type { FunctionFile } from "./FunctionFiles.ts"
import { checksumOf, inOneStatement, type MigrationStep, type SteppedMigration } from "./Migration.ts"
import { SchemaFunctions } from "./SchemaFunctions.ts"

/** Everybody behind a statement that waits for a table's lock waits too: this and the next constant bound that delay. */
const LOCK_WAIT_MS = 200
const LOCK_HELD_MS = 700
/** Between two attempts the payments that waited continue. */
const BETWEEN_TRIES = "500 millis"
const TRIES = 600
/** For an index or the validation of a large table, which delays nobody. */
const LONG_STEP_MS = 6 * 3_600_000
const ANSWER_AFTER_MS = 3_000
/** How soon the server ends a long statement whose process has died, instead of continuing for hours. */
const GONE_SEEN_MS = 1_000
/** A step of batches pauses as long as it ran, so that it uses at most half of the database's time. */
const SHORTEST_PAUSE_MS = 5
const BATCHES_AT_MOST = 1_000_000

/** Completes a migration. Nothing is done twice: each step is marked in its own commit, or can be repeated. */
export const runSteps = Effect.fn("Migrations.steps")(function* (
  sql: SqlClient.SqlClient,
  migration: SteppedMigration,
  functions: ReadonlyArray<FunctionFile>
) {
  const { name, needs = null, steps } = migration
  yield* sql`INSERT INTO schema_migrations (name, checksum, needs, steps_done, applied_at) VALUES (${name}, ${checksumOf(migration)}, ${needs}, 0, NULL)
    ON CONFLICT (name) DO NOTHING`
  const [found] = yield* sql<{ done: number }>`SELECT steps_done AS done FROM schema_migrations WHERE name = ${name}`
  for (const [at, step] of steps.entries()) {
    if (at < (found?.done ?? 0)) continue
    const began = yield* Clock.currentTimeMillis
    yield* runStep(sql, { migration, at, step, functions }).pipe(
      DatabaseError.explain(`apply ${name}, step ${at + 1} of ${steps.length}`)
    )
    yield* Effect.annotateLogs(Effect.logInfo("a step of a migration is done"), {
      migration: name,
      step: `${at + 1} of ${steps.length}`,
      form: step.form,
      duration_ms: (yield* Clock.currentTimeMillis) - began
    })
  }
})

interface StepPosition {
  readonly migration: SteppedMigration
  readonly at: number
  readonly step: MigrationStep
  readonly functions: ReadonlyArray<FunctionFile>
}

const runStep = (sql: SqlClient.SqlClient, place: StepPosition): Effect.Effect<void, SqlError.SqlError | DatabaseError> => {
  const { functions, step } = place
  switch (step.form) {
    case "transaction":
      return shortTransaction(
        sql,
        sql
          .unsafe(inOneStatement(step.sql))
          .pipe(
            Effect.andThen(step.withFunctions === true ? SchemaFunctions.put(sql, functions) : Effect.void),
            Effect.andThen(markDone(sql, place))
          )
      )
    case "index":
      return Effect.andThen(
        buildIndex(sql, step, { long: longStatement(sql), short: (text) => shortTransaction(sql, sql.unsafe(text)) }),
        markDone(sql, place)
      )
    case "drop":
      // Again if a process died meanwhile: what it left half dropped has the same name.
      return Effect.andThen(longStatement(sql)(`DROP INDEX CONCURRENTLY IF EXISTS ${step.index}`), markDone(sql, place))
    case "validate":
      return Effect.andThen(
        longStatement(sql)(`ALTER TABLE ${step.table} VALIDATE CONSTRAINT ${step.constraint}`),
        markDone(sql, place)
      )
    case "batches":
      return Effect.andThen(repeatBatches(sql, place, step.sql), markDone(sql, place))
  }
}

/**
 * A transaction that waits for locks and holds them no longer than a payment can wait; otherwise it is rolled back and retried.
 * Its commit does not wait for a standby, which could take any time: whatever is acknowledged later follows it in the
 * write-ahead log, and so does not survive without it.
 */
export const shortTransaction = <A>(
  sql: SqlClient.SqlClient,
  body: Effect.Effect<A, SqlError.SqlError | DatabaseError>
): Effect.Effect<void, SqlError.SqlError | DatabaseError> =>
  sql
    .withTransaction(
      Effect.andThen(
        sql`SELECT set_config('lock_timeout', ${`${LOCK_WAIT_MS}ms`}, true), set_config('statement_timeout', ${`${LOCK_HELD_MS}ms`}, true),
          set_config('synchronous_commit', 'local', true)`,
        body
      )
    )
    .pipe(Effect.retry({ schedule: Schedule.spaced(BETWEEN_TRIES), times: TRIES, while: isMomentary }), Effect.asVoid)

const isMomentary = (error: SqlError.SqlError | DatabaseError): boolean =>
  error._tag === "SqlError" && ["LockTimeoutError", "StatementTimeoutError", "DeadlockError"].includes(error.reason._tag)

/** On its own session and in no transaction, as CONCURRENTLY requires. It delays nobody while it waits. */
const longStatement =
  (sql: SqlClient.SqlClient) =>
  (text: string): Effect.Effect<void, SqlError.SqlError> =>
    Effect.gen(function* () {
      const connection = yield* sql.reserve
      const send = (one: string) => connection.executeUnprepared(one, [], undefined)
      const reset = Effect.forEach(["statement_timeout", "lock_timeout", "client_connection_check_interval"], (name) =>
        send(`RESET ${name}`)
      )
      yield* Effect.addFinalizer(() => Effect.ignore(reset))
      yield* send(`SET statement_timeout = ${LONG_STEP_MS}`)
      yield* send(`SET lock_timeout = ${LONG_STEP_MS}`)
      // A server that cannot detect that (it says so) continues to the end.
      yield* Effect.ignore(send(`SET client_connection_check_interval = ${GONE_SEEN_MS}`))
      yield* send(text)
    }).pipe(Effect.scoped, Effect.provideService(AnswerBoundMs, LONG_STEP_MS + ANSWER_AFTER_MS))

/** Each batch is committed together with how far it came. */
const repeatBatches = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  { migration: { name } }: StepPosition,
  text: string
) {
  for (let batch = 0; batch < BATCHES_AT_MOST; batch++) {
    const began = yield* Clock.currentTimeMillis
    const reached = yield* sql.withTransaction(
      Effect.gen(function* () {
        const [from] = yield* sql<{ reached: string }>`SELECT reached FROM schema_migrations WHERE name = ${name} FOR UPDATE`
        const [row] = yield* sql.unsafe<{ reached: string | null }>(text, [from?.reached ?? ""])
        if (typeof row?.reached !== "string") return null
        yield* sql`UPDATE schema_migrations SET reached = ${row.reached} WHERE name = ${name}`
        return row.reached
      })
    )
    if (reached === null) return
    yield* Effect.sleep(Math.max(SHORTEST_PAUSE_MS, (yield* Clock.currentTimeMillis) - began))
  }
  return yield* new DatabaseError(`${name} has no end: ${BATCHES_AT_MOST} batches were made`)
})

/** Advances the place in the list after a step; the last step completes the migration. */
const markDone = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, { at, migration: { name, steps } }: StepPosition) {
  const rows = yield* sql`UPDATE schema_migrations SET steps_done = ${at + 1}, reached = '',
    applied_at = CASE WHEN ${at + 1 === steps.length}::boolean THEN now() END
    WHERE name = ${name} AND steps_done = ${at} RETURNING name`
  if (rows.length === 0)
    return yield* new DatabaseError(`another process applied step ${at + 1} of ${name} meanwhile: start again`)
})

type Wish = Pick<Extract<MigrationStep, { form: "index" }>, "name" | "table" | "definition" | "unique">

interface Ways<E> {
  /** A statement outside a transaction, which may take hours and delays nobody. */
  readonly long: (text: string) => Effect.Effect<void, SqlError.SqlError>
  /** A statement that needs a lock for a moment, retried until it gets it. */
  readonly short: (text: string) => Effect.Effect<void, E>
}

/** While the index is built, partitions may be added, which include it. */
const ROUNDS = 1_000
/** How often to check whether another session is still building it: for six hours in total. */
const LOOKED_EVERY = "1 second"
const LOOKS = 6 * 3_600

/**
 * Builds an index while the table is being written. A valid index is left alone; the remains of a build that died are dropped
 * and built again. PostgreSQL has no such statement for a partitioned table: each partition gets its own index, and the table's
 * index is composed of those.
 */
const buildIndex = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  wish: Wish,
  ways: Ways<SqlError.SqlError | DatabaseError>
) {
  const [table] = yield* sql<{
    parted: boolean
  }>`SELECT relkind = 'p' AS parted FROM pg_class WHERE oid = ${wish.table}::regclass`
  if (table?.parted !== true) return yield* buildOne(sql, wish, ways)
  // For the parent table only: it blocks writers just for as long as the catalogue entry takes.
  yield* ways.short(`${create(wish)} IF NOT EXISTS ${wish.name} ON ONLY ${wish.table} ${wish.definition}`)
  for (let round = 0; round < ROUNDS; round++) {
    const [part] = yield* partsWithout(sql, wish)
    if (part === undefined) return
    const name = `${wish.name}${part.name.slice(wish.table.length)}`
    yield* buildOne(sql, { ...wish, name, table: part.name }, ways)
    yield* ways.short(`ALTER INDEX ${wish.name} ATTACH PARTITION ${name}`)
  }
})

const buildOne = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  wish: Wish,
  { long }: Ways<SqlError.SqlError | DatabaseError>
) {
  const found = yield* Effect.repeat(stateOf(sql, wish), {
    schedule: Schedule.spaced(LOOKED_EVERY),
    times: LOOKS,
    while: (state) => state === "being built"
  })
  if (found === "valid") return
  if (found !== null) yield* long(`DROP INDEX CONCURRENTLY ${wish.name}`)
  yield* long(`${create(wish)} CONCURRENTLY ${wish.name} ON ${wish.table} ${wish.definition}`)
})

/** Null when there is none. Dropping an index waits for a session that may still build it, though its process died. */
const stateOf = (sql: SqlClient.SqlClient, { name }: Wish) =>
  Effect.map(
    sql<{ state: "valid" | "being built" | "half" }>`
      SELECT CASE WHEN i.indisvalid THEN 'valid' WHEN p.pid IS NOT NULL THEN 'being built' ELSE 'half' END AS state
      FROM pg_index i LEFT JOIN pg_stat_progress_create_index p ON p.index_relid = i.indexrelid AND p.datname = current_database()
      WHERE i.indexrelid = to_regclass(${name})`,
    ([row]) => row?.state ?? null
  )

const create = ({ unique }: Wish): string => (unique === true ? "CREATE UNIQUE INDEX" : "CREATE INDEX")

const partsWithout = (sql: SqlClient.SqlClient, { name, table }: Wish) =>
  sql<{ name: string }>`
    SELECT c.relname::text AS name FROM pg_inherits p JOIN pg_class c ON c.oid = p.inhrelid
    WHERE p.inhparent = ${table}::regclass AND NOT EXISTS (
      SELECT FROM pg_inherits a JOIN pg_index i ON i.indexrelid = a.inhrelid
      WHERE a.inhparent = ${name}::regclass AND i.indrelid = p.inhrelid)
    ORDER BY 1 LIMIT 1`
