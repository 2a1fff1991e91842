import { Effect, Schema } from "effect"
import { places } from "../../providers/wave/Networks.ts"
import { IDEMPOTENCY_KEY } from "../../providers/wave/Wire.ts"
import { create, newDigits, ownTransactions } from "../Call.ts"
import { endingOf, playOf } from "../Endings.ts"
import { payoutFee } from "../Fees.ts"
import { Stop } from "../Responses.ts"

import { amountOf, type Call, decodeBody, errors, invalidKey, json, refusePayout, shortWallet } from "./Responses.ts"
import { walletBalance } from "./Statements.ts"
import { current, payoutData } from "./Transactions.ts"

export const WholeAmount = Schema.String.check(Schema.isPattern(/^[1-9]\d{0,17}$/))
export const Mobile = Schema.String.check(Schema.isPattern(/^\+\d{8,15}$/))
const LONGEST_TEXT = 255
export const Short = Schema.String.check(Schema.isMaxLength(LONGEST_TEXT))
const LONGEST_REASON = 40

const PayoutRequest = Schema.Struct({
  currency: Schema.String,
  receive_amount: WholeAmount,
  mobile: Mobile,
  name: Schema.optionalKey(Short),
  national_id: Schema.optionalKey(Short),
  payment_reason: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(LONGEST_REASON))),
  client_reference: Schema.optionalKey(Short),
  aggregated_merchant_id: Schema.optionalKey(Schema.String)
})

/** POST /v1/payout: decided in its response. A key with the same body is the same payout; with another it is refused. */
export const createPayout = Effect.fnUntraced(function* (call: Call) {
  const { merchant, request } = call
  const { aggregatedMerchant, country, currency } = merchant.wallet
  const key = request.header(IDEMPOTENCY_KEY) ?? ""
  if (key === "" || key.length > LONGEST_TEXT) return yield* invalidKey
  const earlier = ownTransactions(call, "payout").find(({ detail }) => detail.key === key && detail.country === country)
  if (earlier !== undefined) {
    if (earlier.detail.body !== request.body)
      return yield* refusePayout(409, "idempotency-mismatch", "The idempotency key was used with another request.")
    return json(200, payoutData(earlier))
  }
  const wanted = yield* decodeBody(PayoutRequest, request)
  if (wanted.currency !== currency) return yield* refusePayout(400, "currency-mismatch", "The wallet has another currency.")
  if ((wanted.aggregated_merchant_id ?? null) !== aggregatedMerchant)
    return yield* refusePayout(400, "invalid-aggregated-merchant-id", "There is no such aggregated merchant.")
  if (!wanted.mobile.startsWith(places[country].phonePrefix))
    return yield* refusePayout(400, "country-mismatch", "The recipient is in another country.")
  const amount = yield* amountOf(wanted.receive_amount)
  const fee = payoutFee(currency, "momo", amount)
  const ending = endingOf(wanted.mobile)
  const { gate, outcome } = playOf("payout", ending)
  const payout = {
    id: `pt-${newDigits(call)}`,
    reference: wanted.client_reference ?? null,
    kind: "payout",
    ending,
    currency,
    amount,
    fee,
    feeReturns: true,
    ...(gate === "no_account" ? ({ status: "failed", reason: INACTIVE } as const) : {}),
    ...(outcome === "successful" ? ({ decidedAtOnce: true } as const) : {}),
    once: { key: `${merchant.clientId}/${country}/${key}`, refusal: new Stop({ response: errors.broken }) },
    detail: {
      country,
      key,
      body: request.body,
      mobile: wanted.mobile,
      name: wanted.name ?? null,
      paymentReason: wanted.payment_reason ?? null,
      failure: gate === "no_account" ? INACTIVE : null
    }
  } as const
  if (gate === "open" && amount + fee > walletBalance(call)) return yield* shortWallet
  return yield* create(call, payout, (made) => json(200, payoutData(current(call, made))))
})

const INACTIVE = "recipient-account-inactive"
