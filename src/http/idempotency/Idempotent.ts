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

/** The status of a success where the step names none: both creates answer 201. */
const CREATED = 201
const noWindows = Effect.succeed<ReadonlyArray<WindowUse>>([])
/** How long a response that went wrong is held up to find out whether a transaction exists. */
const LOOK_MS = 2_000
/** The same while commits wait for a standby: the look may wait for a connection that hangs in a commit. */
const SHORT_LOOK_MS = 500

type Response = HttpServerResponse.HttpServerResponse
type SignedRequest = Signed["Service"]

/** An endpoint that moves money: what its body means, and what is done once for each key. */
export interface MoneyStep<C> {
  /** The route's method and template, as "POST /v1/payouts". */
  readonly endpoint: string
  readonly decode: (tree: JsonTree) => Result.Result<Body<C>, ApiError>
  /** The windows that its transaction would be counted in; they are read where the key is claimed. Reads only. */
  readonly windows?: (caller: Caller, command: C) => Effect.Effect<ReadonlyArray<WindowUse>>
  /** Whether the other side may be dealt with: found out while the key is claimed, and said to `run`. Reads only. */
  readonly screen?: (command: C) => Effect.Effect<void, PartyRefusal>
  readonly run: (caller: Caller, command: C, fresh: ScreenedClaim) => Effect.Effect<Transaction, ApiError>
  /** Only for an endpoint whose key is optional (a collection's code): what is done without one. */
  readonly keyless?: (caller: Caller, command: C) => Effect.Effect<Transaction, ApiError>
  /** The transaction that it is about, where that exists already. */
  readonly about?: string
  /** The operation's own success status; 201 where none is named. */
  readonly successStatus?: number
}

/** How far a money step is: what its alarms answer depends on it, and what becomes of a claim that comes late. */
interface Progress {
  stage: "claiming" | "answered before the claim" | "running"
  /** Of the transaction that it makes or is about; empty where none can exist yet. */
  reference: string
}

/**
 * Runs a money step once for each idempotency key (contract IDEM-7).
 *
 * A request reads its body, claims its key and runs its step. The commit that claims the key also spends the request's nonce. A request
 * without a key, where its step allows that, makes no such commit: the edge has spent its nonce.
 *
 * | What happens | The client gets | The work |
 * | --- | --- | --- |
 * | its client goes away | nothing | goes on, and the key keeps its outcome |
 * | the claim is not committed in time | 429; 500 while commits wait for a standby | ends: a key that is claimed later is released |
 * | commits begin to wait for a standby | 500 within about a second | ends in the same way before the claim, else goes on |
 * | a provider is silent | the step's own `provider_timeout` (503) | ends; the poller finds the outcome |
 * | the step runs until the key's lease is nearly over | 500 | goes on, until another request claims the key: then it commits nothing |
 * | the server stops | its answer, within the ten seconds of `Server` | goes on, and the process waits for it |
 * | the process dies | nothing | a transaction answers for its key; without one the key runs again |
 *
 * An answer of 500 is ambiguous. After the claim it has the reference, where the transaction is seen to exist.
 */
export class Idempotent extends Context.Service<
  Idempotent,
  {
    /**
     * Takes a money step and the signed request, runs the step once, and gives its response. A repeat, with the same key and body and a nonce
     * of its own, gets
     *
     * - a final first response again, byte for byte, however often;
     * - while the first request is at work, or its key's lease lasts and the outcome is open: 409 `request_in_progress`;
     * - after a first response without an outcome (`provider_timeout` and its like, under which nothing is stored), once the lease is over:
     *   409 `indeterminate_outcome` while the transaction is open, and then its final outcome, from the transaction as it now is;
     * - a run of its own where the first run left nothing behind: a retriable refusal, or a process that died before it made a transaction.
     *
     * Refuses in the contract's order: a body that is no JSON (400), one of another mode (400), a key that is missing or
     * malformed (400), what the decoder refuses, a key that was used with other parameters (422) or is in use (409), and then what the
     * step refuses. Before its claim a request only checks and reads. One that is refused before it leaves its nonce to the edge, which
     * spends it before the refusal is answered.
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
      // Gives the response of the work or of an alarm, whichever comes first. Nothing interrupts the work; the end of the scope waits for it.
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

      /** The answers of a request that takes too long. `Deadlines` has the times. */
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

      /** Claims the key, then runs the step or says what its key holds. A key that is claimed too late is released. */
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
        // Asked first, so that its answer is there when the claim is committed: the request waits once for both.
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
          // Nothing is run. Its client has an answer, or gets this one.
          yield* idempotency.release(claimed.claim)
          return errorResponse(new RequestInProgress())
        }
        if (progress.reference === "") progress.reference = claimed.claim.reference
        const screened = screening === undefined ? undefined : yield* Fiber.join(screening)
        return yield* runFirst(step, request, screened === undefined ? claimed : { ...claimed, screened }, body.command)
      })

      /** The response under a key that another request holds or has used. */
      const responseUnder = <C>(claimed: Exclude<Claimed, FreshClaim>, step: MoneyStep<C>, caller: Caller) => {
        switch (claimed._tag) {
          // Its final response was stored.
          case "Replay":
            return Effect.succeed(httpResponse(claimed.response, { "idempotency-replayed": "true" }))
          // Its transaction exists, and no final response is stored: the transaction says what to answer.
          case "Pinned":
            return Effect.match(records.replay(caller, claimed.reference, claimed.leased), {
              onSuccess: (record) => httpResponse(successOf(step, record)),
              onFailure: errorResponse
            })
          // A restore forgot its transaction, and operators booked what that had moved.
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
              // A create always ends with a commit that stores its response. The one endpoint with an optional key may find nothing left
              // to do: then no commit stored the response, and it is stored here. Where one did, this writes nothing.
              const mayEndWithoutCommit = step.keyless !== undefined
              const stored = mayEndWithoutCommit ? idempotency.complete(claim, response) : Effect.void
              return Effect.as(stored, httpResponse(response))
            },
            onFailure: (error) => Effect.map(settleKey(claim, error), errorResponse)
          }),
          // Whether money moved is not known here. Where a transaction exists, the key answers from it.
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
       * Gives the error to answer. A retriable one releases the key, and a terminal one is stored under it, unless it names a transaction: then
       * the commit that made the transaction has stored it. Under an ambiguous one the key stays with its transaction.
       */
      const settleKey = Effect.fnUntraced(function* (claim: Claim, error: ApiError) {
        // Nothing was made for this key, so that it may run again. A duplicate charge names a reference, but the earlier charge's.
        if (error._tag === "duplicate_charge_in_flight" || classOf(error) === "retriable") {
          yield* idempotency.release(claim)
          return error
        }
        if (classOf(error) !== "terminal" || namesTransaction(error)) return error
        const limited = yield* storeLimit(claim)
        // Too many refusals are stored: this one is not, and the tenant has to come back, unless the claim was lost meanwhile.
        if (limited !== null && (yield* idempotency.release(claim))) return limited
        yield* idempotency.complete(claim, errorEnvelope(error))
        return error
      })

      /** Bounds the errors that are stored for a tenant. Null where there is room for one more. */
      const storeLimit = ({ scope: { appId, mode } }: Claim): Effect.Effect<RateLimited | null> => {
        if (policy.keptRefusals === "off") return Effect.succeed(null)
        return Effect.map(rates.take(`refusals:tenant:${appId}:${mode}`, policy.keptRefusals, 1), (taken) =>
          taken._tag === "Allowed" ? null : new RateLimited({ scope: "key", retry_after_seconds: taken.retryAfterSeconds })
        )
      }

      const logBroken = (cause: Cause.Cause<unknown>, { requestId }: SignedRequest, reference: string) =>
        Effect.logError("a money step broke", cause).pipe(Effect.annotateLogs({ request_id: requestId, reference }))

      /** `internal_error`, with the reference where a transaction of that reference is known to exist. */
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
