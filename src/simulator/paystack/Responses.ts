import type { Redacted } from "effect"
import { json } from "../../domain/Json.ts"
import type { Merchant, MerchantCall } from "../Call.ts"
import { bodyOr, type ErrorResponses, exactBody, response, Stop } from "../Responses.ts"
import type { SimulatedResponse } from "../SimulatedProvider.ts"

/** One integration at Paystack; its live and its test key are two accounts. */
export interface PaystackAccount extends Merchant {
  readonly secretKey: Redacted.Redacted
}

export type Call = MerchantCall<PaystackAccount>

const wire = (status: number, body: object): SimulatedResponse => response(status, "application/json; charset=utf-8", json(body))

export const success = (message: string, data: unknown, meta?: object, status = 200): SimulatedResponse =>
  wire(status, { status: true, message, data, ...(meta === undefined ? {} : { meta }) })

const refusal = (status: number, message: string, fault: { readonly type: string; readonly code: string }): SimulatedResponse =>
  wire(status, { status: false, message, meta: { nextStep: "Read the message" }, ...fault })

export const refuse = (status: number, message: string, code = "invalid_params") =>
  new Stop({ response: refusal(status, message, { type: "validation_error", code }) })

/** Older refusals have no type and no code. */
export const refusePlainly = (status: number, message: string) => new Stop({ response: wire(status, { status: false, message }) })

/** Also accepts a body without a content type. */
export const decodeBody = bodyOr((why) => refuse(400, why), exactBody)

export const shortBalance = refusePlainly(400, "Your balance is not enough to fulfill this request")

const broken = { type: "api_error", code: "unknown" }

export const errors: ErrorResponses = {
  refused: refuse(400, "Sorry, this could not be done at the moment").response,
  pool_short: shortBalance.response,
  no_account: refuse(400, "The account is not known", "invalid_account").response,
  unavailable: refusal(503, "An error occurred", broken),
  broken: refusal(500, "An error occurred", broken)
}

/** In the form of its errors, as documented. */
export const tooMany = refusal(429, "An error occurred", broken)
