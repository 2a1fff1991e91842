import { expect, it } from "@effect/vitest"
import { Clock, Duration, Effect, Exit, Fiber, Ref } from "effect"
import { TestClock } from "effect/testing"
import { batched } from "../../src/persistence/StepBatch.ts"
import { FloatLedger } from "../../src/services/ports/FloatLedger.ts"
import { givenClaim } from "../support/GivenMoney.ts"
import { appId, given, openStep, position } from "../support/MoneySteps.ts"

it.live("a step that cannot be written down fails alone, and its neighbours are opened", () =>
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

it.effect("a row that somebody holds holds up the others of its batch for one lock timeout, and the next batch not at all", () =>
  Effect.gen(function* () {
    const ended = yield* Ref.make<ReadonlyArray<readonly [step: string, at: number]>>([])
    const commit = yield* batched(
      (steps: ReadonlyArray<string>) =>
        steps.includes("held") ? Effect.andThen(Effect.sleep(LOCK_TIMEOUT), Effect.fail("lock timeout")) : Effect.succeed(steps),
      (_step, result) => Effect.succeed(result)
    )
    const run = (step: string) =>
      Effect.exit(commit(step)).pipe(
        Effect.andThen(Clock.currentTimeMillis),
        Effect.andThen((at) => Ref.update(ended, (all) => [...all, [step, at] as const])),
        Effect.forkChild
      )
    const batch = yield* Effect.forEach(["held", "a", "b", "c", "d", "e", "f"], run)
    yield* TestClock.adjust(LOCK_TIMEOUT)
    const later = yield* run("later")
    yield* Fiber.join(later)
    const inTime = yield* Ref.get(ended)
    expect(inTime.map(([step]) => step).toSorted()).toStrictEqual(["a", "b", "c", "d", "e", "f", "later"])
    expect(new Set(inTime.map(([, at]) => at))).toStrictEqual(new Set([Duration.toMillis(LOCK_TIMEOUT)]))
    yield* TestClock.adjust(LOCK_TIMEOUT)
    yield* Effect.forEach(batch, Fiber.join)
    expect((yield* Ref.get(ended)).at(-1)).toStrictEqual(["held", 2 * Duration.toMillis(LOCK_TIMEOUT)])
  }).pipe(Effect.scoped)
)
