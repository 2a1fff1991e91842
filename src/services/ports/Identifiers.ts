import { Context, type Effect } from "effect"
import type { Reference } from "../../domain/Ids.ts"

/** Randomness that names and guards things; its own port so that tests and simulations can decide it. */
export class Identifiers extends Context.Service<
  Identifiers,
  {
    readonly reference: Effect.Effect<Reference>
    /** `bytes` random bytes for a secret. */
    readonly secret: (bytes: number) => Effect.Effect<Uint8Array>
  }
>()("gateway/services/ports/Identifiers") {}
