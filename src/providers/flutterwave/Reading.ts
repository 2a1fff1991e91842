import { Option, Schema } from "effect"
import { alarmLogger, noAnswerOf, notAdmittedBy, type Reading, type Unknown } from "../Reading.ts"
import { exactJson, type ProviderResponse } from "../Transport.ts"
import { ErrorAnswer } from "./Wire.ts"

/** As corridor rows spell it. */
export const NAME = "flutterwave"

/** The HTTP status of a refusal in Flutterwave's own words; what a machine in between may have written is none. */
export const refusalStatus = (response: ProviderResponse): number | undefined =>
  response._tag === "Answered" && Option.isSome(Option.flatMap(exactJson(response), decodeError)) ? response.status : undefined

const decodeError = Schema.decodeUnknownOption(ErrorAnswer)

/** A text alone says that our reference is used, and it is read for one thing: such a refusal is never believed, found or not. */
export const isDuplicate = (response: ProviderResponse): boolean => {
  const error = response._tag === "Answered" ? Option.getOrUndefined(Option.flatMap(exactJson(response), decodeError)) : undefined
  return /\b(duplicate|already exists?)\b/i.test(error?.message ?? "")
}

export const duplicate: Reading<Unknown> = {
  fact: { _tag: "Unknown", reason: "bad_response", note: "the reference is used there, and nothing was found by it yet" },
  alarm: "Flutterwave has our reference already, and does not find it"
}

const NOT_ADMITTED = "Flutterwave refuses the gateway's account or its address"

/** Our secret key, or the address that the calls come from. */
export const notAdmitted = notAdmittedBy(NOT_ADMITTED)

/** No answer that can be believed. */
export const noAnswer = noAnswerOf("Flutterwave", NOT_ADMITTED)

export const logAlarm = alarmLogger(NAME)
