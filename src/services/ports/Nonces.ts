import { Context, type Effect } from "effect"
import type { Instant } from "../../domain/Instant.ts"
import type { Caller } from "../../domain/Tenant.ts"

/**
 * Nonces of signed requests, shared by all nodes. Exactly one request spends a nonce. Where the answer to that commit is lost, the request dies
 * rather than pass twice. A nonce is forgotten after it expires, when its timestamp is refused anyway.
 */
export class Nonces extends Context.Service<
  Nonces,
  {
    /** Spends a nonce for all nodes until `expiresAt`; false when it was spent before. Only ever called for a verified signature. */
    readonly spend: (caller: Caller, nonce: string, expiresAt: Instant) => Effect.Effect<boolean>
    /** Removes up to `limit` expired ones and says how many. */
    readonly prune: (now: Instant, limit: number) => Effect.Effect<number>
  }
>()("gateway/services/ports/Nonces") {}
