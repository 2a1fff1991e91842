import { expect, it } from "@effect/vitest"
import { Clock, Duration, Effect, Exit, Fiber, Ref } from "effect"
import { TestClock } from "effect/testing"
import { makeBatcher } from "../../../src/persistence/connection/StepBatch.ts"
import { makeBatchedRead } from "../../../src/persistence/reads/BatchedRead.ts"
import { FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import { appId, given, openStep, position } from "../../support/LedgerSteps.ts"
import { givenClaim } from "../../support/PaymentRequests.ts"

it.live("a step that cannot be written fails alone, and the others of its batch are opened", () =>
  Effect.gen(function* () {
    const { node } = yield* given(100_000n)
    yield* Effect.gen(function* () {
      const ledger = yield* FloatLedger
      const claims = yield* Effect.forEach(["a", "b", "c", "d", "e"], (key) => givenClaim(appId, key))
      const steps = claims.map((claim) => openStep(claim, 10_000n))
      const exits = yield* Effect.forEach(
        steps,
        // The codec of a record has no halves of a version.
        (step, at) => Effect.exit(ledger.open(at === 2 ? { ...step, transaction: { ...step.transaction, version: 1.5 } } : step)),
        { concurrency: "unbounded" }
      )
      expect(exits.map((exit) => (Exit.isSuccess(exit) ? exit.value._tag : "died"))).toStrictEqual([
        "Opened",
        "Opened",
        "died",
        "Opened",
        "Opened"
      ])
      expect(yield* position(appId)).toStrictEqual([56_000n, 44_000n])
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped)
)

/** What PostgreSQL waits for a row that somebody holds. */
const LOCK_TIMEOUT = Duration.seconds(5)

/** Steps named for their tenant; one whose tenant is "held" waits in vain. */
const givenBatches = Effect.gen(function* () {
  const ended = yield* Ref.make<ReadonlyArray<readonly [step: string, at: number]>>([])
  const commit = yield* makeBatcher<string, string, string>({
    statement: (steps) =>
      steps.some((step) => step.startsWith("held"))
        ? Effect.andThen(Effect.sleep(LOCK_TIMEOUT), Effect.fail("lock timeout"))
        : Effect.succeed(steps),
    recover: (_step, result) => Effect.succeed(result),
    laneOf: (step) => step.replace(/\d+$/, ""),
    isLockTimeout: (error) => error === "lock timeout"
  })
  const run = (step: string) =>
    Effect.exit(commit(step)).pipe(
      Effect.andThen(Clock.currentTimeMillis),
      Effect.andThen((at) => Ref.update(ended, (all) => [...all, [step, at] as const])),
      Effect.forkChild
    )
  return { ended: Ref.get(ended), run }
})

it.effect("a locked row delays its batch for one lock timeout, and the next batch hardly at all", () =>
  Effect.gen(function* () {
    const { ended, run } = yield* givenBatches
    const batch = yield* Effect.forEach(["held", "a", "b", "c", "d", "e", "f"], run)
    yield* TestClock.adjust("100 millis")
    yield* Fiber.join(yield* run("later"))
    expect(yield* ended).toStrictEqual([["later", 100]])
    yield* TestClock.adjust(LOCK_TIMEOUT)
    const inTime = yield* ended
    expect(inTime.map(([step]) => step).toSorted()).toStrictEqual(["a", "b", "c", "d", "e", "f", "later"])
    yield* TestClock.adjust(LOCK_TIMEOUT)
    yield* Effect.forEach(batch, Fiber.join)
    expect((yield* ended).at(-1)).toStrictEqual(["held", 2 * Duration.toMillis(LOCK_TIMEOUT)])
  }).pipe(Effect.scoped)
)

it.effect("any number of steps for one tenant's locked row delay the others once, and end after two lock timeouts", () =>
  Effect.gen(function* () {
    const { ended, run } = yield* givenBatches
    const held = Array.from({ length: 30 }, (_, at) => `held${at}`)
    const batch = yield* Effect.forEach([...held, "a1", "b1", "a2", "c1"], run)
    yield* TestClock.adjust(LOCK_TIMEOUT)
    expect((yield* ended).map(([step]) => step).toSorted()).toStrictEqual(["a1", "a2", "b1", "c1"])
    yield* TestClock.adjust(LOCK_TIMEOUT)
    yield* Effect.forEach(batch, Fiber.join)
    expect((yield* ended).slice(4)).toStrictEqual(held.map((step) => [step, 2 * Duration.toMillis(LOCK_TIMEOUT)]))
  }).pipe(Effect.scoped)
)

it.effect("a read whose connection hangs delays no other, and is repeated", () =>
  Effect.gen(function* () {
    const statements = yield* Ref.make(0)
    const ask = yield* makeBatchedRead((questions: ReadonlyArray<string>) =>
      Effect.flatMap(
        Ref.updateAndGet(statements, (count) => count + 1),
        (count) => (count === 1 ? Effect.andThen(Effect.sleep("4 seconds"), Effect.fail("silent")) : Effect.succeed(questions))
      )
    )
    const first = yield* Effect.forkChild(ask("first"), { startImmediately: true })
    yield* TestClock.adjust("1 seconds")
    expect(yield* Effect.forEach(["second", "third"], ask)).toStrictEqual(["second", "third"])
    expect(first.pollUnsafe()).toBe(undefined)
    yield* TestClock.adjust("3 seconds")
    expect(yield* Fiber.join(first)).toBe("first")
  }).pipe(Effect.scoped)
)

it.effect("steps of one tenant are never in two batches at once and keep their order, while others run beside them", () =>
  Effect.gen(function* () {
    const begun = yield* Ref.make<ReadonlyArray<readonly [at: number, steps: ReadonlyArray<string>]>>([])
    const commit = yield* makeBatcher<string, string, never>({
      statement: (steps) =>
        Effect.flatMap(Clock.currentTimeMillis, (at) => Ref.update(begun, (all) => [...all, [at, steps] as const])).pipe(
          Effect.andThen(Effect.sleep("50 millis")),
          Effect.as(steps)
        ),
      recover: (_step, result) => Effect.succeed(result),
      laneOf: (step) => step.replace(/\d+$/, ""),
      isLockTimeout: () => false
    })
    const run = (step: string) => Effect.forkChild(commit(step))
    const first = yield* run("a1")
    yield* TestClock.adjust("10 millis")
    const later = yield* Effect.forEach(["a2", "b1", "a3", "c1"], run)
    yield* TestClock.adjust("90 millis")
    expect(yield* Effect.forEach([first, ...later], Fiber.join)).toStrictEqual(["a1", "a2", "b1", "a3", "c1"])
    expect(yield* Ref.get(begun)).toStrictEqual([
      [0, ["a1"]],
      [10, ["b1", "c1"]],
      [50, ["a2", "a3"]]
    ])
  }).pipe(Effect.scoped)
)

it.effect("a batch that ends unexpectedly does not block the tenant's later steps", () =>
  Effect.gen(function* () {
    const commit = yield* makeBatcher<string, string, string>({
      statement: (steps) => (steps.includes("a1") ? Effect.fail("broken") : Effect.succeed(steps)),
      recover: (_step, result) => Effect.succeed(result),
      laneOf: () => "a",
      isLockTimeout: () => {
        throw new Error("unforeseen")
      }
    })
    yield* Effect.forkChild(commit("a1"), { startImmediately: true })
    yield* TestClock.adjust("1 millis")
    expect(yield* commit("a2")).toBe("a2")
  }).pipe(Effect.scoped)
)

it.effect(
  "on Citus a batch holds steps of one lane, the one that has waited longest first, and several lanes are under way at once",
  () =>
    Effect.gen(function* () {
      const sent = yield* Ref.make<ReadonlyArray<ReadonlyArray<string>>>([])
      const commit = yield* makeBatcher<string, string, never>({
        statement: (steps) =>
          Effect.as(
            Ref.update(sent, (all) => [...all, steps]),
            steps
          ),
        recover: (_step, result) => Effect.succeed(result),
        laneOf: (step) => step.replace(/\d+$/, ""),
        isBatchOfOneLane: true,
        isLockTimeout: () => false
      })
      yield* Effect.forEach(["b1", "a1", "b2", "c1", "a2"], commit, { concurrency: "unbounded" })
      expect(yield* Ref.get(sent)).toStrictEqual([["b1", "b2"], ["a1", "a2"], ["c1"]])
    }).pipe(Effect.scoped)
)

it.effect("of a server that does not answer two batches are in flight, and the steps of another server go on", () =>
  Effect.gen(function* () {
    const begun = yield* Ref.make<ReadonlyArray<string>>([])
    const commit = yield* makeBatcher<string, string, never>({
      statement: (steps) =>
        Effect.andThen(
          Ref.update(begun, (all) => [...all, ...steps]),
          steps.some((step) => step.startsWith("hung")) ? Effect.never : Effect.succeed(steps)
        ),
      recover: (_step, result) => Effect.succeed(result),
      laneOf: (step) => step,
      isBatchOfOneLane: true,
      serverOf: (step) => step.replace(/\d+$/, ""),
      isLockTimeout: () => false
    })
    const hung = yield* Effect.forEach(["hung1", "hung2", "hung3", "hung4", "hung5"], (step) => Effect.forkChild(commit(step)))
    yield* TestClock.adjust("1 seconds")
    expect(yield* Effect.forEach(["other1", "other2", "other3"], commit)).toStrictEqual(["other1", "other2", "other3"])
    expect((yield* Ref.get(begun)).filter((step) => step.startsWith("hung"))).toStrictEqual(["hung1", "hung2"])
    yield* Fiber.interruptAll(hung)
  }).pipe(Effect.scoped)
)
