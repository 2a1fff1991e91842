import { Effect, type Redacted } from "effect"
import { isCurrency } from "../../domain/Currency.ts"
import { json as exactJson } from "../../domain/Json.ts"
import type { Merchant, MerchantCall } from "../Call.ts"
import { bodyOr, decimalOr, type ErrorResponses, exactBody, response, Stop } from "../Responses.ts"
import type { SimulatedResponse } from "../SimulatedProvider.ts"

/** At Flutterwave the key identifies the account. */
export interface FlutterwaveAccount extends Merchant {
  readonly secretKey: Redacted.Redacted
  readonly webhookSecretHash: Redacted.Redacted
}

export type Call = MerchantCall<FlutterwaveAccount>

const json = (status: number, body: object): SimulatedResponse =>
  response(status, "application/json; charset=utf-8", exactJson(body))

export const success = (message: string, data: unknown, more: object = {}): SimulatedResponse =>
  json(200, { status: "success", message, data, ...more })

/** A response without `data`, as for a charge that continues on a page. */
export const successWithout = (message: string, more: object): SimulatedResponse =>
  json(200, { status: "success", message, ...more })

const refusal = (status: number, message: string): SimulatedResponse => json(status, { status: "error", message, data: null })
export const refuse = (status: number, message: string) => new Stop({ response: refusal(status, message) })

export const decodeBody = bodyOr((why) => refuse(400, why), exactBody)

/** The requested amount in major units, exactly. */
export const moneyOf = Effect.fnUntraced(function* (amount: string, currency: string) {
  if (!isCurrency(currency)) return yield* refuse(400, "currency is not supported")
  const invalid = refuse(400, "amount is invalid")
  const units = yield* decimalOr(amount, currency, invalid)
  return units === 0n ? yield* invalid : { amount: units, currency }
})

/** A wallet that is too small is reported later. */
export const errors: ErrorResponses = {
  refused: refusal(400, "phone_number is required"),
  no_account: refusal(400, "Sorry, that account number is invalid, please check and try again"),
  // Flutterwave's answer to a request that takes it too long.
  unavailable: refusal(503, "An error occurred. Please contact support"),
  broken: refusal(500, "An error occurred")
}

/** The documents give the status, but no text. */
export const tooMany = refusal(429, "Too many requests")
