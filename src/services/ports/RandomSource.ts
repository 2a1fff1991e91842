import { Context, type Effect } from "effect"
import type { Reference } from "../../domain/Ids.ts"

/** Random references and secrets from the system's cryptographic source. A separate port, so that tests can choose the values. */
export class RandomSource extends Context.Service<
  RandomSource,
  {
    readonly reference: Effect.Effect<Reference>
    readonly secret: (bytes: number) => Effect.Effect<Uint8Array>
  }
>()("gateway/services/ports/RandomSource") {}
