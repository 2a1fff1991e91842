import { Array as Arr, Deferred, Effect, Exit, Option, Queue, type Scope } from "effect"

/** How many steps one statement holds at most. */
const STEPS_A_STATEMENT = 64
/** How many steps of a failed batch run at once. */
const ALONE_AT_ONCE = 4
/** How many steps may wait; a further one waits for a place. */
const STEPS_WAITING = 4096

interface Waiting<Step, Result> {
  readonly step: Step
  readonly done: Deferred.Deferred<Result>
}

/**
 * Commits steps that arrive together with one statement. One batch is in flight at a time: a step that comes alone goes at once,
 * and under load batches grow by themselves.
 *
 * When a batch fails, each of its steps runs alone, so that one bad step never fails its neighbours. That is safe even where the
 * failed batch was committed after all (its connection broke during the commit): a step is guarded by its fence or its revision,
 * waits for the row's lock while the lost statement still runs, and is then refused. `doubted` says what such a refusal means: it
 * looks whether the step is there.
 */
export const batched = <Step, Result, E>(
  statement: (steps: ReadonlyArray<Step>) => Effect.Effect<ReadonlyArray<Result>, E>,
  doubted: (step: Step, result: Result) => Effect.Effect<Result, E>
): Effect.Effect<(step: Step) => Effect.Effect<Result>, never, Scope.Scope> =>
  Effect.gen(function* () {
    // A step that cannot even be written down breaks its own batch, never the loop.
    const run = (steps: ReadonlyArray<Step>) => Effect.suspend(() => statement(steps))
    const scope = yield* Effect.scope
    const queue = yield* Queue.bounded<Waiting<Step, Result>>(STEPS_WAITING)

    const alone = ({ done, step }: Waiting<Step, Result>): Effect.Effect<void> =>
      run([step]).pipe(
        Effect.flatMap(([result]) => (result === undefined ? missing : doubted(step, result))),
        Effect.exit,
        Effect.flatMap((exit) => (Exit.isSuccess(exit) ? Deferred.succeed(done, exit.value) : Deferred.die(done, exit.cause))),
        Effect.asVoid
      )

    const together = (batch: ReadonlyArray<Waiting<Step, Result>>): Effect.Effect<void> =>
      Effect.flatMap(Effect.exit(run(batch.map(({ step }) => step))), (exit) => {
        if (Exit.isFailure(exit) || exit.value.length !== batch.length) {
          // Beside the loop and each other: one tenant's locked row holds up nobody else for longer than its batch.
          return Effect.asVoid(Effect.forkIn(Effect.forEach(batch, alone, { concurrency: ALONE_AT_ONCE, discard: true }), scope))
        }
        return Effect.forEach(
          exit.value,
          (result, index) =>
            Option.match(Arr.get(batch, index), { onNone: () => missing, onSome: ({ done }) => Deferred.succeed(done, result) }),
          { discard: true }
        )
      })

    yield* Queue.takeBetween(queue, 1, STEPS_A_STATEMENT).pipe(Effect.flatMap(together), Effect.forever, Effect.forkScoped)

    return (step) =>
      Effect.gen(function* () {
        const done = yield* Deferred.make<Result>()
        yield* Queue.offer(queue, { step, done })
        return yield* Deferred.await(done)
      })
  })

const missing = Effect.die(new Error("a money step got no result"))
