import { Option, Schema } from "effect"
import { Reference } from "../../src/domain/Ids.ts"
import type { Hint } from "./Movement.ts"

// A provider's word, as the bytes that its callback brings.

const HintBody = Schema.fromJsonString(Schema.Struct({ reference: Reference, genuine: Schema.Boolean, serial: Schema.Number }))
export const callbackOf = ({ genuine, reference, serial }: Hint) => ({
  method: "POST",
  path: "/",
  headers: {},
  body: Buffer.from(JSON.stringify({ reference, genuine, serial }))
})

/** Nothing where nobody believes it. */
export const readHint = (body: string, isBelieved: boolean) =>
  Schema.decodeUnknownOption(HintBody)(body).pipe(
    Option.filter(({ genuine }) => genuine || isBelieved),
    Option.map(({ reference }) => ({ reference, providerReference: null }))
  )
