import { randomBytes } from "node:crypto"
import { Effect, Layer } from "effect"
import { referenceFrom } from "../domain/Ids.ts"
import { Identifiers } from "../services/ports/Identifiers.ts"

const REFERENCE_BYTES = 26
/** Asked of the operating system at once: a request needs several references, and each question costs more than its bytes. */
const AHEAD_BYTES = REFERENCE_BYTES * 128

/** Bytes that nobody had before; what was given out is overwritten at once. */
const ahead = () => {
  let bytes = Buffer.alloc(0)
  return (): Uint8Array => {
    if (bytes.length === 0) bytes = randomBytes(AHEAD_BYTES)
    const given = Uint8Array.from(bytes.subarray(0, REFERENCE_BYTES))
    bytes.fill(0, 0, REFERENCE_BYTES)
    bytes = bytes.subarray(REFERENCE_BYTES)
    return given
  }
}
const referenceBytes = ahead()

/** The operating system's randomness. */
export const IdentifiersLive = Layer.succeed(
  Identifiers,
  Identifiers.of({
    reference: Effect.sync(() => referenceFrom(referenceBytes())),
    secret: (bytes) => Effect.sync(() => Uint8Array.from(randomBytes(bytes)))
  })
)
