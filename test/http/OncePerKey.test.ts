import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Redacted, Result } from "effect"
import { TestClock } from "effect/testing"
import { InternalError, ProviderTimeout } from "../../src/domain/errors/Ambiguous.ts"
import { ProviderError } from "../../src/domain/errors/Retriable.ts"
import { InsufficientWalletFloat, PayoutRejectedByProvider, TenantFrozen } from "../../src/domain/errors/Terminal.ts"
import { fingerprintText } from "../../src/domain/RequestFingerprint.ts"
import { requestDeadlineMs } from "../../src/domain/TimeLimits.ts"
import { policy } from "../fakes/FakePolicy.ts"
import { fakeHash } from "../fakes/FakeVault.ts"
import { another, claim, endpoint, fresh, givenRequest, record, scope } from "../support/MoneyRequest.ts"
import { caller } from "../support/RawHttp.ts"

const codeOf = ({ body, status }: { readonly status: number; readonly body: { readonly error?: { readonly code: string } } }) => [
  status,
  body.error?.code
]

describe("a money step with a key", () => {
  it.effect("claims its key with the step's windows and the hash of its parameters, and runs once the key is its own", () =>
    Effect.gen(function* () {
      const windows = [{ name: "payout:hour" }] as never
      const runs: Array<unknown> = []
      const { answer, asked, done } = givenRequest({
        step: {
          windows: (by, command) => Effect.succeed(by === caller && command === "the command" ? windows : []),
          run: (...args) => Effect.sync(() => (runs.push(args), record))
        }
      })
      const { headers, status } = yield* answer
      expect([status, headers["idempotency-replayed"]]).toStrictEqual([201, undefined])
      const fingerprint = fakeHash("fingerprint", Redacted.make(fingerprintText(endpoint, {}, { amount: 5 })))
      expect(asked).toStrictEqual([{ scope, fingerprint, windows, nonce: { caller, nonce: "n".repeat(16), expiresAt: 9_000 } }])
      expect(runs).toStrictEqual([[caller, "the command", fresh]])
      // The commit that made the transaction stored its answer.
      expect(done).toStrictEqual([])
    })
  )

  it.effect("claims no windows where the step has none, and answers with the step's own status", () =>
    Effect.gen(function* () {
      const { answer, asked } = givenRequest({ step: { successStatus: 200 } })
      expect((yield* answer).status).toBe(200)
      expect(asked.map(({ windows }) => windows)).toStrictEqual([[]])
    })
  )

  it.effect("has its recipient screened while the key is claimed, and is told the end of that", () =>
    Effect.gen(function* () {
      const runs: Array<unknown> = []
      const began = Deferred.makeUnsafe<void>()
      const { answer, asked } = givenRequest({
        step: {
          screen: () => Effect.andThen(Deferred.succeed(began, undefined), Effect.sleep(1_000)),
          run: (_, __, claimed) => Effect.sync(() => (runs.push(claimed), record))
        }
      })
      const answered = yield* Effect.forkChild(answer)
      yield* Deferred.await(began)
      yield* TestClock.adjust(999)
      expect([asked.length, runs]).toStrictEqual([1, []])
      yield* TestClock.adjust(1)
      expect((yield* Fiber.join(answered)).status).toBe(201)
      expect(runs).toStrictEqual([{ ...fresh, screened: Exit.void }])
    })
  )

  it.effect.each([
    [{ _tag: "Busy" }, [409, "request_in_progress"]],
    [{ _tag: "Reused" }, [422, "idempotency_key_reused"]],
    [{ _tag: "Booked", reference: another }, [409, "indeterminate_outcome"]]
  ] as const)("is not run where its key is %j: %j", ([claimed, expected]) =>
    Effect.gen(function* () {
      const { answer, done } = givenRequest({ claimed, step: { run: () => Effect.die(new Error("it ran")) } })
      expect([codeOf(yield* answer), done]).toStrictEqual([expected, []])
    })
  )

  it.effect("names the transaction that a restore lost and operators booked", () =>
    Effect.gen(function* () {
      const { answer } = givenRequest({ claimed: { _tag: "Booked", reference: another } })
      expect((yield* answer).body.error?.details).toStrictEqual({ reference: another })
    })
  )

  it.effect("answers no refusal that could not be stored, because another request has claimed the key since", () =>
    Effect.gen(function* () {
      const { answer } = givenRequest({ isHeld: false, step: { run: () => Effect.fail(new TenantFrozen({})) } })
      expect(codeOf(yield* answer)).toStrictEqual([409, "request_in_progress"])
    })
  )

  it.effect("is 401 where another request spent the nonce", () =>
    Effect.gen(function* () {
      const { answer, done } = givenRequest({ isNonceSpent: true, step: { run: () => Effect.die(new Error("it ran")) } })
      expect([codeOf(yield* answer), done]).toStrictEqual([[401, "unauthorized"], []])
    })
  )

  it.effect.each([
    ["retriable", new ProviderError({}), 503, ["released"]],
    ["terminal", new TenantFrozen({}), 403, [["stored", 403, "tenant_frozen"]]],
    ["terminal, and could name one", new InsufficientWalletFloat({}), 422, [["stored", 422, "insufficient_wallet_float"]]],
    [
      "terminal, and names its transaction",
      new PayoutRejectedByProvider({ reference: another, failure_code: "unknown" }),
      422,
      []
    ],
    ["ambiguous, and names its transaction", new ProviderTimeout({ reference: another }), 503, []],
    ["ambiguous, and names none", new InternalError({ request_id: "request-1" }), 500, []]
  ] as const)("decides what the key keeps of a refusal that is %s", ([, error, status, kept]) =>
    Effect.gen(function* () {
      const { answer, done } = givenRequest({ step: { run: () => Effect.fail(error) } })
      expect([(yield* answer).status, done]).toStrictEqual([status, kept])
    })
  )

  it.effect.each([
    ["within its bound", { _tag: "Allowed" }, true, [403, "tenant_frozen"], [["stored", 403, "tenant_frozen"]]],
    ["beyond its bound", { _tag: "Limited", retryAfterSeconds: 30 }, true, [429, "rate_limited"], ["released"]],
    [
      "beyond its bound, where the claim was lost",
      { _tag: "Limited", retryAfterSeconds: 30 },
      false,
      [409, "request_in_progress"],
      ["released"]
    ]
  ] as const)("keeps a tenant's refusal %s", ([, taken, isHeld, expected, kept]) =>
    Effect.gen(function* () {
      const keptRefusals = { count: 1, windowMs: 60_000, burst: 1 }
      const { answer, done } = givenRequest({
        taken: taken,
        isHeld,
        keptRefusals,
        step: { run: () => Effect.fail(new TenantFrozen({})) }
      })
      const { headers, ...answered } = yield* answer
      expect(codeOf(answered)).toStrictEqual(expected)
      expect(headers["retry-after"]).toBe({ 403: undefined, 409: "1", 429: "30" }[expected[0]])
      expect(done).toStrictEqual([`refusals:tenant:${caller.appId}:live`, ...kept])
    })
  )

  it.effect("stores the answer itself where it may end without a commit that did", () =>
    Effect.gen(function* () {
      const { answer, done } = givenRequest({ step: { keyless: () => Effect.die(new Error("it has a key")) } })
      expect((yield* answer).status).toBe(201)
      expect(done).toStrictEqual([["stored", 201, "a record"]])
    })
  )
})

describe("a money step whose end is not known", () => {
  const broken = { run: () => Effect.die(new Error("a bug")) }

  it.effect.each([
    ["exists", Effect.succeed(true), { request_id: "request-1", reference: claim.reference }],
    ["does not exist", Effect.succeed(false), { request_id: "request-1" }],
    ["cannot be looked up", Effect.die(new Error("no database")), { request_id: "request-1" }]
  ] as const)("names its transaction where that %s", ([, exists, details]) =>
    Effect.gen(function* () {
      const { answer, done, logged } = givenRequest({ step: broken, exists: () => exists })
      const { body, status } = yield* answer
      expect([status, body.error.code, body.error.details]).toStrictEqual([500, "internal_error", details])
      expect(done).toStrictEqual([])
      expect(logged).toStrictEqual([["a money step broke", { request_id: "request-1", reference: claim.reference }]])
    })
  )

  it.effect("is looked up by the transaction that it is about, where it is about one", () =>
    Effect.gen(function* () {
      const looked: Array<string> = []
      const { answer } = givenRequest({
        step: { ...broken, about: another },
        exists: (reference) => Effect.sync(() => looked.push(reference) > 0)
      })
      expect((yield* answer).body.error.details).toStrictEqual({ request_id: "request-1", reference: another })
      expect(looked).toStrictEqual([another])
    })
  )

  it.effect.each([
    ["of its own", undefined, claim.reference],
    ["that it is about", another, another]
  ] as const)("is answered at its deadline, by the transaction %s, and its work goes on", ([, about, reference]) =>
    Effect.gen(function* () {
      const gate = Deferred.makeUnsafe<void>()
      const ended: Array<string> = []
      const { answer, logged } = givenRequest({
        step: {
          ...(about === undefined ? {} : { about }),
          run: () =>
            Effect.andThen(
              Deferred.await(gate),
              Effect.sync(() => (ended.push("ended"), record))
            )
        },
        exists: (one) => Effect.succeed(one === reference)
      })
      const answered = yield* Effect.forkChild(answer, { startImmediately: true })
      yield* TestClock.adjust(requestDeadlineMs(policy.idempotencyLeaseMs) - 1)
      expect(answered.pollUnsafe()).toBe(undefined)
      yield* TestClock.adjust(1)
      // The server waits for the work before it stops.
      expect([answered.pollUnsafe(), ended]).toStrictEqual([undefined, []])
      yield* Deferred.succeed(gate, undefined)
      const { body, status } = yield* Fiber.join(answered)
      expect([status, body.error.details, ended]).toStrictEqual([500, { request_id: "request-1", reference }, ["ended"]])
      expect(logged).toStrictEqual([
        ["the request reached its deadline, shortly before its key's lease ends; its work goes on", {}]
      ])
    })
  )
})

describe("a money step whose key is optional, without one", () => {
  it.effect("runs, and claims nothing", () =>
    Effect.gen(function* () {
      const { answer, asked, done } = givenRequest({
        key: undefined,
        step: { successStatus: 200, keyless: (by, command) => Effect.sync(() => (done.push([by, command]), record)) }
      })
      expect((yield* answer).status).toBe(200)
      expect([done, asked]).toStrictEqual([[[caller, "the command"]], []])
    })
  )

  it.effect("answers with what it refuses", () =>
    Effect.gen(function* () {
      const refused = givenRequest({ key: undefined, step: { keyless: () => Effect.fail(new TenantFrozen({})) } })
      expect(codeOf(yield* refused.answer)).toStrictEqual([403, "tenant_frozen"])
    })
  )

  it.effect.each([
    ["that it is about", another, { request_id: "request-1", reference: another }],
    ["that nobody knows", undefined, { request_id: "request-1" }]
  ] as const)("that breaks is ambiguous, and names the transaction %s", ([, about, details]) =>
    Effect.gen(function* () {
      const { answer, logged } = givenRequest({
        key: undefined,
        step: { ...(about === undefined ? {} : { about }), keyless: () => Effect.die(new Error("a bug")) },
        ...(about === undefined ? {} : { exists: () => Effect.succeed(true) })
      })
      const { body, status } = yield* answer
      expect([status, body.error.details]).toStrictEqual([500, details])
      expect(logged).toStrictEqual([["a money step broke", { request_id: "request-1", reference: about ?? "" }]])
    })
  )

  it.effect("is not shed, however long it runs: it has no key to claim", () =>
    Effect.gen(function* () {
      const { answer, answers } = givenRequest({
        key: undefined,
        step: { keyless: () => Effect.delay(Effect.succeed(record), 6_000) }
      })
      const running = yield* Effect.forkChild(answer, { startImmediately: true })
      yield* TestClock.adjust(5_999)
      expect(answers).toStrictEqual([])
      yield* TestClock.adjust(1)
      expect((yield* Fiber.join(running)).status).toBe(201)
    })
  )

  it.effect("has its missing key refused before a mistake in its body", () =>
    Effect.gen(function* () {
      const { answer } = givenRequest({ key: undefined, step: { decode: () => Result.fail(new TenantFrozen({})) } })
      expect(codeOf(yield* answer)).toStrictEqual([400, "idempotency_key_required"])
    })
  )

  it.effect("does not make the key of another step optional", () =>
    Effect.gen(function* () {
      const { answer, done } = givenRequest({ key: undefined })
      expect(codeOf(yield* answer)).toStrictEqual([400, "idempotency_key_required"])
      expect(done).toStrictEqual([])
    })
  )
})
