import type { Effect } from "effect"
import type { MinorUnits } from "../../domain/Money.ts"
import type { Wallet } from "../../providers/wave/Client.ts"
import { CURRENCY } from "../../providers/wave/Networks.ts"
import type { Merchant, MerchantCall } from "../Call.ts"
import { bodyOr, decimalOr, type ErrorResponses, jsonAs, response, Stop } from "../Responses.ts"
import type { SimulatedResponse } from "../SimulatedProvider.ts"

/** An account, and the wallet that a call's key belongs to. */
export interface WalletMerchant extends Merchant {
  readonly wallet: Wallet
}

export type Call = MerchantCall<WalletMerchant>

export const json = jsonAs("application/json")

/** A response without a body. */
export const nothing: SimulatedResponse = response(200, "application/json", "")

export const refuse = (status: number, code: string, message: string): Stop =>
  new Stop({ response: json(status, { code, message }) })

/** A refusal of a payout itself, which is written differently from one of its request. */
export const refusePayout = (status: number, error_code: string, error_message: string): Stop =>
  new Stop({ response: json(status, { error_code, error_message }) })

export const shortWallet = refusePayout(422, "insufficient-funds", "Insufficient funds in wallet.")

const invalid = (why: string): Stop =>
  new Stop({
    response: json(422, {
      code: "request-validation-error",
      message: "Request invalid",
      details: [{ loc: ["body"], msg: why, type: "value_error" }]
    })
  })

export const decodeBody = bodyOr(invalid)

export const amountOf = (text: string): Effect.Effect<MinorUnits, Stop> => decimalOr(text, CURRENCY, invalid("amount is invalid"))

export const invalidKey = invalid("Idempotency-Key is required")

/** A payout that cannot be delivered is accepted, and fails immediately. */
export const errors: ErrorResponses = {
  refused: invalid("the number is not valid").response,
  pool_short: shortWallet.response,
  unavailable: refuse(503, "service-unavailable", "Service is temporarily unavailable.").response,
  broken: refuse(500, "internal-server-error", "An unknown error occurred.").response
}

export const tooMany = refuse(429, "too-many-requests", "You have made too many requests.").response
