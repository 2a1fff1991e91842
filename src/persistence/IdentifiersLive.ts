import { randomBytes } from "node:crypto"
import { Effect, Layer } from "effect"
import { referenceFrom } from "../domain/Ids.ts"
import { Identifiers } from "../services/ports/Identifiers.ts"
import { randomAhead } from "./RandomAhead.ts"

const REFERENCE_BYTES = 26
const referenceBytes = randomAhead(REFERENCE_BYTES)

/** The operating system's randomness. */
export const IdentifiersLive = Layer.succeed(
  Identifiers,
  Identifiers.of({
    reference: Effect.sync(() => referenceFrom(referenceBytes())),
    secret: (bytes) => Effect.sync(() => new Uint8Array(randomBytes(bytes)))
  })
)
