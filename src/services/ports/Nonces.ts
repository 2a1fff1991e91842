import { Context, type Effect } from "effect"
import type { Instant } from "../../domain/Instant.ts"
import type { Caller } from "../../domain/Tenant.ts"

/** The nonce of a request whose signature was verified, and until when all nodes remember it as spent. */
export interface NonceUse {
  readonly caller: Caller
  readonly nonce: string
  readonly expiresAt: Instant
}

/**
 * Nonces of signed requests, shared by all nodes. Exactly one request spends a nonce. When the outcome of that commit is
 * unknown, the request dies rather than risk passing twice. A nonce is forgotten once it has expired, when its request's
 * timestamp is too old to be accepted.
 *
 * A request that claims an idempotency key spends its nonce in the same commit: `Idempotency.claim`.
 */
export class Nonces extends Context.Service<
  Nonces,
  {
    /** Spends a nonce for all nodes; false when it was spent before. Call it only after the signature was verified. */
    readonly spend: (use: NonceUse) => Effect.Effect<boolean>
    /** Removes up to `limit` expired nonces. Returns the number removed. */
    readonly prune: (now: Instant, limit: number) => Effect.Effect<number>
  }
>()("gateway/services/ports/Nonces") {}
