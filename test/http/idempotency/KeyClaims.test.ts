import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Layer, Logger, Option, Scope } from "effect"
import { TestClock } from "effect/testing"
import type { Signed } from "../../../src/http/api/SignedRequest.ts"
import { keyClaims } from "../../../src/http/idempotency/Idempotent.ts"
import { requestNonce } from "../../../src/services/admission/RequestNonce.ts"
import { CommitsWaiting } from "../../../src/services/ports/CommitsWaiting.ts"
import { type Claim, type Claimed, type ClaimRequest, Idempotency } from "../../../src/services/ports/Idempotency.ts"
import { fake } from "../../fakes/Fake.ts"
import { caller } from "../../support/RawHttp.ts"
import { payout } from "../../support/SampleTransactions.ts"

const ARRIVAL_MS = 2_000
const use = { caller, nonce: "n".repeat(16), expiresAt: 9_000 }
const request = {
  scope: { appId: caller.appId, mode: "live", endpoint: "POST /v1/payouts", key: "k" },
  fingerprint: new Uint8Array(32),
  windows: []
} as const
const claim: Claim = { scope: request.scope, fence: 7n, reference: payout().reference }
const fresh: Claimed = { _tag: "Fresh", claim, tenant: null, windows: [] }

/** The claim of one request: the commit that it waits for, and what was asked of the keys and logged. */
const given = ({ commitsWait = false }: { readonly commitsWait?: boolean } = {}) => {
  const commit = Deferred.makeUnsafe<Option.Option<Claimed>>()
  const asked: Array<ClaimRequest> = []
  const released: Array<Claim> = []
  const logged: Array<unknown> = []
  const layer = Layer.mergeAll(
    fake(Idempotency, {
      claim: (one) => Effect.suspend(() => (asked.push(one), Deferred.await(commit))),
      release: (one) => Effect.sync(() => released.push(one) > 0)
    }),
    Layer.succeed(CommitsWaiting, Effect.succeed(commitsWait)),
    Logger.layer([Logger.make(({ message }) => void logged.push(message))])
  )
  const nonce = requestNonce(use, () => Effect.die(new Error("spent by itself")), Effect.void)
  const signed = { requestId: "request-1", arrivalMs: ARRIVAL_MS, nonce } as Signed["Service"]
  const answer = Effect.flatMap(keyClaims, (arrive) => arrive(signed, request))
  /** Runs the story beside the claim, and gives what the request was told. */
  const told = (story: Effect.Effect<unknown>) =>
    Effect.gen(function* () {
      const fiber = yield* Effect.forkChild(Effect.result(answer), { startImmediately: true })
      yield* story
      return yield* Fiber.join(fiber)
    }).pipe(Effect.provide(layer))
  return { asked, commit, logged, nonce, released, told }
}

const late = TestClock.adjust(ARRIVAL_MS)
const shed = { _tag: "rate_limited", scope: "server", retry_after_seconds: 1 }

describe("the claim of a request's key", () => {
  it.effect("spends its nonce in the same commit, and says what became of the key", () =>
    Effect.gen(function* () {
      const { asked, commit, logged, nonce, told } = given()
      const result = yield* told(Effect.andThen(TestClock.adjust(ARRIVAL_MS - 1), Deferred.succeed(commit, Option.some(fresh))))
      expect(result).toMatchObject({ _tag: "Success", success: fresh })
      expect(asked).toStrictEqual([{ ...request, nonce: use }])
      expect([nonce.isSettled(), logged]).toStrictEqual([true, []])
    }).pipe(Effect.scoped)
  )

  it.effect("fails where another request spent the nonce", () =>
    Effect.gen(function* () {
      const { commit, told } = given()
      const result = yield* told(Deferred.succeed(commit, Option.none()))
      expect(result).toMatchObject({ _tag: "Failure", failure: { _tag: "unauthorized" } })
    }).pipe(Effect.scoped)
  )

  it.effect("sheds a request that waits too long for it, and gives a key back that is claimed for it afterwards", () =>
    Effect.gen(function* () {
      const { commit, logged, released, told } = given()
      const story = Effect.andThen(
        late,
        Effect.sync(() => expect(released).toStrictEqual([]))
      )
      expect(yield* told(story)).toMatchObject({ _tag: "Failure", failure: shed })
      expect(logged).toStrictEqual([["the key could not be claimed in time"]])
      yield* Deferred.succeed(commit, Option.some(fresh))
      yield* Effect.yieldNow
      yield* TestClock.adjust(1)
      expect(released).toStrictEqual([claim])
    }).pipe(Effect.scoped)
  )

  it.effect("gives nothing back where the key that came too late is another request's", () =>
    Effect.gen(function* () {
      for (const taken of [
        { _tag: "Busy" },
        { _tag: "Reused" },
        { _tag: "Replay", response: { status: 201, body: "" } }
      ] as const) {
        const { commit, released, told } = given()
        expect(yield* told(late)).toMatchObject({ _tag: "Failure", failure: shed })
        yield* Deferred.succeed(commit, Option.some(taken))
        yield* TestClock.adjust(1)
        expect(released).toStrictEqual([])
      }
    }).pipe(Effect.scoped)
  )

  it.effect("is ambiguous instead while commits wait for a standby", () =>
    Effect.gen(function* () {
      const { commit, told } = given({ commitsWait: true })
      const failure = { _tag: "internal_error", request_id: "request-1" }
      expect(yield* told(late)).toMatchObject({ _tag: "Failure", failure })
      yield* Deferred.succeed(commit, Option.none())
    }).pipe(Effect.scoped)
  )

  it.effect("is not stopped where its request is: the key that it takes is held", () =>
    Effect.gen(function* () {
      const { asked, commit, nonce, told } = given()
      const waiting = yield* Effect.forkChild(told(Effect.never), { startImmediately: true })
      yield* Fiber.interrupt(waiting)
      yield* Deferred.succeed(commit, Option.some(fresh))
      yield* TestClock.adjust(1)
      expect([asked.length, nonce.isSettled()]).toStrictEqual([1, true])
    }).pipe(Effect.scoped)
  )

  it.effect("is waited for by a server that stops: whether the key was taken is known in the end", () =>
    Effect.gen(function* () {
      const { commit, nonce, told } = given()
      const server = yield* Scope.make()
      const waiting = yield* Effect.forkChild(Effect.provideService(told(Effect.never), Scope.Scope, server), {
        startImmediately: true
      })
      const stopped = yield* Effect.forkChild(Scope.close(server, Exit.void), { startImmediately: true })
      yield* TestClock.adjust(1)
      expect([stopped.pollUnsafe(), nonce.isSettled()]).toStrictEqual([undefined, true])
      yield* Deferred.succeed(commit, Option.some(fresh))
      yield* Fiber.join(stopped)
      yield* Fiber.interrupt(waiting)
    })
  )
})
