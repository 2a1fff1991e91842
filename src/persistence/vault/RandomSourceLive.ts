import { randomBytes } from "node:crypto"
import { Effect, Layer } from "effect"
import { referenceFrom } from "../../domain/Ids.ts"
import { RandomSource } from "../../services/ports/RandomSource.ts"

const REFERENCE_BYTES = 26
/** How many references' bytes are read from the operating system at once, because a read costs more than its bytes. */
const REFERENCES_A_READ = 128

/** Random bytes for one reference after another, read ahead. Each is used once and overwritten at once. */
const makeReferenceBytes = (): (() => Uint8Array) => {
  let supply = Buffer.alloc(0)
  return () => {
    if (supply.length === 0) supply = randomBytes(REFERENCE_BYTES * REFERENCES_A_READ)
    const bytes = new Uint8Array(supply.subarray(0, REFERENCE_BYTES))
    supply.fill(0, 0, REFERENCE_BYTES)
    supply = supply.subarray(REFERENCE_BYTES)
    return bytes
  }
}

const referenceBytes = makeReferenceBytes()

/** RandomSource from the operating system. */
export const RandomSourceLive = Layer.succeed(
  RandomSource,
  RandomSource.of({
    reference: Effect.sync(() => referenceFrom(referenceBytes())),
    secret: (bytes) => Effect.sync(() => new Uint8Array(randomBytes(bytes)))
  })
)
