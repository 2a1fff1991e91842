import { expect, it } from "@effect/vitest"
import { Effect, Exit } from "effect"
import type { CallTime } from "../../src/domain/CallTimes.ts"
import { CallTrail, noteCallTime, takeCallTimes, withOwnCalls } from "../../src/runtime/CallTrail.ts"

const call = (operation: string): CallTime => ({ provider: "mtn", operation, end: "200", tookMs: 1, phases: {} })
const names = (calls: ReadonlyArray<CallTime>) => calls.map(({ operation }) => operation)
const made = (operation: string) => noteCallTime(() => call(operation))
const within = <A, E>(work: Effect.Effect<A, E>) => Effect.suspend(() => Effect.provideService(work, CallTrail, []))

it.effect("each call belongs to one line: the next one after it", () =>
  within(
    Effect.gen(function* () {
      yield* made("quote")
      yield* made("resolve")
      const opened = yield* takeCallTimes
      yield* made("transfer")
      expect([opened, yield* takeCallTimes, yield* takeCallTimes].map(names)).toEqual([["quote", "resolve"], ["transfer"], []])
    })
  )
)

it.effect("the calls of one question are told apart from those of another beside it, and go on whether it ends well or not", () =>
  within(
    Effect.gen(function* () {
      const ask = (name: string) =>
        withOwnCalls((calls) =>
          Effect.andThen(
            Effect.andThen(made(name), Effect.yieldNow),
            Effect.sync(() => names(calls))
          )
        )
      expect(yield* Effect.all([ask("one"), ask("two")], { concurrency: 2 })).toEqual([["one"], ["two"]])
      const broken = yield* Effect.exit(withOwnCalls(() => Effect.andThen(made("three"), Effect.fail("no"))))
      expect(Exit.isFailure(broken)).toBe(true)
      expect(names(yield* takeCallTimes)).toEqual(["one", "two", "three"])
    })
  )
)

it.effect("keeps sixteen at most, and nothing where nobody writes a line", () =>
  Effect.gen(function* () {
    yield* made("lost")
    expect(yield* takeCallTimes).toEqual([])
    const kept = within(Effect.andThen(Effect.replicateEffect(made("again"), 20), takeCallTimes))
    expect((yield* kept).length).toBe(16)
  })
)
