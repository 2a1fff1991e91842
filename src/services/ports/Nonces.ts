import { Context, type Effect } from "effect"
import type { Instant } from "../../domain/Instant.ts"
import type { Caller } from "../../domain/Tenant.ts"

export class Nonces extends Context.Service<
  Nonces,
  {
    /** Spends a nonce for all nodes until `expiresAt`; false when it was spent before. Only ever called for a verified signature. */
    readonly spend: (caller: Caller, nonce: string, expiresAt: Instant) => Effect.Effect<boolean>
    /** Removes up to `limit` expired ones and says how many. */
    readonly prune: (now: Instant, limit: number) => Effect.Effect<number>
  }
>()("gateway/services/ports/Nonces") {}
