import { Option, Schema } from "effect"
import { decoded as decodedWhere, hearing, type Reading, type Unknown, unbelieved } from "../Reading.ts"
import { type Exchanged, exactJson } from "../Transport.ts"
import { ErrorAnswer } from "./Wire.ts"

/** As corridor rows spell it. */
export const NAME = "mtn"

type Answered = Extract<Exchanged, { _tag: "Answered" }>

/** The body of a 200, where it has the shape that it must have. */
export const decoded = <A>(schema: Schema.ConstraintDecoder<A>, exchanged: Exchanged): Option.Option<A> =>
  decodedWhere(schema, exchanged, (status) => status === 200)

const CODE = /^[A-Z][A-Z_]{1,60}$/

/** An error that MTN itself answered, not something on the way to it. */
const errorOf = (exchanged: Answered) => Option.flatMap(exactJson(exchanged), Schema.decodeUnknownOption(ErrorAnswer))

export const isOwnError = (exchanged: Answered): boolean => Option.isSome(errorOf(exchanged))

export const codeOf = (exchanged: Answered): string | null =>
  errorOf(exchanged).pipe(
    Option.map((error) => ("code" in error ? error.code : "")),
    Option.filter((code) => CODE.test(code)),
    Option.getOrNull
  )

export const noteOf = (exchanged: Answered): string => {
  const code = codeOf(exchanged)
  return `HTTP ${exchanged.status}${code === null ? "" : `, ${code}`}`
}

/** No answer that can be believed. */
export const noAnswer = (exchanged: Exchanged): Reading<Unknown> =>
  unbelieved(exchanged, (answered, reason) => {
    const note = noteOf(answered)
    return { note, alarm: reason === "bad_response" ? `an answer of MTN's cannot be read: ${note}` : null }
  })

export const heard = hearing(NAME)
