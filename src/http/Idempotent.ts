import { type Cause, Context, Deferred, Effect, Exit, Fiber, Layer, Option, Redacted, Result } from "effect"
import type { HttpServerResponse } from "effect/http"
import type { LedgerRecord } from "../domain/Exchange.ts"
import { InternalError } from "../domain/errors/Ambiguous.ts"
import { RateLimited, RequestInProgress } from "../domain/errors/Retriable.ts"
import { IdempotencyKeyRequired, IdempotencyKeyReused } from "../domain/errors/Terminal.ts"
import { isReference } from "../domain/Ids.ts"
import { fingerprintText } from "../domain/RequestFingerprint.ts"
import type { Caller } from "../domain/Tenant.ts"
import { requestDeadlineMs } from "../domain/TimeLimits.ts"
import { recordView } from "../domain/View.ts"
import { makeTimer } from "../runtime/Timer.ts"
import { type Claim, Idempotency, type StoredResponse } from "../services/ports/Idempotency.ts"
import { Policy } from "../services/ports/Policy.ts"
import { RateLimits } from "../services/ports/RateLimits.ts"
import type { ApiError } from "../services/ports/ResponseEncoder.ts"
import { Vault } from "../services/ports/Vault.ts"
import { Records } from "../services/Records.ts"
import { type Body, checkMode, readTree } from "./Body.ts"
import { classOf, errorEnvelope, successEnvelope } from "./Envelope.ts"
import { idempotencyKey, valuesOf } from "./RequestHeaders.ts"
import { errorResponse, httpResponse, withIgnoredHeader } from "./Response.ts"
import { Signed } from "./SignedRequest.ts"
import type { JsonTree } from "./StrictJson.ts"

/** Both creates answer 201. */
const CREATED = 201
/** How long an answer that went wrong is held up to say whether a transaction exists. */
const LOOK_MS = 2_000

/** A money-moving endpoint: what its body means and what is done once for each key. */
export interface MoneyStep<C> {
  /** The route's method and template, as "POST /v1/payouts". */
  readonly endpoint: string
  readonly decode: (tree: JsonTree) => Result.Result<Body<C>, ApiError>
  readonly run: (caller: Caller, command: C, claim: Claim) => Effect.Effect<LedgerRecord, ApiError>
  /** For an endpoint whose key is optional: what is done without one. */
  readonly keyless?: (caller: Caller, command: C) => Effect.Effect<LedgerRecord, ApiError>
  /** The transaction that it is about, where that exists already. */
  readonly about?: string
  /** The operation's own success status; 201 where none is named. */
  readonly successStatus?: number
}

/** Runs a money step once for each idempotency key (contract IDEM-7). */
export class Idempotent extends Context.Service<
  Idempotent,
  {
    /**
     * Refuses in the contract's order up to the claim, then runs the step or repeats its answer. The step itself is never interrupted:
     * neither a client that goes away nor a deadline stops it, and a server that stops waits for it.
     */
    readonly once: <C>(step: MoneyStep<C>) => Effect.Effect<HttpServerResponse.HttpServerResponse, never, Signed>
  }
>()("gateway/http/Idempotent") {
  static readonly layer = Layer.effect(
    Idempotent,
    Effect.gen(function* () {
      const idempotency = yield* Idempotency
      const records = yield* Records
      const vault = yield* Vault
      const policy = yield* Policy
      const rates = yield* RateLimits
      const steps = yield* Effect.scope
      const alarm = yield* makeTimer

      const claimed = Effect.fnUntraced(function* <C>(
        step: MoneyStep<C>,
        request: Signed["Service"],
        key: string,
        body: Body<C>,
        begun: Deferred.Deferred<Claim>
      ) {
        const { caller } = request
        const fingerprint = vault.hash("fingerprint", Redacted.make(fingerprintText(step.endpoint, {}, body.fingerprint)))
        const scope = { appId: caller.appId, mode: caller.mode, endpoint: step.endpoint, key }
        const taken = yield* idempotency.claim(scope, fingerprint)
        switch (taken._tag) {
          case "Fresh":
            yield* Deferred.succeed(begun, taken.claim)
            return yield* fresh(step, request, taken.claim, body.command)
          case "Replay":
            return httpResponse(taken.response, { "idempotency-replayed": "true" })
          case "Pinned":
            return yield* Effect.match(records.replay(caller, taken.reference, taken.leased), {
              onSuccess: (record) => httpResponse(succeeded(step, record)),
              onFailure: errorResponse
            })
          case "Reused":
            return errorResponse(new IdempotencyKeyReused())
          case "Busy":
            return errorResponse(new RequestInProgress())
        }
      })

      const fresh = <C>(step: MoneyStep<C>, request: Signed["Service"], claim: Claim, command: C) =>
        step.run(request.caller, command, claim).pipe(
          Effect.matchEffect({
            onSuccess: (record) => {
              const answer = succeeded(step, record)
              // Without a key of its own commit (nothing was left to do) the answer is kept here; otherwise this finds nothing to write.
              const kept = step.keyless === undefined ? Effect.void : idempotency.complete(claim, answer)
              return Effect.as(kept, httpResponse(answer))
            },
            onFailure: (error) => Effect.map(keep(claim, error), errorResponse)
          }),
          // Whether money moved is not known here: where a transaction exists, the key answers from it.
          Effect.catchCause((cause) =>
            told(cause, request, step.about ?? claim.reference).pipe(
              Effect.andThen(broken(request, step.about ?? claim.reference)),
              Effect.map(httpResponse)
            )
          )
        )

      const unkeyed = <C>(step: MoneyStep<C>, request: Signed["Service"], command: C) =>
        (step.keyless?.(request.caller, command) ?? Effect.fail(new IdempotencyKeyRequired())).pipe(
          Effect.match({ onSuccess: (record) => httpResponse(succeeded(step, record)), onFailure: errorResponse }),
          Effect.catchCause((cause) =>
            Effect.andThen(told(cause, request, step.about ?? ""), Effect.map(broken(request, step.about ?? ""), httpResponse))
          )
        )

      /** Null where one more refusal may be kept for this tenant. */
      const full = ({ scope: { appId, mode } }: Claim): Effect.Effect<RateLimited | null> => {
        if (policy.keptRefusals === "off") return Effect.succeed(null)
        return Effect.map(rates.take(`refusals:tenant:${appId}:${mode}`, policy.keptRefusals), (taken) =>
          taken._tag === "Allowed" ? null : new RateLimited({ scope: "key", retry_after_seconds: taken.retryAfterSeconds })
        )
      }

      /** What stays of a refusal, and what is said: one that belongs to a transaction was stored by the commit that made it. */
      const keep = Effect.fnUntraced(function* (claim: Claim, error: ApiError) {
        // It names the earlier charge: nothing was made for this key.
        if (error._tag === "duplicate_charge_in_flight" || classOf(error) === "retriable") {
          yield* idempotency.release(claim)
          return error
        }
        if (classOf(error) !== "terminal" || namesTransaction(error)) return error
        const limited = yield* full(claim)
        // Nothing moved, and nothing is kept: the same request is refused for good once there is room.
        if (limited !== null && (yield* idempotency.release(claim))) return limited
        yield* idempotency.complete(claim, errorEnvelope(error))
        return error
      })

      const told = (cause: Cause.Cause<unknown>, { requestId }: Signed["Service"], reference: string) =>
        Effect.logError("a money step broke", cause).pipe(Effect.annotateLogs({ request_id: requestId, reference }))

      const broken = Effect.fnUntraced(function* ({ caller, requestId }: Signed["Service"], reference: string) {
        if (!isReference(reference)) return errorEnvelope(new InternalError({ request_id: requestId }))
        const found = yield* records.exists(caller, reference).pipe(Effect.timeoutOption(LOOK_MS), Effect.exit)
        const exists = Exit.isSuccess(found) && Option.contains(found.value, true)
        return errorEnvelope(new InternalError(exists ? { request_id: requestId, reference } : { request_id: requestId }))
      })

      const once = <C>(step: MoneyStep<C>) =>
        Effect.flatMap(Signed, (request) => {
          const asked = readRequest(step, request)
          if (Result.isFailure(asked)) return Effect.succeed(errorResponse(asked.failure))
          const { body, key } = asked.success
          return Effect.map(
            detached(
              (begun) => (key === undefined ? unkeyed(step, request, body.command) : claimed(step, request, key, body, begun)),
              request,
              step.about
            ),
            withIgnoredHeader(body.ignored)
          )
        })

      const detached = Effect.fnUntraced(function* (
        work: (begun: Deferred.Deferred<Claim>) => Effect.Effect<HttpServerResponse.HttpServerResponse>,
        request: Signed["Service"],
        about: string | undefined
      ) {
        const begun = yield* Deferred.make<Claim>()
        const fiber = yield* Effect.forkIn(work(begun), steps, { startImmediately: true, uninterruptible: true })
        const late = Effect.gen(function* () {
          yield* Effect.logError("the request took longer than its key's lease; its work goes on")
          const claim = yield* Deferred.poll(begun)
          const made = Option.isSome(claim) ? (yield* claim.value).reference : ""
          return httpResponse(yield* broken(request, about ?? made))
        })
        const ended = Effect.callback<HttpServerResponse.HttpServerResponse>((resume) => {
          const stop = alarm(requestDeadlineMs(policy.idempotencyLeaseMs), () => resume(late))
          fiber.addObserver((exit) => {
            stop()
            resume(exit)
          })
          return Effect.sync(stop)
        })
        const answer = yield* Effect.forkIn(ended, steps, { startImmediately: true })
        yield* request.outlasts(answer)
        return yield* Fiber.join(answer)
      })

      return Idempotent.of({ once })
    })
  )
}

/** Everything that can be refused before the key is claimed, in the contract's order. */
const readRequest = <C>(step: MoneyStep<C>, { body, caller, rawHeaders }: Signed["Service"]) =>
  Result.gen(function* () {
    const tree = yield* readTree(body)
    yield* checkMode(tree, caller.mode)
    const optional = step.keyless !== undefined && valuesOf(rawHeaders, "idempotency-key").length === 0
    const key = optional ? undefined : yield* idempotencyKey(rawHeaders)
    return { key, body: yield* step.decode(tree) }
  })

const succeeded = <C>({ successStatus = CREATED }: MoneyStep<C>, record: LedgerRecord): StoredResponse =>
  successEnvelope(successStatus, recordView(record))

const namesTransaction = (error: ApiError): boolean => "reference" in error && error.reference !== undefined
