import { Effect, Fiber } from "effect"
import { InternalError } from "../../domain/errors/Ambiguous.ts"
import { RateLimited } from "../../domain/errors/Retriable.ts"
import { endsWithin, makeTimer } from "../../runtime/Timer.ts"
import { CommitsWaiting } from "../../services/ports/CommitsWaiting.ts"
import { type ClaimRequest, Idempotency } from "../../services/ports/Idempotency.ts"
import type { Signed } from "../api/SignedRequest.ts"

const SHED_RETRY_AFTER_SECONDS = 1

/**
 * Spends a request's nonce and claims its key. A request that waits too long for that is shed (429, or `internal_error` while commits wait for
 * a standby): nothing is begun for it, and a key that is claimed for it afterwards is released.
 */
export const keyClaims = Effect.gen(function* () {
  const idempotency = yield* Idempotency
  const commitsWaiting = yield* CommitsWaiting
  const scope = yield* Effect.scope
  const within = endsWithin(yield* makeTimer)

  return Effect.fnUntraced(function* ({ arrivalMs, nonce, requestId }: Signed["Service"], request: Omit<ClaimRequest, "nonce">) {
    const claim = nonce.spendWith((use) => idempotency.claim({ ...request, nonce: use }))
    const claiming = yield* Effect.forkIn(claim, scope, { startImmediately: true, uninterruptible: true })
    const releaseLate = Effect.flatMap(Fiber.join(claiming), (taken) =>
      taken._tag === "Fresh" ? idempotency.release(taken.claim) : Effect.void
    )
    const shed = Effect.gen(function* () {
      yield* Effect.logWarning("the key could not be claimed in time")
      yield* Effect.forkIn(releaseLate, scope)
      if (yield* commitsWaiting) return yield* new InternalError({ request_id: requestId })
      return yield* new RateLimited({ scope: "server", retry_after_seconds: SHED_RETRY_AFTER_SECONDS })
    })
    return yield* within(claiming, arrivalMs, shed)
  })
})
