import type { PaymentKind } from "../../domain/Payment.ts"
import type { CountryAccount } from "../../providers/airtel/Client.ts"
import type { Merchant, MerchantCall } from "../Call.ts"
import { bodyOr, type ErrorResponses, jsonAs, rawBody, response, Stop } from "../Responses.ts"
import type { SimulatedResponse } from "../SimulatedProvider.ts"

/** An application, and the country that its call is for. */
export interface CountryMerchant extends Merchant {
  readonly country: CountryAccount
}

export type Call = MerchantCall<CountryMerchant>

const labelled = jsonAs("application/json;charset=UTF-8")
export const json = (body: unknown, status = 200): SimulatedResponse => labelled(status, body)

interface Codes {
  readonly response_code?: string
  readonly result_code?: string
}

export const succeeded = ({ response_code = "", result_code = "ESB000010" }: Codes, message = "SUCCESS") => ({
  code: "200",
  message,
  result_code,
  response_code,
  success: true
})

/** A refusal has HTTP status 200 and names no transaction. */
export const refuse = (codes: Codes, message: string, transaction: object = { id: false, status: message }): Stop =>
  new Stop({ response: json({ data: { transaction }, status: { code: "400", message, ...codes, success: false } }) })

/** A refusal by the machine in front of Airtel's own. */
export const turnAway = (code: string, message: string): Stop =>
  new Stop({ response: json({ status: { code: "400", message, response_code: code, success: false } }) })

/** In the token endpoint's own form. */
export const unauthorized = (error: string, description: string, status = 401): Stop =>
  new Stop({ response: json({ error, error_description: description }, status) })

export const decodeBody = bodyOr((why) => turnAway("ROUTER003", `Required parameter is missing or wrong: ${why}`), rawBody)

const broken = response(500, "application/json", '{"status":{"code":"500","message":"Internal Server Error","success":false}}')
const unavailable = response(503, "application/json", '{"status":{"code":"503","message":"Service Unavailable","success":false}}')

export const errors: Readonly<Record<PaymentKind, ErrorResponses>> = {
  collection: {
    refused: refuse({ response_code: "DP00800001008" }, "Transaction Refused").response,
    no_account: refuse({ response_code: "DP00800001005" }, "Msisdn Not Found").response,
    unavailable,
    broken
  },
  payout: {
    refused: refuse({ response_code: "DP00900001013" }, "Transaction Refused").response,
    pool_short: refuse({ response_code: "DP00900001007" }, "Insufficient Funds", { status: "TF" }).response,
    no_account: refuse({ response_code: "DP00900001012" }, "Invalid Mobile Number", { status: "TF" }).response,
    unavailable,
    broken
  }
}

export const tooMany = response(
  429,
  "application/json",
  '{"status":{"code":"429","message":"Too many requests","success":false}}'
)
