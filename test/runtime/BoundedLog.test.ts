import { expect, it } from "@effect/vitest"
import { Effect, Fiber, References, Scope } from "effect"
import { TestClock } from "effect/testing"
import { boundedLog } from "../../src/runtime/BoundedLog.ts"

const LINES = 100

const given = Effect.gen(function* () {
  const counts: Array<readonly [kind: string, count: number]> = []
  const isWritten = yield* boundedLog((kind: string, count) => Effect.sync(() => void counts.push([kind, count])))
  return { counts, isWritten }
})

/** Lets fibers that yield at every few steps come to where they wait. */
const settled = Effect.repeat(Effect.yieldNow, { times: 100 })

it.effect("a hundred lines of a window are written, and the others are counted by kind when it ends", () =>
  Effect.gen(function* () {
    const { counts, isWritten } = yield* given
    const written = yield* Effect.forEach(Array.from({ length: LINES + 3 }), (_, at) => isWritten(at === LINES ? "b" : "a"))
    expect(written.filter(Boolean)).toHaveLength(LINES)
    expect(counts).toStrictEqual([])
    yield* TestClock.adjust("10 seconds")
    expect(counts).toStrictEqual([
      ["b", 1],
      ["a", 2]
    ])
    expect(yield* isWritten("a")).toBe(true)
  }).pipe(Effect.scoped)
)

it.effect("what is counted when the gateway stops is written then", () =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const { counts, isWritten } = yield* Scope.provide(given, scope)
    yield* Effect.forEach(Array.from({ length: LINES + 1 }), () => isWritten("a"))
    yield* Scope.close(scope, yield* Effect.exit(Effect.void))
    expect(counts).toStrictEqual([["a", 1]])
  })
)

it.effect("a window ends although the request that began it was interrupted, wherever that was", () =>
  Effect.forEach(
    Array.from({ length: 12 }, (_, steps) => steps),
    Effect.fnUntraced(function* (steps) {
      const { isWritten } = yield* given
      const first = yield* Effect.forkChild(isWritten("a").pipe(Effect.provideService(References.MaxOpsBeforeYield, 4)))
      for (let step = 0; step < steps; step++) yield* Effect.yieldNow
      yield* Fiber.interrupt(first)
      yield* Effect.forEach(Array.from({ length: LINES + 1 }), () => isWritten("a"))
      yield* settled
      yield* TestClock.adjust("10 seconds")
      yield* settled
      expect(yield* isWritten("a"), `after ${steps} steps`).toBe(true)
    }, Effect.scoped),
    { discard: true }
  )
)
