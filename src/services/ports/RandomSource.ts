import { Context, type Effect } from "effect"
import type { Reference } from "../../domain/Ids.ts"

/** Random references and secrets from the system's cryptographic source. A port of its own, so that tests can choose what it returns. */
export class RandomSource extends Context.Service<
  RandomSource,
  {
    readonly reference: Effect.Effect<Reference>
    readonly secret: (bytes: number) => Effect.Effect<Uint8Array>
  }
>()("gateway/services/ports/RandomSource") {}
