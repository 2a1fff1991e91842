import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { inTurns } from "../../src/runtime/InTurns.ts"

/** Counts the turns of the event loop. */
const counted = Effect.acquireRelease(
  Effect.sync(() => {
    const loop = { turns: 0, isWatched: true }
    const count = () => {
      loop.turns++
      if (loop.isWatched) setImmediate(count)
    }
    setImmediate(count)
    return loop
  }),
  (loop) => Effect.sync(() => void (loop.isWatched = false))
)

it.effect("a long list is worked on in order, and lets others have a turn after each ten", () =>
  Effect.gen(function* () {
    const loop = yield* counted
    const items = Array.from({ length: 100 }, (_, at) => at)
    const seen = yield* inTurns(items, (item) => Effect.sync(() => [item, loop.turns] as const))
    expect(seen.map(([item]) => item)).toStrictEqual(items)
    const turnsAt = (item: number) => seen[item]?.[1] ?? 0
    for (const item of [10, 20, 30, 40, 50, 60, 70, 80, 90]) expect(turnsAt(item)).toBeGreaterThan(turnsAt(item - 1))
  }).pipe(Effect.scoped)
)
