import { type Cause, Context, Effect, Exit, Fiber, Layer, Option, Result } from "effect"
import type { HttpServerResponse } from "effect/http"
import { IndeterminateOutcome, InternalError } from "../../domain/errors/Ambiguous.ts"
import type { ApiError } from "../../domain/errors/ApiError.ts"
import { RateLimited, RequestInProgress } from "../../domain/errors/Retriable.ts"
import { IdempotencyKeyRequired, IdempotencyKeyReused } from "../../domain/errors/Terminal.ts"
import { isReference } from "../../domain/Ids.ts"
import { fingerprintText } from "../../domain/RequestFingerprint.ts"
import type { Caller } from "../../domain/Tenant.ts"
import { requestDeadlineMs } from "../../domain/TimeLimits.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import type { WindowUse } from "../../domain/VelocityLimits.ts"
import { type Alarm, makeTimer, withAlarms } from "../../runtime/Timer.ts"
import type { PartyRefusal, ScreenedClaim } from "../../services/admission/PartyScreening.ts"
import { type Claim, type Claimed, type FreshClaim, Idempotency, type StoredResponse } from "../../services/ports/Idempotency.ts"
import { Policy } from "../../services/ports/Policy.ts"
import { RateLimits } from "../../services/ports/RateLimits.ts"
import { Vault } from "../../services/ports/Vault.ts"
import { Records } from "../../services/Records.ts"
import { classOf, errorEnvelope, recordResponse } from "../api/Envelope.ts"
import { Signed } from "../api/SignedRequest.ts"
import { type Body, checkMode, readTree } from "../body/Body.ts"
import { commitsWaitAlarm, shed } from "../edge/Deadlines.ts"
import { idempotencyKey, valuesOf } from "../edge/RequestHeaders.ts"
import { errorResponse, httpResponse, withIgnoredHeader } from "../edge/Response.ts"
import type { JsonTree } from "../json/StrictJson.ts"

/** The status of a success when the step names none: both creates answer 201. */
const CREATED = 201
const noWindows = Effect.succeed<ReadonlyArray<WindowUse>>([])
/** How long an error response is delayed to find out whether a transaction exists. */
const LOOK_MS = 2_000
/** The same while commits wait for a standby: the query may wait for a connection that hangs in a commit. */
const SHORT_LOOK_MS = 500

type Response = HttpServerResponse.HttpServerResponse
type SignedRequest = Signed["Service"]

/** An endpoint that moves money: how to decode its body, and what to do once for each key. */
export interface MoneyStep<C> {
  /** The route's method and template, as "POST /v1/payouts". */
  readonly endpoint: string
  readonly decode: (tree: JsonTree) => Result.Result<Body<C>, ApiError>
  /** The windows in which its transaction would count; they are read when the key is claimed. Reads only. */
  readonly windows?: (caller: Caller, command: C) => Effect.Effect<ReadonlyArray<WindowUse>>
  /** Screens the other party while the key is claimed; `run` gets the result. Reads only. */
  readonly screen?: (command: C) => Effect.Effect<void, PartyRefusal>
  readonly run: (caller: Caller, command: C, fresh: ScreenedClaim) => Effect.Effect<Transaction, ApiError>
  /** Only for an endpoint with an optional key (a collection's code): what to run without a key. */
  readonly keyless?: (caller: Caller, command: C) => Effect.Effect<Transaction, ApiError>
  /** The reference of the transaction that the request is about, when it exists already. */
  readonly about?: string
  /** The operation's success status; 201 by default. */
  readonly successStatus?: number
}

/** The progress of a money step. The response of its alarms and the treatment of a late claim depend on it. */
interface Progress {
  stage: "claiming" | "answered before the claim" | "running"
  /** The transaction that it creates or is about; empty while none can exist. */
  reference: string
}

/**
 * Runs a money step once for each idempotency key (contract IDEM-7).
 *
 * A request reads its body, claims its key and runs its step. The commit that claims the key also spends the request's nonce. A
 * request without a key, when its step allows that, makes no such commit: the edge has already spent its nonce.
 *
 * | Event | The client gets | The work |
 * | --- | --- | --- |
 * | the client disconnects | nothing | continues, and the key keeps its outcome |
 * | the claim is not committed in time | 429; 500 while commits wait for a standby | ends: a key that is claimed later is released |
 * | commits begin to wait for a standby | 500 within about a second | ends in the same way before the claim, else continues |
 * | a provider does not answer | the step's own `provider_timeout` (503) | ends; the poller finds the outcome |
 * | the step runs until the key's lease is nearly over | 500 | continues; once the lease is over, it opens nothing |
 * | the server stops | its response, if it is made within the ten seconds of `Server` | continues, and the process waits for it |
 * | the process dies | nothing | its transaction answers for the key; without one, a repeat runs once the lease is over |
 *
 * A 500 is ambiguous. After the claim it contains the reference, if the transaction is known to exist.
 */
export class Idempotent extends Context.Service<
  Idempotent,
  {
    /**
     * Runs the step once for a signed request, and returns its response. A repeated request, with the same key and body and its
     * own nonce, gets
     *
     * - the first response again, byte for byte, when that was final;
     * - 409 `request_in_progress` while the first request is running, or while its key's lease lasts and the outcome is open;
     * - after a first response without an outcome (`provider_timeout` and similar, which are not stored), once the lease is
     *   over: 409 `indeterminate_outcome` while the transaction is open, and then its final outcome, from the transaction's
     *   present state;
     * - a new run when the first one left nothing behind: a retriable refusal, or a process that died before it created a
     *   transaction.
     *
     * Refuses in the contract's order: a body that is not JSON (400), one of another mode (400), a key that is missing or
     * malformed (400), whatever the decoder refuses, a key that was used with other parameters (422) or is in use (409), and
     * then whatever the step refuses. Before its claim a request only checks and reads. When it is refused before the claim,
     * the edge spends its nonce before it sends the refusal.
     */
    readonly once: <C>(step: MoneyStep<C>) => Effect.Effect<Response, never, Signed>
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
      // The response of the work or of an alarm, whichever is first. Nothing interrupts the work; the scope's end waits for it.
      const runDetached = withAlarms(yield* makeTimer, yield* Effect.scope)
      const commitsWaitAlarms = yield* commitsWaitAlarm

      const once = <C>(step: MoneyStep<C>) =>
        Effect.flatMap(Signed, (request) => {
          const read = readRequest(step, request)
          if (Result.isFailure(read)) return Effect.succeed(errorResponse(read.failure))
          const { body, key } = read.success
          const progress: Progress = { stage: key === undefined ? "running" : "claiming", reference: step.about ?? "" }
          const work =
            key === undefined ? runWithoutKey(step, request, body.command) : runWithKey(step, request, { key, body }, progress)
          return Effect.map(runDetached(work, alarmsOf(request, progress)), withIgnoredHeader(body.ignored))
        })

      /** The responses of a request that takes too long. `Deadlines` has the times. */
      const alarmsOf = (request: SignedRequest, progress: Progress): ReadonlyArray<Alarm<Response>> => {
        const endBeforeClaim = () => {
          if (progress.stage === "claiming") progress.stage = "answered before the claim"
        }
        const ambiguous = (lookMs: number) =>
          Effect.suspend(() => {
            endBeforeClaim()
            return Effect.map(internalError(request, progress.reference, lookMs), httpResponse)
          })
        const claimIsLate = Effect.suspend(() => {
          if (progress.stage !== "claiming") return Effect.succeedNone
          endBeforeClaim()
          return Effect.logWarning("the key could not be claimed in time").pipe(
            Effect.andThen(Effect.catch(shed(request.requestId), (error) => Effect.succeedSome(errorResponse(error))))
          )
        })
        const leaseEnds = Effect.andThen(
          Effect.logError("the request reached its deadline, shortly before its key's lease ends; its work goes on"),
          Effect.asSome(ambiguous(LOOK_MS))
        )
        return [
          { ms: request.claimWithinMs, answer: claimIsLate },
          { ms: requestDeadlineMs(policy.idempotencyLeaseMs), answer: leaseEnds },
          ...commitsWaitAlarms(ambiguous(SHORT_LOOK_MS))
        ]
      }

      /** Claims the key, then runs the step or answers from the key's state. A key that is claimed too late is released. */
      const runWithKey = Effect.fnUntraced(function* <C>(
        step: MoneyStep<C>,
        request: SignedRequest,
        { body, key }: { readonly key: string; readonly body: Body<C> },
        progress: Progress
      ) {
        const { caller, nonce } = request
        if (nonce === null) return yield* Effect.die(new Error("the nonce of a request with a key was not left to its claim"))
        const fingerprint = vault.hash("fingerprint", fingerprintText(step.endpoint, {}, body.fingerprint))
        const scope = { appId: caller.appId, mode: caller.mode, endpoint: step.endpoint, key }
        const windows = yield* step.windows?.(caller, body.command) ?? noWindows
        // Started first, so that its result is there when the claim is committed: the request waits for both at once.
        const screening =
          step.screen === undefined
            ? undefined
            : yield* Effect.forkChild(Effect.exit(step.screen(body.command)), { startImmediately: true })
        const arrived = yield* Effect.result(
          nonce.spendWith((use) => idempotency.claim({ scope, fingerprint, windows, nonce: use }))
        )
        if (progress.stage === "claiming") progress.stage = "running"
        if (Result.isFailure(arrived)) return errorResponse(arrived.failure)
        const claimed = arrived.success
        if (claimed._tag !== "Fresh") return yield* responseUnder(claimed, step, caller)
        if (progress.stage === "answered before the claim") {
          // Nothing is run. The client has its response already, or gets this one.
          yield* idempotency.release(claimed.claim)
          return errorResponse(new RequestInProgress())
        }
        if (progress.reference === "") progress.reference = claimed.claim.reference
        const screened = screening === undefined ? undefined : yield* Fiber.join(screening)
        return yield* runFirst(step, request, screened === undefined ? claimed : { ...claimed, screened }, body.command)
      })

      /** The response when another request holds or has used the key. */
      const responseUnder = <C>(claimed: Exclude<Claimed, FreshClaim>, step: MoneyStep<C>, caller: Caller) => {
        switch (claimed._tag) {
          // The final response was stored.
          case "Replay":
            return Effect.succeed(httpResponse(claimed.response, { "idempotency-replayed": "true" }))
          // The transaction exists and no final response is stored: answer from the transaction.
          case "Pinned":
            return Effect.match(records.replay(caller, claimed.reference, claimed.leased), {
              onSuccess: (record) => httpResponse(successOf(step, record)),
              onFailure: errorResponse
            })
          // A restore lost its transaction, and operators booked the money that it had moved.
          case "Booked":
            return Effect.succeed(errorResponse(new IndeterminateOutcome({ reference: claimed.reference })))
          case "Reused":
            return Effect.succeed(errorResponse(new IdempotencyKeyReused()))
          case "Busy":
            return Effect.succeed(errorResponse(new RequestInProgress()))
        }
      }

      const runFirst = <C>(step: MoneyStep<C>, request: SignedRequest, fresh: ScreenedClaim, command: C) => {
        const { claim } = fresh
        return step.run(request.caller, command, fresh).pipe(
          Effect.matchEffect({
            onSuccess: (record) => {
              const response = successOf(step, record)
              // A create always ends with a commit that stores its response. Only the endpoint with an optional key may end
              // without one, when there is nothing left to do: the response is then stored here. If a commit has stored it,
              // this writes nothing.
              const mayEndWithoutCommit = step.keyless !== undefined
              const stored = mayEndWithoutCommit ? idempotency.complete(claim, response) : Effect.void
              return Effect.as(stored, httpResponse(response))
            },
            onFailure: (error) => Effect.map(settleKey(claim, error), errorResponse)
          }),
          // Whether money moved is unknown here. When a transaction exists, the key answers from it.
          Effect.catchCause((cause) =>
            logBroken(cause, request, step.about ?? claim.reference).pipe(
              Effect.andThen(internalError(request, step.about ?? claim.reference)),
              Effect.map(httpResponse)
            )
          )
        )
      }

      const runWithoutKey = <C>(step: MoneyStep<C>, request: SignedRequest, command: C) =>
        (step.keyless?.(request.caller, command) ?? Effect.fail(new IdempotencyKeyRequired())).pipe(
          Effect.match({ onSuccess: (record) => httpResponse(successOf(step, record)), onFailure: errorResponse }),
          Effect.catchCause((cause) =>
            Effect.andThen(
              logBroken(cause, request, step.about ?? ""),
              Effect.map(internalError(request, step.about ?? ""), httpResponse)
            )
          )
        )

      /**
       * Decides what becomes of the key, and returns the error for the response. A retriable error releases the key. A terminal
       * one is stored under it, unless it names a transaction: then the commit that made the transaction has stored it. After
       * an ambiguous error the key stays with its transaction.
       */
      const settleKey = Effect.fnUntraced(function* (claim: Claim, error: ApiError) {
        // Nothing was created for this key, so it may run again. A duplicate charge names the earlier charge's reference.
        if (error._tag === "duplicate_charge_in_flight" || classOf(error) === "retriable") {
          yield* idempotency.release(claim)
          return error
        }
        if (classOf(error) !== "terminal" || namesTransaction(error)) return error
        // Beyond the bound a refusal is not stored, and the tenant retries.
        const limited = yield* storeLimit(claim)
        const isOurs = yield* limited === null ? idempotency.complete(claim, errorEnvelope(error)) : idempotency.release(claim)
        // Where another request has claimed the key since, that one may move money: a refusal would say that none does.
        return isOurs ? (limited ?? error) : new RequestInProgress()
      })

      /** Bounds the number of stored refusals per tenant. Null when there is room for one more. */
      const storeLimit = ({ scope: { appId, mode } }: Claim): Effect.Effect<RateLimited | null> => {
        if (policy.keptRefusals === "off") return Effect.succeed(null)
        return Effect.map(rates.take(`refusals:tenant:${appId}:${mode}`, policy.keptRefusals, 1), (taken) =>
          taken._tag === "Allowed" ? null : new RateLimited({ scope: "key", retry_after_seconds: taken.retryAfterSeconds })
        )
      }

      const logBroken = (cause: Cause.Cause<unknown>, { requestId }: SignedRequest, reference: string) =>
        Effect.logError("a money step broke", cause).pipe(Effect.annotateLogs({ request_id: requestId, reference }))

      /** `internal_error`, with the reference when a transaction with it is known to exist. */
      const internalError = Effect.fnUntraced(function* (
        { caller, requestId }: SignedRequest,
        reference: string,
        lookMs: number = LOOK_MS
      ) {
        if (!isReference(reference)) return errorEnvelope(new InternalError({ request_id: requestId }))
        const found = yield* records.exists(caller, reference).pipe(Effect.timeoutOption(lookMs), Effect.exit)
        const exists = Exit.isSuccess(found) && Option.contains(found.value, true)
        return errorEnvelope(new InternalError(exists ? { request_id: requestId, reference } : { request_id: requestId }))
      })

      return Idempotent.of({ once })
    })
  )
}

/** Everything that can be refused before the key is claimed, in the contract's order. */
const readRequest = <C>(step: MoneyStep<C>, { body, caller, rawHeaders }: SignedRequest) =>
  Result.gen(function* () {
    const tree = yield* readTree(body)
    yield* checkMode(tree, caller.mode)
    const isWithoutKey = step.keyless !== undefined && valuesOf(rawHeaders, "idempotency-key").length === 0
    const key = isWithoutKey ? undefined : yield* idempotencyKey(rawHeaders)
    return { key, body: yield* step.decode(tree) }
  })

const successOf = <C>({ successStatus = CREATED }: MoneyStep<C>, record: Transaction): StoredResponse =>
  recordResponse(successStatus, record)

const namesTransaction = (error: ApiError): boolean => "reference" in error && error.reference !== undefined
