import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Queue, Scope } from "effect"
import { TestClock } from "effect/testing"
import { makeWorker, runTogether } from "../../src/runtime/Worker.ts"

const options = { name: "test", slots: 4, idleMs: 250 }

/** Ends a worker whose items do not end. */
const ended = Effect.fnUntraced(function* (running: Fiber.Fiber<never>) {
  const stopped = yield* Effect.forkChild(Fiber.interrupt(running))
  yield* TestClock.adjust("5 seconds")
  yield* Fiber.join(stopped)
})

describe("Worker", () => {
  it.effect("delays no other item when one is slow", () =>
    Effect.gen(function* () {
      const due = ["slow"]
      const done: Array<string> = []
      const started = yield* Deferred.make<void>()
      const quick = yield* Deferred.make<void>()
      const worker = yield* makeWorker<string>({
        ...options,
        claim: (free) => Effect.sync(() => due.splice(0, free)),
        work: (item) =>
          item === "slow"
            ? Effect.andThen(Deferred.succeed(started, undefined), Effect.never)
            : Effect.andThen(
                Effect.sync(() => done.push(item)),
                Deferred.succeed(quick, undefined)
              ).pipe(Effect.asVoid)
      })
      const running = yield* Effect.forkChild(worker.run)
      yield* Deferred.await(started)
      due.push("quick")
      yield* worker.nudge
      yield* Deferred.await(quick)
      expect(done).toEqual(["quick"])
      yield* ended(running)
    })
  )

  it.effect("continues after a claim or an item that failed", () =>
    Effect.gen(function* () {
      let claims = 0
      const done = yield* Deferred.make<string>()
      const worker = yield* makeWorker<string>({
        ...options,
        claim: () => {
          claims += 1
          if (claims === 1) return Effect.die(new Error("the database is away"))
          return Effect.succeed(claims === 2 ? ["broken", "whole"] : [])
        },
        work: (item) => (item === "broken" ? Effect.die(new Error("broken")) : Effect.asVoid(Deferred.succeed(done, item)))
      })
      const running = yield* Effect.forkChild(worker.run)
      yield* TestClock.adjust("1 second")
      expect(yield* Deferred.await(done)).toBe("whole")
      yield* Fiber.interrupt(running)
    })
  )

  it.effect("works at once on what is submitted while it has a slot, and leaves the rest to a claim", () =>
    Effect.gen(function* () {
      const due: Array<string> = []
      const begun: Array<string> = []
      const go = yield* Deferred.make<void>()
      const worker = yield* makeWorker<string>({
        ...options,
        claim: (free) => Effect.sync(() => due.splice(0, free)),
        work: (item) =>
          Effect.andThen(
            Effect.sync(() => begun.push(item)),
            Deferred.await(go)
          )
      })
      const told: Array<boolean> = []
      const submit = (item: string) =>
        worker.submit((isTaken) =>
          Effect.sync(() => {
            told.push(isTaken)
            if (!isTaken) due.push(item)
            return item
          })
        )
      yield* submit("before it runs")
      const running = yield* Effect.forkChild(worker.run)
      yield* TestClock.adjust("1 second")
      yield* Effect.forEach(["1", "2", "3", "4"], submit)
      expect(yield* worker.submit(() => Effect.succeed(null))).toBe(null)
      expect(told).toEqual([false, true, true, true, false])
      yield* Effect.yieldNow
      expect(begun).toEqual(["before it runs", "1", "2", "3"])
      yield* Deferred.succeed(go, undefined)
      yield* TestClock.adjust("1 second")
      expect(begun).toEqual(["before it runs", "1", "2", "3", "4"])
      yield* Fiber.interrupt(running)
      yield* submit("after it ran")
      expect(told.at(-1)).toBe(false)
    })
  )

  it.effect("lets what is under way end when it is told to stop, and begins nothing else", () =>
    Effect.gen(function* () {
      const [done, told] = [[] as Array<string>, [] as Array<boolean>]
      const go = yield* Deferred.make<void>()
      let claims = 0
      const worker = yield* makeWorker<string>({
        ...options,
        claim: () => Effect.sync(() => (claims++ === 0 ? ["under way"] : [])),
        work: (item) =>
          Effect.andThen(
            Deferred.await(go),
            Effect.sync(() => void done.push(item))
          )
      })
      const running = yield* Effect.forkChild(worker.run)
      yield* TestClock.adjust("1 second")
      const claimed = claims
      const stopped = yield* Effect.forkChild(Fiber.interrupt(running))
      yield* TestClock.adjust("4 seconds")
      yield* worker.submit((isTaken) => Effect.sync(() => (told.push(isTaken), "submitted")))
      yield* Deferred.succeed(go, undefined)
      yield* Fiber.join(stopped)
      expect(done).toEqual(["under way"])
      expect(told).toEqual([false])
      expect(claims).toBe(claimed)
    })
  )

  it.effect("gives an item that does not end five seconds when it is told to stop", () =>
    Effect.gen(function* () {
      let interrupted = 0
      const worker = yield* makeWorker<string>({
        ...options,
        slots: 1,
        claim: () => Effect.succeed(["stuck"]),
        work: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => void interrupted++))
      })
      const running = yield* Effect.forkChild(worker.run)
      yield* TestClock.adjust("1 second")
      const stopped = yield* Effect.forkChild(Fiber.interrupt(running))
      yield* TestClock.adjust(4_999)
      expect(interrupted).toBe(0)
      yield* TestClock.adjust(1)
      yield* Fiber.join(stopped)
      expect(interrupted).toBe(1)
    })
  )

  it.effect("stops together with the others within the same five seconds", () =>
    Effect.gen(function* () {
      let interrupted = 0
      const stuck = {
        ...options,
        slots: 1,
        claim: () => Effect.succeed(["stuck"]),
        work: () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => void interrupted++))
      }
      const scope = yield* Scope.make()
      const workers = yield* Effect.forEach([stuck, stuck, stuck], makeWorker)
      yield* Scope.provide(runTogether(workers), scope)
      yield* TestClock.adjust("1 second")
      const stopped = yield* Effect.forkChild(Scope.close(scope, Exit.void))
      yield* TestClock.adjust(4_999)
      expect(interrupted).toBe(0)
      yield* TestClock.adjust(1)
      yield* Fiber.join(stopped)
      expect(interrupted).toBe(3)
    })
  )

  it.effect("claims again by itself without a nudge", () =>
    Effect.gen(function* () {
      let claims = 0
      const worker = yield* makeWorker<string>({
        ...options,
        claim: () => Effect.sync(() => void (claims += 1)).pipe(Effect.as([])),
        work: () => Effect.void
      })
      const running = yield* Effect.forkChild(worker.run)
      yield* TestClock.adjust("1 second")
      expect(claims).toBe(5)
      yield* Fiber.interrupt(running)
    })
  )

  it.effect("claims no more than it has room for", () =>
    Effect.gen(function* () {
      const asked: Array<number> = []
      const worker = yield* makeWorker<number>({
        ...options,
        claim: (free) => Effect.sync(() => [[1, 2, 3], [4]][asked.push(free) - 1] ?? []),
        work: () => Effect.never
      })
      const running = yield* Effect.forkChild(worker.run)
      yield* TestClock.adjust("10 seconds")
      expect(asked).toEqual([4, 1])
      yield* ended(running)
    })
  )

  it.effect("claims when many places are free, or some time after the first became free; a nudge waits for neither", () =>
    Effect.gen(function* () {
      const asked: Array<number> = []
      const ends = yield* Queue.unbounded<void>()
      const worker = yield* makeWorker<number>({
        ...options,
        slots: 8,
        claim: (free) => Effect.sync(() => Array.from({ length: asked[asked.push(free) - 1] ?? 0 }, (_, place) => place)),
        work: () => Queue.take(ends)
      })
      const running = yield* Effect.forkChild(worker.run)
      const after = Effect.fnUntraced(function* (ended: number, ms: number) {
        yield* Queue.offerAll(
          ends,
          Array.from({ length: ended }, () => {})
        )
        for (let passed = 0; passed < ms; passed++) yield* TestClock.adjust(1)
        return asked.splice(0)
      })
      expect(yield* after(0, 2)).toEqual([8])
      expect(yield* after(1, 18)).toEqual([])
      expect(yield* after(0, 4)).toEqual([1])
      expect(yield* after(2, 2)).toEqual([2])
      expect(yield* after(1, 2)).toEqual([])
      yield* worker.nudge
      expect(yield* after(0, 2)).toEqual([1])
      yield* ended(running)
    })
  )
})
