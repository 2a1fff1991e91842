import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import { endsOnceWithin, makeTimer, timeoutWith } from "../../src/runtime/Timer.ts"

describe("a timer", () => {
  it.effect("fires once, at its time, unless it was postponed", () =>
    Effect.gen(function* () {
      const timer = yield* makeTimer
      const fired: Array<string> = []
      const set = (name: string, ms: number) => timer(ms, () => void fired.push(name))
      const putOff = set("put off", 1000)
      set("first", 1000)
      yield* TestClock.adjust(400)
      putOff()
      set("second", 1000)
      set("shorter", 100)
      yield* TestClock.adjust(599)
      expect(fired).toEqual(["shorter"])
      yield* TestClock.adjust(1)
      expect(fired).toEqual(["shorter", "first"])
      yield* TestClock.adjust(400)
      expect(fired).toEqual(["shorter", "first", "second"])
      // Of a length that nobody waited for any more, after one that breaks.
      timer(1000, () => {
        throw new Error("broken")
      })
      set("third", 1000)
      yield* TestClock.adjust(5000)
      expect(fired).toEqual(["shorter", "first", "second", "third"])
    }).pipe(Effect.scoped)
  )

  it.effect("ends work that is late, and does not disturb work that is in time", () =>
    Effect.gen(function* () {
      const inTime = timeoutWith(yield* makeTimer)
      const late = () => Effect.succeed("late")
      let ended = false
      const slow = Effect.onInterrupt(Effect.as(Effect.sleep(2000), "done"), () => Effect.sync(() => void (ended = true)))
      const waiting = yield* Effect.forkChild(Effect.all([inTime(slow, 1000, late), inTime(slow, 3000, late)]))
      yield* TestClock.adjust(1000)
      expect(ended).toBe(true)
      yield* TestClock.adjust(2000)
      expect(yield* Fiber.join(waiting)).toEqual(["late", "done"])
      expect(yield* Effect.flip(inTime(Effect.fail("refused"), 1000, late))).toBe("refused")
    }).pipe(Effect.scoped)
  )

  it.effect("tells all who wait for a fiber the same end, runs what comes in a late one's place once, and stops no work", () =>
    Effect.gen(function* () {
      const endOf = endsOnceWithin(yield* makeTimer, yield* Effect.scope)
      const ran: Array<string> = []
      const work = (name: string, ms: number) =>
        Effect.forkDetach(Effect.as(Effect.sleep(ms), name).pipe(Effect.tap(() => Effect.sync(() => void ran.push(name)))))
      const late = Effect.sync(() => {
        ran.push("late")
        return "late"
      }).pipe(Effect.delay(10))
      const slow = yield* endOf(yield* work("slow", 2000), 1000, late)
      const quick = yield* endOf(yield* work("quick", 500), 1000, late)
      const gone = yield* Effect.forkChild(slow)
      const waiting = yield* Effect.forkChild(Effect.all([slow, quick]))
      yield* TestClock.adjust(1005)
      yield* Fiber.interrupt(gone)
      yield* TestClock.adjust(5)
      expect(yield* Fiber.join(waiting)).toEqual(["late", "quick"])
      yield* TestClock.adjust(1000)
      expect(yield* slow).toBe("late")
      expect(ran).toEqual(["quick", "late", "slow"])
    }).pipe(Effect.scoped)
  )

  it.effect(
    "ends the wait for a fiber as soon as there is something in its place, asked every second until the end is there",
    () =>
      Effect.gen(function* () {
        const endOf = endsOnceWithin(yield* makeTimer, yield* Effect.scope)
        let [asked, isHopeless] = [0, false]
        const meanwhile = {
          everyMs: 1_000,
          end: Effect.sync(() => (asked++, isHopeless ? Option.some("hopeless") : Option.none<string>()))
        }
        const work = (ms: number) => Effect.forkDetach(Effect.as(Effect.sleep(ms), "done"))
        const wait = (ms: number) =>
          Effect.flatten(Effect.flatMap(work(ms), (fiber) => endOf(fiber, 9_000, Effect.succeed("late"), meanwhile)))
        const quick = yield* Effect.forkChild(wait(2_500))
        yield* TestClock.adjust(5_000)
        expect([yield* Fiber.join(quick), asked]).toEqual(["done", 2])
        const slow = yield* Effect.forkChild(wait(60_000))
        yield* TestClock.adjust(3_500)
        expect(asked).toBe(5)
        isHopeless = true
        yield* TestClock.adjust(500)
        expect([yield* Fiber.join(slow), asked]).toEqual(["hopeless", 6])
        yield* TestClock.adjust(60_000)
        expect(asked).toBe(6)
        isHopeless = false
        const late = yield* Effect.forkChild(wait(60_000))
        yield* TestClock.adjust(9_000)
        expect(yield* Fiber.join(late)).toBe("late")
      }).pipe(Effect.scoped)
  )
})
