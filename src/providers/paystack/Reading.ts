import { Option, Schema } from "effect"
import type { Fact } from "../../domain/Fact.ts"
import { alarmLogger, noAnswerOf, notAdmittedBy, type Reading, type Unknown, withoutAlarm } from "../Reading.ts"
import { exactJson, type ProviderResponse } from "../Transport.ts"
import { ErrorAnswer } from "./Wire.ts"

/** As corridor rows spell it. */
export const NAME = "paystack"

export type NotFound = Extract<Fact, { _tag: "NotFound" }>

const NOT_ADMITTED = "Paystack refuses the gateway's key or its address"

/** Our key or our address: nothing was executed. */
export const notAdmitted = notAdmittedBy(NOT_ADMITTED)

const decodeError = Schema.decodeUnknownOption(ErrorAnswer)

/** A refusal in Paystack's own form; a page of something before it is none. */
export const errorOf = (response: ProviderResponse): typeof ErrorAnswer.Type | undefined =>
  response._tag === "Answered" ? Option.getOrUndefined(Option.flatMap(exactJson(response), decodeError)) : undefined

/** Paystack itself says that it has nothing by our reference: 404, or 400 with the code for that. */
export const notFound = (response: ProviderResponse): Reading<NotFound> | undefined => {
  const error = errorOf(response)
  if (response._tag !== "Answered" || error === undefined) return undefined
  const isAbsent = response.status === 404 || (response.status === 400 && error.code === "transaction_not_found")
  return isAbsent ? withoutAlarm({ _tag: "NotFound", note: "nothing by our reference" }) : undefined
}

/**
 * An earlier arrival of the same request took the reference. Only texts say so, and they are read for one thing: such a refusal is never
 * believed, found or not.
 */
export const isDuplicate = (response: ProviderResponse): boolean =>
  /\b(duplicate|already exists|unique reference)\b/i.test(errorOf(response)?.message ?? "")

export const duplicate: Reading<Unknown> = {
  fact: { _tag: "Unknown", reason: "bad_response", note: "the reference is used there, and nothing was found by it yet" },
  alarm: "Paystack has our reference already, and does not find it"
}

/** No answer that can be believed. */
export const noAnswer = noAnswerOf("Paystack", NOT_ADMITTED)

export const logAlarm = alarmLogger(NAME)
