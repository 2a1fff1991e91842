import { Schema } from "effect"

/** A tenant's name, part of every key and path of its data. */
export const AppId = Schema.String.check(Schema.isPattern(/^[a-z0-9_-]{1,40}$/u)).pipe(Schema.brand("AppId"))
export type AppId = typeof AppId.Type

const REFERENCE = /^[0-9ABCDEFGHJKMNPQRSTVWXYZ]{26}$/u

/** The handle of a transaction, an exchange or an event: 26 Crockford base32 characters that look random (ReferenceBucket). */
export const Reference = Schema.String.check(Schema.isPattern(REFERENCE)).pipe(Schema.brand("Reference"))
export type Reference = typeof Reference.Type
/** By the pattern alone, because every text of a masked provider call is asked. */
export const isReference = (text: unknown): text is Reference => typeof text === "string" && REFERENCE.test(text)
/** For descriptions: no transaction has this reference. */
export const EXAMPLE_REFERENCE = "040BVG387GZAXPSHV61R95KJ3J"

export const Mode = Schema.Literals(["live", "test"])
export type Mode = typeof Mode.Type

/** Crockford's base32 alphabet. */
export const ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
const REFERENCE_LENGTH = 26

/** A reference from at least 26 bytes, random or a keyed hash; five bits of each are used. */
export const referenceFrom = (bytes: Uint8Array): Reference => {
  let text = ""
  for (const byte of bytes.subarray(0, REFERENCE_LENGTH)) text += ALPHABET.charAt(byte & 31)
  return Reference.make(text)
}
