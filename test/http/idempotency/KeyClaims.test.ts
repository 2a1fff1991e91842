import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Option } from "effect"
import { TestClock } from "effect/testing"
import type { Claimed } from "../../../src/services/ports/Idempotency.ts"
import { fresh, givenRequest, record } from "../../support/MoneyRequest.ts"

const ARRIVAL_MS = 5_000

/** A request whose claim waits for its commit. */
const given = (options: { readonly commitsWait?: boolean } = {}) => {
  const commit = Deferred.makeUnsafe<Option.Option<Claimed>>()
  const runs: Array<string> = []
  const step = { run: () => Effect.sync(() => (runs.push("run"), record)) }
  const request = givenRequest({ ...options, claiming: Deferred.await(commit), step })
  /** How the request was answered so far. */
  const answered = () => request.answers.map(({ body, headers, status }) => [status, body.error?.code, headers["retry-after"]])
  const commits = (claimed: Claimed) => Effect.andThen(Deferred.succeed(commit, Option.some(claimed)), TestClock.adjust(1))
  return { ...request, answered, commits, runs }
}
const begun = (answer: Effect.Effect<unknown>) => Effect.forkChild(answer, { startImmediately: true })

describe("the claim of a request's key", () => {
  it.effect("has five seconds", () =>
    Effect.gen(function* () {
      const { answer, answered, commits, logged } = given()
      const waiting = yield* begun(answer)
      yield* TestClock.adjust(ARRIVAL_MS - 1)
      expect(answered()).toStrictEqual([])
      yield* commits(fresh)
      yield* Fiber.join(waiting)
      expect([answered(), logged]).toStrictEqual([[[201, undefined, undefined]], []])
    })
  )

  it.effect("that takes longer sheds its request; a key that is claimed afterwards is released, and nothing is run", () =>
    Effect.gen(function* () {
      const { answer, answered, commits, done, logged, runs } = given()
      const waiting = yield* begun(answer)
      yield* TestClock.adjust(ARRIVAL_MS)
      expect([answered(), done]).toStrictEqual([[[429, "rate_limited", "1"]], []])
      expect(logged).toMatchObject([["the key could not be claimed in time", {}]])
      yield* commits(fresh)
      yield* Fiber.join(waiting)
      expect([answered().length, done, runs]).toStrictEqual([1, ["released"], []])
    })
  )

  it.effect("that comes too late to another request's key releases nothing", () =>
    Effect.gen(function* () {
      for (const taken of [
        { _tag: "Busy" },
        { _tag: "Reused" },
        { _tag: "Replay", response: { status: 201, body: "{}" } }
      ] as const) {
        const { answer, answered, commits, done } = given()
        const waiting = yield* begun(answer)
        yield* TestClock.adjust(ARRIVAL_MS)
        yield* commits(taken)
        yield* Fiber.join(waiting)
        expect([answered(), done]).toStrictEqual([[[429, "rate_limited", "1"]], []])
      }
    })
  )

  it.effect("is ambiguous a second after it began while commits wait for a standby, and is released when it is done", () =>
    Effect.gen(function* () {
      const { answer, answered, commits, done, runs } = given({ commitsWait: true })
      const waiting = yield* begun(answer)
      yield* TestClock.adjust(1_000)
      expect(answered()).toStrictEqual([[500, "internal_error", undefined]])
      yield* TestClock.adjust(60_000)
      yield* commits(fresh)
      yield* Fiber.join(waiting)
      expect([answered().length, done, runs]).toStrictEqual([1, ["released"], []])
    })
  )

  it.effect("is not stopped where its client goes away: the step runs, and a server that stops waits for it", () =>
    Effect.gen(function* () {
      const { answer, commits, runs } = given()
      const waiting = yield* begun(answer)
      const stopped = yield* begun(Fiber.interrupt(waiting))
      yield* TestClock.adjust(1)
      expect([stopped.pollUnsafe(), runs]).toStrictEqual([undefined, []])
      yield* commits(fresh)
      yield* Fiber.join(stopped)
      expect(runs).toStrictEqual(["run"])
    })
  )
})
