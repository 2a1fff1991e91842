import { describe, expect, it } from "@effect/vitest"
import { Clock, type Duration, Effect, Exit, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import { interruptedAfter, makeTimer, timeoutWith, withAlarms } from "../../src/runtime/Timer.ts"

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

  it.effect("shares one sleeping fiber with those of the same length to the millisecond", () =>
    Effect.gen(function* () {
      let sleeping = 0
      const clock = yield* Clock.Clock
      const counting = { ...clock, sleep: (duration: Duration.Duration) => (sleeping++, clock.sleep(duration)) }
      const timer = yield* Effect.provideService(makeTimer, Clock.Clock, counting)
      let fired = 0
      for (const ms of [1000, 999.9, 999.5, 999.1]) timer(ms, () => void fired++)
      yield* TestClock.adjust(999)
      expect({ fired, sleeping }).toEqual({ fired: 0, sleeping: 1 })
      yield* TestClock.adjust(1)
      expect(fired).toBe(4)
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

  it.effect("interrupts the fiber itself that waits too long, and gives what comes in the place of its work", () =>
    Effect.gen(function* () {
      const inTime = interruptedAfter(yield* makeTimer)
      const ended: Array<string> = []
      const slow = (name: string) =>
        Effect.onInterrupt(Effect.as(Effect.sleep(2000), name), () => Effect.sync(() => void ended.push(name)))
      const given: Array<string> = []
      const wait = (name: string, ms: number) =>
        inTime(slow(name), ms, Effect.succeed("late")).pipe(
          Effect.tap((end) => Effect.sync(() => void given.push(end))),
          Effect.uninterruptible,
          Effect.forkChild
        )
      const [late, done, gone] = [yield* wait("late", 1000), yield* wait("done", 3000), yield* wait("gone", 3000)]
      yield* TestClock.adjust(500)
      // The client goes away: that is no delay.
      yield* Fiber.interrupt(gone)
      yield* TestClock.adjust(500)
      expect([ended, given]).toEqual([["gone", "late"], ["late"]])
      yield* TestClock.adjust(1000)
      yield* Fiber.await(late)
      expect([yield* Fiber.join(done), given]).toEqual(["done", ["late", "done"]])
      const refused = inTime(Effect.fail("refused"), 1000, Effect.succeed("late"))
      expect(yield* Effect.flip(Effect.uninterruptible(refused))).toBe("refused")
    }).pipe(Effect.scoped)
  )

  it.effect("gives the first answer of an alarm in the place of work that is not stopped, and none after its end", () =>
    Effect.gen(function* () {
      const outlasting = withAlarms(yield* makeTimer, yield* Effect.scope)
      const ran: Array<string> = []
      const work = (name: string, ms: number) =>
        Effect.as(Effect.sleep(ms), name).pipe(Effect.tap(() => Effect.sync(() => void ran.push(name))))
      const late = Effect.asSome(Effect.as(Effect.sleep(10), "late"))
      const wait = (name: string, ms: number) => Effect.forkChild(outlasting(work(name, ms), [{ ms: 1000, answer: late }]))
      const [slow, quick, close] = [yield* wait("slow", 2000), yield* wait("quick", 500), yield* wait("close", 1005)]
      const stopping = yield* Effect.forkChild(Fiber.interrupt(slow))
      yield* TestClock.adjust(1010)
      yield* Fiber.join(stopping)
      expect([yield* Fiber.join(quick), yield* Fiber.join(close)]).toEqual(["quick", "close"])
      expect(ran).toEqual(["quick", "close"])
      yield* TestClock.adjust(1000)
      expect(ran).toEqual(["quick", "close", "slow"])
    }).pipe(Effect.scoped)
  )

  it.effect("gives the defect of an alarm whose answer breaks: the caller does not wait for the work", () =>
    Effect.gen(function* () {
      const outlasting = withAlarms(yield* makeTimer, yield* Effect.scope)
      let isDone = false
      const work = Effect.tap(Effect.sleep(5_000), () => Effect.sync(() => void (isDone = true)))
      for (const alarm of [{}, { repeats: true }] as const) {
        isDone = false
        const broken = { ...alarm, ms: 1_000, answer: Effect.die("broken") }
        const waiting = yield* Effect.forkChild(Effect.exit(outlasting(work, [broken])))
        yield* TestClock.adjust(1_000)
        expect(waiting.pollUnsafe()).toStrictEqual(Exit.succeed(Exit.die("broken")))
        expect(isDone).toBe(false)
        yield* TestClock.adjust(4_000)
        expect(isDone).toBe(true)
      }
    }).pipe(Effect.scoped)
  )

  it.effect("asks an alarm that repeats until it has an answer, or the work has ended", () =>
    Effect.gen(function* () {
      const outlasting = withAlarms(yield* makeTimer, yield* Effect.scope)
      let [asked, isHopeless] = [0, false]
      const hopeless = {
        ms: 1_000,
        repeats: true,
        answer: Effect.sync(() => (asked++, isHopeless ? Option.some("hopeless") : Option.none<string>()))
      } as const
      const wait = (ms: number) =>
        Effect.forkChild(
          outlasting(Effect.as(Effect.sleep(ms), "done"), [{ ms: 9_000, answer: Effect.succeedSome("late") }, hopeless])
        )
      const quick = yield* wait(2_500)
      yield* TestClock.adjust(5_000)
      expect([yield* Fiber.join(quick), asked]).toEqual(["done", 2])
      const slow = yield* wait(60_000)
      yield* TestClock.adjust(3_500)
      expect(asked).toBe(5)
      isHopeless = true
      yield* TestClock.adjust(500)
      expect([yield* Fiber.join(slow), asked]).toEqual(["hopeless", 6])
      yield* TestClock.adjust(60_000)
      expect(asked).toBe(6)
      isHopeless = false
      const late = yield* wait(60_000)
      yield* TestClock.adjust(9_000)
      expect(yield* Fiber.join(late)).toBe("late")
      yield* TestClock.adjust(60_000)
    }).pipe(Effect.scoped)
  )
})
