import { Context, type Effect } from "effect"
import type { Instant } from "../../domain/Instant.ts"
import type { Caller } from "../../domain/Tenant.ts"

/** The nonce of a request whose signature was verified, and until when all nodes remember that it was spent. */
export interface NonceUse {
  readonly caller: Caller
  readonly nonce: string
  readonly expiresAt: Instant
}

/**
 * Nonces of signed requests, shared by all nodes. Exactly one request spends a nonce. Where the answer to that commit is lost, the request dies
 * rather than pass twice. A nonce is forgotten after it expires, when its timestamp is refused anyway.
 *
 * A request that claims an idempotency key spends its nonce in the same commit: `Idempotency.claim`.
 */
export class Nonces extends Context.Service<
  Nonces,
  {
    /** Spends a nonce for all nodes; false when it was spent before. Only ever called for a verified signature. */
    readonly spend: (use: NonceUse) => Effect.Effect<boolean>
    /** Removes up to `limit` expired ones and says how many. */
    readonly prune: (now: Instant, limit: number) => Effect.Effect<number>
  }
>()("gateway/services/ports/Nonces") {}
