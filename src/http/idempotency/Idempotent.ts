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
import { type Claim, Idempotency, type StoredResponse } from "../../services/ports/Idempotency.ts"
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

/** Runs a money step once for each idempotency key (contract IDEM-7). */
export class Idempotent extends Context.Service<
  Idempotent,
  {
    /**
     * Takes a money step and the signed request, runs the step once, and gives its response. Repeated, the same request gets
     *
     * - a final first response again, byte for byte, however often;
     * - while the first request is at work, or its key's lease lasts and the outcome is open: 409 `request_in_progress`;
     * - after a first response without an outcome (`provider_timeout` and its like, under which nothing is stored), once the lease is over:
     *   409 `indeterminate_outcome` while the transaction is open, and then its final outcome, from the transaction as it now is;
     * - a run of its own where the first run left nothing behind: a retriable refusal, or a process that died before it made a transaction.
     *
     * Refuses in the contract's order: a body that is no JSON (400), one of another mode (400), a key that is missing or
     * malformed (400), what the decoder refuses, a key that was used with other parameters (422) or is in use (409), and then what the
     * step refuses.
     *
     * The request's nonce is spent in the commit that claims the key; of a request without one the edge has spent it. Nothing is done
     * before but checks of the request itself. A request that is refused then leaves its nonce to the edge, which spends it before the
     * refusal is answered.
     *
     * The step is never interrupted: neither a client that goes away nor a deadline stops it, and a server that stops waits for it.
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
      const outlasting = withAlarms(yield* makeTimer, yield* Effect.scope)
      const commitsWaitAlarms = yield* commitsWaitAlarm

      const once = <C>(step: MoneyStep<C>) =>
        Effect.flatMap(Signed, (request) => {
          const read = readRequest(step, request)
          if (Result.isFailure(read)) return Effect.succeed(errorResponse(read.failure))
          const { body, key } = read.success
          const progress: Progress = { isAnsweredUnclaimed: false, isClaiming: key !== undefined, reference: step.about ?? "" }
          const work =
            key === undefined ? runWithoutKey(step, request, body.command) : runWithKey(step, request, { key, body }, progress)
          return Effect.map(outlasting(work, alarmsOf(request, progress)), withIgnoredHeader(body.ignored))
        })

      /** The answers of a request whose step takes too long; see `Deadlines`. */
      const alarmsOf = (request: SignedRequest, progress: Progress): ReadonlyArray<Alarm<Response>> => {
        const ambiguous = (lookMs: number) =>
          Effect.suspend(() => {
            progress.isAnsweredUnclaimed ||= progress.isClaiming
            return Effect.map(internalError(request, progress.reference, lookMs), httpResponse)
          })
        const shedding = Effect.suspend(() => {
          if (!progress.isClaiming) return Effect.succeedNone
          progress.isAnsweredUnclaimed = true
          return Effect.logWarning("the key could not be claimed in time").pipe(
            Effect.andThen(Effect.flip(shed(request.requestId))),
            Effect.map((error) => Option.some(errorResponse(error))),
            Effect.orDie
          )
        })
        const overdue = Effect.andThen(
          Effect.logError("the request reached its deadline, shortly before its key's lease ends; its work goes on"),
          Effect.asSome(ambiguous(LOOK_MS))
        )
        return [
          { ms: request.claimWithinMs, answer: shedding },
          { ms: requestDeadlineMs(policy.idempotencyLeaseMs), answer: overdue },
          ...commitsWaitAlarms(ambiguous(SHORT_LOOK_MS))
        ]
      }

      /** Claims the key: runs the step, or repeats its response, or says why neither. */
      const runWithKey = Effect.fnUntraced(function* <C>(
        step: MoneyStep<C>,
        request: SignedRequest,
        { body, key }: { readonly key: string; readonly body: Body<C> },
        progress: Progress
      ) {
        const { caller, nonce } = request
        if (nonce === null) return yield* Effect.die(new Error("a request that claims a key has its nonce left to spend"))
        const fingerprint = vault.hash("fingerprint", fingerprintText(step.endpoint, {}, body.fingerprint))
        const scope = { appId: caller.appId, mode: caller.mode, endpoint: step.endpoint, key }
        const windows = yield* step.windows?.(caller, body.command) ?? noWindows
        // Asked first, so that its answer is there when the claim is committed: the request waits once for both.
        const screening =
          step.screen === undefined
            ? undefined
            : yield* Effect.forkChild(Effect.exit(step.screen(body.command)), { startImmediately: true })
        const claiming = nonce.spendWith((use) => idempotency.claim({ scope, fingerprint, windows, nonce: use }))
        const arrived = yield* Effect.result(claiming)
        progress.isClaiming = false
        const screened = screening === undefined ? undefined : yield* Fiber.join(screening)
        if (Result.isFailure(arrived)) return errorResponse(arrived.failure)
        const taken = arrived.success
        if (progress.isAnsweredUnclaimed && taken._tag === "Fresh") {
          yield* idempotency.release(taken.claim)
          // It was answered before: no client gets this.
          return errorResponse(new RequestInProgress())
        }
        switch (taken._tag) {
          case "Fresh":
            if (progress.reference === "") progress.reference = taken.claim.reference
            return yield* runFirst(step, request, screened === undefined ? taken : { ...taken, screened }, body.command)
          case "Replay":
            return httpResponse(taken.response, { "idempotency-replayed": "true" })
          case "Pinned":
            return yield* Effect.match(records.replay(caller, taken.reference, taken.leased), {
              onSuccess: (record) => httpResponse(successOf(step, record)),
              onFailure: errorResponse
            })
          case "Booked":
            return errorResponse(new IndeterminateOutcome({ reference: taken.reference }))
          case "Reused":
            return errorResponse(new IdempotencyKeyReused())
          case "Busy":
            // It was answered before: no client gets this.
            return errorResponse(new RequestInProgress())
        }
      })

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
            onFailure: (error) => Effect.map(storeError(claim, error), errorResponse)
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
       * Decides what the key remembers of an error, and gives the error to answer. An error that belongs to a transaction was stored by the
       * commit that made the transaction.
       */
      const storeError = Effect.fnUntraced(function* (claim: Claim, error: ApiError) {
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

/** How far a money step is, for the alarms beside it. */
interface Progress {
  /** Its key is not claimed yet. */
  isClaiming: boolean
  /** It was answered before its key was claimed: a key that is claimed now is released. */
  isAnsweredUnclaimed: boolean
  /** Of the transaction that it makes or is about; empty where none can exist yet. */
  reference: string
}

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
