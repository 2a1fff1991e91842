import { Array as Arr, Effect, Exit, Fiber, Option, type Scope } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { makeTimer } from "../../runtime/Timer.ts"
import { EndsInCommit } from "./BoundedClient.ts"

/** The most steps per statement. With more, all callers would be in one batch, and the server and this process would take turns. */
const STEPS_A_STATEMENT = 128
/** A batch that takes longer than this waits for a locked row; batches of other lanes then no longer wait for it. */
const PATIENCE_MS = 100
/** The most batches in flight that wait for no row, and the most in total. */
const BATCHES_AT_ONCE = 3
const BATCHES_IN_ALL = 4
/** The most of them for one of several servers: when it does not answer, the others keep the rest. */
const BATCHES_A_SERVER = 2
/** How many lanes of a failed batch run at once, and how many steps of a failed lane. */
const LANES_AT_ONCE = 4
const SINGLES_AT_ONCE = 2

/** How to batch steps whose rows are on several servers. All members are absent when there is one server. */
export interface ServerLanes<Step> {
  /** A batch contains steps of one lane only, because Citus sends a statement to the server of one tenant. */
  readonly isBatchOfOneLane?: boolean
  /** The server of a step, for which few batches are in flight at once; null when unknown. */
  readonly serverOf?: (step: Step) => string | null
  /** Wraps a statement that begins with this step. */
  readonly around?: (step: Step) => <A, E>(statement: Effect.Effect<A, E>) => Effect.Effect<A, E | SqlError.SqlError>
}

export interface StepBatcherOptions<Step, Result, E> extends ServerLanes<Step> {
  /** Commits all of them or none. Returns one result per step, in their order. */
  readonly statement: (steps: ReadonlyArray<Step>) => Effect.Effect<ReadonlyArray<Result>, E>
  /** The result of a step that an earlier statement may already have committed: checks whether the step was written. */
  readonly recover: (step: Step, result: Result) => Effect.Effect<Result, E>
  /** Steps of one lane need the same rows, so they are never in two batches at once. */
  readonly laneOf: (step: Step) => string
  /** Whether nothing was committed because rows stayed locked until the lock timeout. */
  readonly isLockTimeout: (error: E | SqlError.SqlError) => boolean
}

interface QueuedStep<Step, Result> {
  readonly step: Step
  readonly lane: string
  readonly end: (exit: Effect.Effect<Result>) => void
}

/**
 * Commits steps that arrive together in one statement (group commit). Few batches are in flight at a time, and only one per
 * lane: a single step starts at once, and under load batches grow by themselves.
 *
 * When a batch fails, each of its lanes runs by itself, and when a lane fails too, each of its steps, so that a bad step or a
 * locked row never fails its neighbours. That is safe even if the failed batch was committed after all (its connection broke
 * during the commit): a step is guarded by its fence or its revision, waits for the row's lock while the lost statement still
 * runs, and is then refused; `recover` decides what such a refusal means.
 *
 * A step uses no fiber, a batch uses one. The number of waiting steps is bounded by the limits on requests and background work.
 */
export const makeBatcher = <Step, Result, E>({
  recover,
  laneOf,
  isBatchOfOneLane = false,
  serverOf = () => null,
  around = () => (statement) => statement,
  statement,
  isLockTimeout
}: StepBatcherOptions<Step, Result, E>): Effect.Effect<(step: Step) => Effect.Effect<Result>, never, Scope.Scope> =>
  Effect.gen(function* () {
    type One = QueuedStep<Step, Result>
    const scope = yield* Effect.scope
    const timer = yield* makeTimer
    const fork = Effect.runForkWith(yield* Effect.context<never>())
    const waiting: Array<One> = []
    let isAwake = false
    /** The lanes of all batches in flight, the number of running batches, and the number of those that wait for a locked row. */
    const inFlight = { lanes: new Set<string>(), servers: new Map<string | null, number>(), running: 0, blocked: 0 }
    const count = (server: string | null, by: number) => inFlight.servers.set(server, (inFlight.servers.get(server) ?? 0) + by)
    const isFull = (server: string | null) => server !== null && (inFlight.servers.get(server) ?? 0) >= BATCHES_A_SERVER

    // A step that cannot be encoded fails its own batch, never the loop.
    const runStatement = (steps: ReadonlyArray<One>) => {
      const [first] = steps
      const run = Effect.suspend(() => statement(steps.map(({ step }) => step))).pipe(
        Effect.filterOrElse(
          (results) => results.length === steps.length,
          () => missingResult
        )
      )
      return Effect.exit(first === undefined ? run : Effect.suspend(() => around(first.step)(run)))
    }

    const die = ({ end }: One, cause: unknown) => end(Effect.die(cause))

    const interpret = (one: One, result: Result): Effect.Effect<void> =>
      Effect.map(Effect.exit(Effect.suspend(() => recover(one.step, result))), (exit) =>
        Exit.isSuccess(exit) ? one.end(Effect.succeed(exit.value)) : die(one, exit.cause)
      )

    const runSingle = (one: One): Effect.Effect<void> =>
      Effect.flatMap(runStatement([one]), (exit) => {
        if (Exit.isFailure(exit)) return Effect.sync(() => die(one, exit.cause))
        return Effect.forEach(exit.value, (result) => interpret(one, result), { discard: true })
      })

    const isLockTimeoutExit = (exit: Exit.Failure<unknown, E | SqlError.SqlError>): boolean =>
      exit.cause.reasons.some((reason) => reason._tag === "Fail" && isLockTimeout(reason.error))

    const failAll = (steps: ReadonlyArray<One>, { cause }: Exit.Failure<unknown, E | SqlError.SqlError>) => {
      for (const one of steps) die(one, cause)
    }

    const runLane = Effect.fnUntraced(function* (steps: ReadonlyArray<One>) {
      if (steps.length > 1) {
        const exit = yield* runStatement(steps)
        if (Exit.isSuccess(exit))
          return yield* Effect.forEach(Arr.zip(steps, exit.value), ([one, result]) => interpret(one, result), { discard: true })
        // Its steps would find the same rows locked.
        if (isLockTimeoutExit(exit)) return failAll(steps, exit)
      }
      yield* Effect.forEach(steps, runSingle, { concurrency: SINGLES_AT_ONCE, discard: true })
    })

    const runBatch = (batch: ReadonlyArray<One>): Effect.Effect<void> =>
      Effect.flatMap(runStatement(batch), (exit) => {
        if (Exit.isSuccess(exit)) {
          for (const [one, result] of Arr.zip(batch, exit.value)) one.end(Effect.succeed(result))
          return Effect.void
        }
        const lanes = Object.values(Arr.groupBy(batch, ({ lane }) => lane))
        if (lanes.length === 1 && isLockTimeoutExit(exit)) return Effect.sync(() => failAll(batch, exit))
        return Effect.forEach(lanes, runLane, { concurrency: LANES_AT_ONCE, discard: true })
      })

    /** The oldest steps whose lanes are not in flight; or only the lane that waited longest. */
    const takeBatch = (): ReadonlyArray<One> => {
      const [batch, left]: [Array<One>, Array<One>] = [[], []]
      const fits = ({ lane, step }: One) =>
        batch.length < STEPS_A_STATEMENT &&
        !inFlight.lanes.has(lane) &&
        (!isBatchOfOneLane || (batch[0]?.lane ?? lane) === lane) &&
        !isFull(serverOf(step))
      for (const one of waiting) (fits(one) ? batch : left).push(one)
      waiting.splice(0, waiting.length, ...left)
      return batch
    }

    const start = (batch: ReadonlyArray<One>) => {
      const lanes = new Set(batch.map(({ lane }) => lane))
      const server = batch[0] === undefined ? null : serverOf(batch[0].step)
      for (const lane of lanes) inFlight.lanes.add(lane)
      count(server, 1)
      inFlight.running += 1
      let state: "running" | "blocked" = "running"
      const stop = timer(PATIENCE_MS, () => {
        state = "blocked"
        inFlight.running -= 1
        inFlight.blocked += 1
        wake()
      })
      const fiber = fork(runBatch(batch))
      fiber.addObserver(() => {
        stop()
        inFlight[state] -= 1
        count(server, -1)
        for (const lane of lanes) inFlight.lanes.delete(lane)
        if (waiting.length > 0) wake()
      })
      Fiber.runIn(fiber, scope)
    }

    const startBatches = () => {
      isAwake = false
      while (inFlight.running < BATCHES_AT_ONCE && inFlight.running + inFlight.blocked < BATCHES_IN_ALL) {
        const batch = takeBatch()
        if (batch.length === 0) return
        start(batch)
      }
    }

    // Runs after everything that arrived in the same turn of the event loop.
    const wake = () => {
      if (isAwake) return
      isAwake = true
      setImmediate(startBatches)
    }

    return (step) =>
      Effect.callback((resume) => {
        waiting.push({ step, lane: laneOf(step), end: resume })
        wake()
      })
  })

const missingResult = Effect.die(new Error("a money step got no result"))

/**
 * Statements that share a connection wait for each other, so one that may wait for a row gets its own connection. Inside a
 * transaction it stays there: on another connection it would wait for what its own transaction has locked.
 */
export const onOwnConnection =
  (sql: SqlClient.SqlClient) =>
  <A, E>(statement: Effect.Effect<A, E>): Effect.Effect<A, E | SqlError.SqlError> =>
    Effect.flatMap(Effect.serviceOption(sql.transactionService), (transaction) =>
      Option.isSome(transaction)
        ? statement
        : Effect.scoped(
            Effect.flatMap(sql.reserve, (connection) =>
              statement.pipe(
                Effect.provideService(sql.transactionService, [connection, 0]),
                Effect.provideService(EndsInCommit, true)
              )
            )
          )
    )

/** Another transaction held a row for longer than the lock timeout: nothing was committed. */
export const isLockTimeout = (error: { readonly _tag: string } | SqlError.SqlError): boolean =>
  error._tag === "SqlError" && "reason" in error && error.reason._tag === "LockTimeoutError"
