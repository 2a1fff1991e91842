import { Array as Arr, Deferred, Effect, Exit, Fiber, Option, Queue, type Scope, Semaphore } from "effect"

/** How many steps one statement holds at most. */
const STEPS_A_STATEMENT = 256
/** A batch that takes longer than this waits for a row that somebody holds: batches of other lanes no longer wait for it. */
const PATIENCE_MS = 100
/** How many batches are in flight at most, those included that wait for a row. */
const BATCHES_AT_ONCE = 4
/** How many lanes of a failed batch run at once, and how many steps of a failed lane. */
const LANES_AT_ONCE = 4
const ALONE_AT_ONCE = 2
/** How many steps may wait; a further one waits for a place. */
const STEPS_WAITING = 4096

export interface Batching<Step, Result, E> {
  /** Commits all of them, or none; a result a step, in the steps' order. */
  readonly statement: (steps: ReadonlyArray<Step>) => Effect.Effect<ReadonlyArray<Result>, E>
  /** What a step's result means where an earlier statement may have committed it: looks whether the step is there. */
  readonly doubted: (step: Step, result: Result) => Effect.Effect<Result, E>
  /** Steps of one lane want the same rows. */
  readonly laneOf: (step: Step) => string
  /** Whether nothing was committed because somebody else held the rows for as long as anybody waits for them. */
  readonly wasHeld: (error: E) => boolean
  /** How many batches are in flight that wait for no row; 1 if left out, which is right for steps that want the same rows. */
  readonly inFlight?: number
}

interface Waiting<Step, Result> {
  readonly step: Step
  readonly done: Deferred.Deferred<Result>
}

/**
 * Commits steps that arrive together with one statement. One batch is in flight at a time, or `inFlight`, unless it waits for a row: a step that comes
 * alone goes at once, and under load batches grow by themselves.
 *
 * When a batch fails, its lanes run each by itself, and where a lane fails, too, its steps do, so that neither a bad step nor a held row
 * ever fails its neighbours. That is safe even where the failed batch was committed after all (its connection broke during the commit):
 * a step is guarded by its fence or its revision, waits for the row's lock while the lost statement still runs, and is then refused;
 * `doubted` says what such a refusal means.
 */
export const batched = <Step, Result, E>({
  doubted,
  inFlight = 1,
  laneOf,
  statement,
  wasHeld
}: Batching<Step, Result, E>): Effect.Effect<(step: Step) => Effect.Effect<Result>, never, Scope.Scope> =>
  Effect.gen(function* () {
    type One = Waiting<Step, Result>
    const scope = yield* Effect.scope
    const queue = yield* Queue.bounded<One>(STEPS_WAITING)
    const places = yield* Semaphore.make(BATCHES_AT_ONCE)
    const turns = yield* Semaphore.make(inFlight)

    // A step that cannot even be written down breaks its own batch, never the loop.
    const run = (steps: ReadonlyArray<One>) =>
      Effect.suspend(() => statement(steps.map(({ step }) => step))).pipe(
        Effect.filterOrElse(
          (results) => results.length === steps.length,
          () => missing
        ),
        Effect.exit
      )

    const alone = ({ done, step }: One): Effect.Effect<void> =>
      run([{ done, step }]).pipe(
        Effect.flatten,
        Effect.flatMap(([result]) => (result === undefined ? missing : doubted(step, result))),
        Effect.exit,
        Effect.flatMap((exit) => (Exit.isSuccess(exit) ? Deferred.succeed(done, exit.value) : Deferred.die(done, exit.cause))),
        Effect.asVoid
      )

    const held = (exit: Exit.Failure<unknown, E>): boolean =>
      exit.cause.reasons.some((reason) => reason._tag === "Fail" && wasHeld(reason.error))

    const given = (
      steps: ReadonlyArray<One>,
      results: ReadonlyArray<Result>,
      seen: (step: Step, result: Result) => Effect.Effect<Result, E>
    ) =>
      Effect.forEach(
        Arr.zip(steps, results),
        ([{ done, step }, result]) =>
          Effect.flatMap(Effect.exit(seen(step, result)), (exit) =>
            Exit.isSuccess(exit) ? Deferred.succeed(done, exit.value) : Deferred.die(done, exit.cause)
          ),
        { discard: true }
      )

    const failed = (steps: ReadonlyArray<One>, { cause }: Exit.Failure<unknown, E>) =>
      Effect.forEach(steps, ({ done }) => Deferred.die(done, cause), { discard: true })

    const lane = Effect.fnUntraced(function* (steps: ReadonlyArray<One>) {
      if (steps.length > 1) {
        const exit = yield* run(steps)
        if (Exit.isSuccess(exit)) return yield* given(steps, exit.value, doubted)
        // Its steps would find the same rows held.
        if (held(exit)) return yield* failed(steps, exit)
      }
      yield* Effect.forEach(steps, alone, { concurrency: ALONE_AT_ONCE, discard: true })
    })

    const together = Effect.fnUntraced(function* (batch: ReadonlyArray<One>) {
      const exit = yield* run(batch)
      if (Exit.isSuccess(exit)) return yield* given(batch, exit.value, (_step, result) => Effect.succeed(result))
      const lanes = Object.values(Arr.groupBy(batch, ({ step }) => laneOf(step)))
      if (lanes.length === 1 && held(exit)) return yield* failed(batch, exit)
      yield* Effect.forEach(lanes, lane, { concurrency: LANES_AT_ONCE, discard: true })
    })

    /** Lanes of batches that take long, with the steps that came for them meanwhile: they would wait for the same rows. */
    const aside = new Map<string, Array<One>>()
    const isNotAside = (one: One): boolean => {
      const waiting = aside.get(laneOf(one.step))
      waiting?.push(one)
      return waiting === undefined
    }

    const outlasting = Effect.fnUntraced(function* (batch: ReadonlyArray<One>, going: Fiber.Fiber<void>) {
      const lanes = new Set(batch.map(({ step }) => laneOf(step)))
      for (const name of lanes) aside.set(name, [])
      yield* Fiber.await(going)
      const waited = [...lanes].flatMap((name) => aside.get(name) ?? [])
      for (const name of lanes) aside.delete(name)
      yield* Queue.offerAll(queue, waited)
    })

    /** A batch's turn ends with it, or once it waits for a row. */
    const turn = Effect.fnUntraced(function* (batch: ReadonlyArray<One>, going: Fiber.Fiber<void>) {
      const ended = yield* Effect.timeoutOption(Fiber.await(going), PATIENCE_MS)
      if (Option.isNone(ended)) yield* Effect.forkIn(outlasting(batch, going), scope, { startImmediately: true })
      yield* turns.release(1)
    })

    const next = Effect.gen(function* () {
      yield* turns.take(1)
      yield* places.take(1)
      const batch = (yield* Queue.takeBetween(queue, 1, STEPS_A_STATEMENT)).filter(isNotAside)
      if (batch.length === 0) return yield* Effect.andThen(turns.release(1), places.release(1))
      const going = yield* Effect.forkIn(Effect.ensuring(together(batch), places.release(1)), scope, { startImmediately: true })
      yield* Effect.forkIn(turn(batch, going), scope, { startImmediately: true })
    })
    yield* Effect.forkScoped(Effect.forever(next))

    return (step) =>
      Effect.gen(function* () {
        const done = yield* Deferred.make<Result>()
        yield* Queue.offer(queue, { step, done })
        return yield* Deferred.await(done)
      })
  })

const missing = Effect.die(new Error("a money step got no result"))
