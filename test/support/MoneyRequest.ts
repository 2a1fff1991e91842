import { Effect, Layer, Logger, Option, References, Result } from "effect"
import { HttpServerResponse } from "effect/http"
import { Signed } from "../../src/http/api/SignedRequest.ts"
import { Idempotent, type MoneyStep } from "../../src/http/idempotency/Idempotent.ts"
import { requestNonce } from "../../src/services/admission/RequestNonce.ts"
import { CommitsWaiting } from "../../src/services/ports/CommitsWaiting.ts"
import { type Claim, type Claimed, type ClaimRequest, Idempotency } from "../../src/services/ports/Idempotency.ts"
import { type RateLimit, type RateLimitDecision, RateLimits } from "../../src/services/ports/RateLimits.ts"
import { Records } from "../../src/services/Records.ts"
import { fake } from "../fakes/Fake.ts"
import { fakePolicy } from "../fakes/FakePolicy.ts"
import { fakeVault } from "../fakes/FakeVault.ts"
import { caller } from "./RawHttp.ts"
import { payout } from "./SampleTransactions.ts"

export const endpoint = "POST /v1/things"
export const scope = { appId: caller.appId, mode: caller.mode, endpoint, key: "k" } as const
export const claim: Claim = { scope, fence: 7n, reference: payout().reference, leaseUntil: 0 }
export const fresh: Claimed = { _tag: "Fresh", claim, tenant: null, windows: [] }
export const record = payout({ status: "successful" })
export const another = "0".repeat(26) as typeof claim.reference

/** What the tests read of an envelope. */
interface Body {
  readonly error?: { readonly code: string; readonly details: Readonly<Record<string, unknown>> }
  readonly data?: unknown
}

interface Given {
  readonly step?: Partial<MoneyStep<string>>
  /** Undefined: the request has no key. */
  readonly key?: string | undefined
  readonly claimed?: Claimed
  /** The commit that claims the key, in place of one that is done at once. */
  readonly claiming?: Effect.Effect<Option.Option<Claimed>>
  /** Whether the database's commits wait for a standby; not watched if left out. */
  readonly commitsWait?: boolean
  readonly isNonceSpent?: boolean
  /** What the look for a transaction gives. */
  readonly exists?: (reference: string) => Effect.Effect<boolean>
  readonly keptRefusals?: RateLimit
  readonly taken?: RateLimitDecision
  /** Whether the claim is still the request's when it is completed or released. */
  readonly isHeld?: boolean
}

/**
 * One request for a money step, with nothing but memory behind `Idempotent`: its answer, and what was done for it, in order. `answer` ends when
 * the step has ended, too; `answers` has it before.
 */
export const givenRequest = (options: Given) => {
  const {
    claimed = fresh,
    claiming,
    commitsWait,
    exists,
    isHeld = true,
    isNonceSpent = false,
    keptRefusals,
    step = {},
    taken
  } = options
  const done: Array<unknown> = []
  const did = (what: unknown) => Effect.sync(() => void done.push(what))
  const asked: Array<ClaimRequest> = []
  const logged: Array<unknown> = []
  const answers: Array<{ readonly status: number; readonly headers: Readonly<Record<string, string>>; readonly body: Body }> = []
  const ports = Layer.mergeAll(
    fake(Idempotency, {
      claim: (request) =>
        Effect.suspend(() => {
          asked.push(request)
          return claiming ?? Effect.succeed(isNonceSpent ? Option.none() : Option.some(claimed))
        }),
      complete: (_, { body, status }) => Effect.as(did(["stored", status, JSON.parse(body).error?.code ?? "a record"]), isHeld),
      release: () => Effect.as(did("released"), isHeld)
    }),
    fake(Records, exists === undefined ? {} : { exists: (_, reference) => exists(reference) }),
    fake(RateLimits, taken === undefined ? {} : { take: (name) => Effect.as(did(name), taken) }),
    fakePolicy(keptRefusals === undefined ? {} : { keptRefusals }),
    fakeVault,
    commitsWait === undefined ? Layer.empty : Layer.succeed(CommitsWaiting, Effect.succeed(commitsWait))
  )
  const logger = Logger.make(
    ({ fiber, message }) => void logged.push([message, fiber.getRef(References.CurrentLogAnnotations)].flat())
  )
  const whole: MoneyStep<string> = {
    endpoint,
    decode: () => Result.succeed({ command: "the command", fingerprint: { amount: 5 }, ignored: [] }),
    run: () => Effect.succeed(record),
    ...step
  }
  const key = "key" in options ? options.key : "k"
  const nonce = requestNonce(
    { caller, nonce: "n".repeat(16), expiresAt: 9_000 },
    () => Effect.die(new Error("spent by itself")),
    Effect.void
  )
  const request = {
    requestId: "request-1",
    rawHeaders: key === undefined ? [] : ["Idempotency-Key", key],
    body: Buffer.from("{}"),
    caller,
    nonce: key === undefined ? null : nonce,
    claimWithinMs: 5_000
  }
  const response = Effect.flatMap(Idempotent, ({ once }) => once(whole)).pipe(Effect.provideService(Signed, request))
  const answer = Effect.gen(function* () {
    const { headers, status, ...rest } = yield* response
    const text = yield* Effect.promise(() => HttpServerResponse.toWeb({ headers, status, ...rest } as never).text())
    const given = { status, headers, body: JSON.parse(text) }
    answers.push(given)
    return given
  })
  return {
    answer: Effect.provide(answer, Layer.mergeAll(Layer.provide(Idempotent.layer, ports), Logger.layer([logger]))),
    answers,
    asked,
    done,
    logged
  }
}
