import { randomBytes } from "node:crypto"
import { Effect, Layer } from "effect"
import { referenceFrom } from "../domain/Ids.ts"
import { Identifiers } from "../services/ports/Identifiers.ts"

const REFERENCE_BYTES = 26

/** The operating system's randomness. */
export const IdentifiersLive = Layer.succeed(
  Identifiers,
  Identifiers.of({
    reference: Effect.sync(() => referenceFrom(randomBytes(REFERENCE_BYTES))),
    secret: (bytes) => Effect.sync(() => Uint8Array.from(randomBytes(bytes)))
  })
)
