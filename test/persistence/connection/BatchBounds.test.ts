import { expect, it } from "@effect/vitest"
import { Cause, Clock, Context, Deferred, Effect, Exit, Fiber, Scope } from "effect"
import type { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { EndsInCommit } from "../../../src/persistence/connection/BoundedClient.ts"
import {
  isLockTimeout,
  makeBatcher,
  onOwnConnection,
  type StepBatcherOptions
} from "../../../src/persistence/connection/StepBatch.ts"

type Options = StepBatcherOptions<string, string, string>
const laneOf = (step: string) => step.replace(/\d+$/, "")

/** A batcher whose steps are named for their lane, and its statements: when each began, and its steps. `run` is what a statement does. */
const batcher = (
  run: (steps: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>, string>,
  more: Partial<Options> = {}
) =>
  Effect.gen(function* () {
    const begun: Array<readonly [at: number, steps: ReadonlyArray<string>]> = []
    const recovered: Array<readonly [step: string, result: string]> = []
    const commit = yield* makeBatcher<string, string, string>({
      statement: (steps) =>
        Effect.flatMap(Clock.currentTimeMillis, (at) => {
          begun.push([at, steps])
          return run(steps)
        }),
      recover: (step, result) => Effect.sync(() => (recovered.push([step, result]), `${result} after all`)),
      laneOf,
      isLockTimeout: (error) => error.toString() === "lock timeout",
      ...more
    })
    return { begun, commit, recovered }
  })

const every = <A>(steps: ReadonlyArray<string>, commit: (step: string) => Effect.Effect<A>) =>
  Effect.forkChild(Effect.forEach(steps, commit, { concurrency: "unbounded" }), { startImmediately: true })

/** What a step that died died of. */
const defectOf = (exit: Exit.Exit<unknown>) =>
  Exit.isFailure(exit)
    ? exit.cause.reasons.map((reason) => (reason._tag === "Die" ? reason.defect : reason._tag))
    : ["it succeeded"]

it.effect("a statement holds 128 steps at most, and three are under way at once", () =>
  Effect.gen(function* () {
    const { begun, commit, recovered } = yield* batcher((steps) => Effect.delay(Effect.succeed(steps), 10))
    const steps = Array.from({ length: 400 }, (_, at) => `lane${at}-`)
    const all = yield* every(steps, commit)
    yield* TestClock.adjust(10)
    yield* TestClock.adjust(10)
    expect(yield* Fiber.join(all)).toStrictEqual(steps)
    expect(begun.map(([at, { length }]) => [at, length])).toStrictEqual([
      [0, 128],
      [0, 128],
      [0, 128],
      [10, 16]
    ])
    expect(recovered).toStrictEqual([])
  })
)

it.effect("a fourth batch begins where one of three waits for longer than 100 ms, and a fifth never before one has ended", () =>
  Effect.gen(function* () {
    const end = Deferred.makeUnsafe<ReadonlyArray<string>>()
    const { begun, commit } = yield* batcher((steps) => {
      if (steps[0] === "ended") return Effect.succeed(steps)
      return steps[0] === "a" ? Deferred.await(end) : Effect.never
    })
    // One that has ended long ago counts no more.
    yield* commit("ended")
    yield* TestClock.adjust(1_000)
    begun.length = 0
    for (const step of ["a", "b", "c", "d", "e"]) {
      yield* every([step], commit)
      yield* TestClock.adjust(1)
    }
    const three = [["a"], ["b"], ["c"]]
    expect(begun.map(([, steps]) => steps)).toStrictEqual(three)
    yield* TestClock.adjust(94)
    expect(begun.map(([, steps]) => steps)).toStrictEqual(three)
    yield* TestClock.adjust(1)
    expect(begun.map(([, steps]) => steps)).toStrictEqual([...three, ["d", "e"]])
    yield* every(["f"], commit)
    yield* TestClock.adjust(1_000)
    expect(begun).toHaveLength(4)
    yield* Deferred.succeed(end, ["a"])
    yield* TestClock.adjust(1)
    expect(begun.map(([, steps]) => steps)).toStrictEqual([...three, ["d", "e"], ["f"]])
  })
)

it.effect("a failed batch runs lane by lane, four at once, and a failed lane step by step, two at once; each is looked up", () =>
  Effect.gen(function* () {
    const { begun, commit, recovered } = yield* batcher((steps) =>
      Effect.delay(steps.length > 1 ? Effect.fail("broken") : Effect.succeed(steps), 10)
    )
    const steps = ["a1", "a2", "a3", "b1", "c1", "d1", "e1"]
    const all = yield* every(steps, commit)
    for (let times = 0; times < 5; times++) yield* TestClock.adjust(10)
    expect(yield* Fiber.join(all)).toStrictEqual(steps.map((step) => `${step} after all`))
    expect(begun.map(([at, one]) => `${at}: ${one.join(" ")}`).toSorted()).toStrictEqual([
      "0: a1 a2 a3 b1 c1 d1 e1",
      "10: a1 a2 a3",
      "10: b1",
      "10: c1",
      "10: d1",
      "20: a1",
      "20: a2",
      "20: e1",
      "30: a3"
    ])
    expect(recovered.toSorted()).toStrictEqual(steps.map((step) => [step, step]))
  })
)

it.effect("a lane that works together after a failed batch is not taken apart, and each of its steps is looked up", () =>
  Effect.gen(function* () {
    const { begun, commit, recovered } = yield* batcher((steps) =>
      steps.some((step) => laneOf(step) === "b") ? Effect.fail("broken") : Effect.succeed(steps)
    )
    const all = yield* every(["a1", "a2"], commit)
    const bad = yield* Effect.exit(commit("b1"))
    expect(yield* Fiber.join(all)).toStrictEqual(["a1 after all", "a2 after all"])
    expect(begun.map(([, steps]) => steps)).toStrictEqual([["a1", "a2", "b1"], ["a1", "a2"], ["b1"]])
    expect(recovered).toStrictEqual([
      ["a1", "a1"],
      ["a2", "a2"]
    ])
    expect(defectOf(bad)).toStrictEqual([Cause.fail("broken")])
  })
)

it.effect("a step whose rows are held longer than anybody waits dies with its lane, which is tried no more", () =>
  Effect.gen(function* () {
    const { begun, commit } = yield* batcher(() => Effect.fail("lock timeout"))
    const exits = yield* Effect.forEach(["a1", "a2"], (step) => Effect.exit(commit(step)), { concurrency: "unbounded" })
    expect(exits.map(defectOf)).toStrictEqual([[Cause.fail("lock timeout")], [Cause.fail("lock timeout")]])
    expect(begun.map(([, steps]) => steps)).toStrictEqual([["a1", "a2"]])
  })
)

it.effect("a step dies where its statement throws, answers too little or cannot be looked up, and later ones go on", () =>
  Effect.gen(function* () {
    const thrown = new Error("it cannot be written")
    const unknown = new Error("nobody knows")
    const { commit } = yield* batcher(
      (steps) => {
        if (steps.includes("throws")) throw thrown
        return Effect.succeed(steps.includes("short") ? [] : steps)
      },
      { recover: () => Effect.die(unknown) }
    )
    expect(defectOf(yield* Effect.exit(commit("throws")))).toStrictEqual([Cause.die(thrown)])
    expect(defectOf(yield* Effect.exit(commit("short")))).toStrictEqual([Cause.die(new Error("a money step got no result"))])
    expect(yield* commit("good")).toBe("good")
    const exits = yield* Effect.forEach(["short", "good"], (step) => Effect.exit(commit(step)), { concurrency: "unbounded" })
    expect(exits.map(defectOf)).toStrictEqual([[Cause.die(new Error("a money step got no result"))], [Cause.die(unknown)]])
  })
)

it.effect("what is around a statement is told its first step, and a server takes more once its batches have ended", () =>
  Effect.gen(function* () {
    const around: Array<string> = []
    const { begun, commit } = yield* batcher((steps) => Effect.succeed(steps), {
      isBatchOfOneLane: true,
      serverOf: () => "one",
      around: (step) => (statement) => {
        around.push(step)
        return statement
      }
    })
    const steps = ["a1", "b1", "a2", "c1", "d1"]
    const all = yield* every(steps, commit)
    expect(yield* Fiber.join(all)).toStrictEqual(steps)
    expect(begun.map(([, one]) => one)).toStrictEqual([["a1", "a2"], ["b1"], ["c1"], ["d1"]])
    expect(around).toStrictEqual(["a1", "b1", "c1", "d1"])
  })
)

it.effect("a statement has a connection to itself, which ends in a commit; inside a transaction it stays on that one's", () =>
  Effect.gen(function* () {
    const transactionService = Context.Service<never, readonly [connection: string, depth: number]>("test/transaction")
    let reserved = 0
    const reserve = Effect.sync(() => `connection ${++reserved}`)
    const sql = { transactionService, reserve } as unknown as SqlClient.SqlClient
    const seen = Effect.all([Effect.serviceOption(transactionService), EndsInCommit])
    const alone = yield* onOwnConnection(sql)(seen)
    const inside = yield* onOwnConnection(sql)(seen).pipe(
      Effect.provideService(transactionService, ["the transaction's", 1] as never)
    )
    expect([alone, inside]).toMatchObject([
      [{ value: ["connection 1", 0] }, true],
      [{ value: ["the transaction's", 1] }, false]
    ])
    expect(reserved).toBe(1)
  })
)

it("only a lock timeout of the database proves that nothing was committed", () => {
  const errors = [
    { _tag: "SqlError", reason: { _tag: "LockTimeoutError" } },
    { _tag: "SqlError", reason: { _tag: "ConnectionError" } },
    { _tag: "SqlError" },
    { _tag: "SchemaError", reason: { _tag: "LockTimeoutError" } }
  ]
  expect(errors.map(isLockTimeout)).toStrictEqual([true, false, false, false])
})

it.effect("a batch ends with the process that it is made in", () =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    let isOver = false
    const { commit } = yield* batcher(() => Effect.onInterrupt(Effect.never, () => Effect.sync(() => (isOver = true)))).pipe(
      Effect.provideService(Scope.Scope, scope)
    )
    yield* every(["a"], commit)
    yield* TestClock.adjust(1)
    yield* Scope.close(scope, Exit.void)
    expect(isOver).toBe(true)
  })
)
