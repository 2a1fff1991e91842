import type { CountryAccount } from "../../providers/mtn/Client.ts"
import type { Product } from "../../providers/mtn/Wire.ts"
import type { Merchant, MerchantCall } from "../Call.ts"
import { bodyOr, type ErrorResponses, jsonAs, response, Stop } from "../Responses.ts"
import type { SimulatedResponse } from "../SimulatedProvider.ts"

/** An account, and the product and country that its call is for. */
export interface ProductMerchant extends Merchant {
  readonly product: Product
  readonly country: CountryAccount
}

export type Call = MerchantCall<ProductMerchant>

export const json = jsonAs("application/json;charset=utf-8")

/** 202 with an empty body. */
export const accepted: SimulatedResponse = response(202, "application/json", "")

export const refuse = (status: number, code: string, message: string): Stop =>
  new Stop({ response: json(status, { code, message }) })

/** The API gateway in front of MTN has no codes. */
export const turnAway = (statusCode: number, message: string): Stop =>
  new Stop({ response: json(statusCode, { statusCode, message }) })

export const decodeBody = bodyOr((why) => refuse(400, "BAD_REQUEST", why))

/** MTN accepts a movement that it will fail for lack of money or of an account. */
export const errors: ErrorResponses = {
  refused: refuse(400, "BAD_REQUEST", "The request could not be processed.").response,
  unavailable: refuse(503, "SERVICE_UNAVAILABLE", "Service temporarily unavailable, try again later.").response,
  broken: refuse(500, "INTERNAL_PROCESSING_ERROR", "An internal error occurred while processing.").response
}

/** The API gateway limits the rate, not MTN behind it. */
export const tooMany = turnAway(429, "Rate limit is exceeded. Try again in 1 seconds.").response
