import { expect, it } from "@effect/vitest"
import { Deferred, Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { describe } from "vitest"
import { coalescedReads } from "../../../src/services/reference/CoalescedReads.ts"

/** A read that waits for its answer, and how often it was made. */
const slowRead = Effect.gen(function* () {
  const answer = yield* Deferred.make<string, "broken">()
  const made = { times: 0 }
  const read = Effect.suspend(() => {
    made.times += 1
    return Deferred.await(answer)
  })
  return { answer, made, read }
})

describe("identical reads", () => {
  it.effect("that wait together share one call, and the next one calls again", () =>
    Effect.gen(function* () {
      const shared = yield* coalescedReads<string, "broken">()
      const { answer, made, read } = yield* slowRead
      const waiting = yield* Effect.forEach([1, 2, 3], () => Effect.forkChild(shared("banks", read), { startImmediately: true }))
      yield* Deferred.succeed(answer, "here")
      expect(yield* Effect.forEach(waiting, Fiber.join)).toStrictEqual(["here", "here", "here"])
      expect(made.times).toBe(1)
      yield* shared("banks", read)
      expect(made.times).toBe(2)
    })
  )

  it.effect("are distinguished by what is asked", () =>
    Effect.gen(function* () {
      const shared = yield* coalescedReads<string, "broken">()
      const { answer, made, read } = yield* slowRead
      const waiting = yield* Effect.forEach(["UG", "KE"], (name) =>
        Effect.forkChild(shared(name, read), { startImmediately: true })
      )
      yield* Deferred.succeed(answer, "here")
      yield* Effect.forEach(waiting, Fiber.join)
      expect(made.times).toBe(2)
    })
  )

  it.effect("share a failure, too, which is not kept", () =>
    Effect.gen(function* () {
      const shared = yield* coalescedReads<string, "broken">()
      const { answer, made, read } = yield* slowRead
      const waiting = yield* Effect.forEach([1, 2], () => Effect.forkChild(shared("banks", read), { startImmediately: true }))
      yield* Deferred.fail(answer, "broken")
      expect(yield* Effect.forEach(waiting, (fiber) => Effect.flip(Fiber.join(fiber)))).toStrictEqual(["broken", "broken"])
      expect(made.times).toBe(1)
      expect(yield* shared("banks", Effect.succeed("here"))).toBe("here")
    })
  )

  it.effect("are answered from what is kept for as long as it may be, which a failure never is", () =>
    Effect.gen(function* () {
      const kept = yield* coalescedReads<string, "broken">((answer) => (answer === "" ? Duration.zero : Duration.days(1)))
      const asked: Array<string> = []
      const read = (answer: string) => Effect.sync(() => (asked.push(answer), answer))
      expect(yield* Effect.flip(kept("branches", Effect.fail("broken")))).toBe("broken")
      expect(yield* kept("branches", read(""))).toBe("")
      expect(yield* kept("branches", read("first"))).toBe("first")
      yield* TestClock.adjust(Duration.millis(86_399_999))
      expect(yield* kept("branches", read("second"))).toBe("first")
      yield* TestClock.adjust(Duration.millis(1))
      expect(yield* kept("branches", read("third"))).toBe("third")
      expect(asked).toStrictEqual(["", "first", "third"])
    })
  )

  it.effect("continue for the others when one caller leaves", () =>
    Effect.gen(function* () {
      const shared = yield* coalescedReads<string, "broken">()
      const { answer, made, read } = yield* slowRead
      const first = yield* Effect.forkChild(shared("banks", read), { startImmediately: true })
      const second = yield* Effect.forkChild(shared("banks", read), { startImmediately: true })
      yield* Fiber.interrupt(first)
      yield* Deferred.succeed(answer, "here")
      expect(yield* Fiber.join(second)).toBe("here")
      expect(made.times).toBe(1)
    })
  )
})
