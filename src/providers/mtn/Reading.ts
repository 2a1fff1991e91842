import { Option, Schema } from "effect"
import { alarmLogger, decoded as decodedWhere, type Reading, type Unknown, unknownOutcome } from "../Reading.ts"
import { exactJson, type ProviderResponse } from "../Transport.ts"
import { ErrorAnswer } from "./Wire.ts"

/** As corridor rows spell it. */
export const NAME = "mtn"

type Answered = Extract<ProviderResponse, { _tag: "Answered" }>

/** The body of a 200, where it has the shape that it must have. */
export const decoded = <A>(schema: Schema.ConstraintDecoder<A>, response: ProviderResponse): Option.Option<A> =>
  decodedWhere(schema, response, (status) => status === 200)

const CODE = /^[A-Z][A-Z_]{1,60}$/

/** An error that MTN itself answered, not something on the way to it. */
const errorOf = (response: Answered) => Option.flatMap(exactJson(response), Schema.decodeUnknownOption(ErrorAnswer))

export const isOwnError = (response: Answered): boolean => Option.isSome(errorOf(response))

export const codeOf = (response: Answered): string | null =>
  errorOf(response).pipe(
    Option.map((error) => ("code" in error ? error.code : "")),
    Option.filter((code) => CODE.test(code)),
    Option.getOrNull
  )

export const noteOf = (response: Answered): string => {
  const code = codeOf(response)
  return `HTTP ${response.status}${code === null ? "" : `, ${code}`}`
}

/** No answer that can be believed. */
export const noAnswer = (response: ProviderResponse): Reading<Unknown> =>
  unknownOutcome(response, (answered, reason) => {
    const note = noteOf(answered)
    return { note, alarm: reason === "bad_response" ? `an answer of MTN's cannot be read: ${note}` : null }
  })

export const logAlarm = alarmLogger(NAME)
