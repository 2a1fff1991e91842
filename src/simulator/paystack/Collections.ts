import { Effect, Result } from "effect"
import { isCurrency } from "../../domain/Currency.ts"
import { fromSubunits } from "../../providers/paystack/Amounts.ts"
import * as Wire from "../../providers/paystack/Wire.ts"
import { create, newDigits } from "../Call.ts"
import { endingOf } from "../Endings.ts"
import type { SimulatedTransaction } from "../Facts.ts"
import { collectionFee } from "../Fees.ts"
import { withFault } from "../Responses.ts"
import { currencyOfProvider, isPhone, promptOf } from "./Catalogue.ts"
import { type Call, decodeBody, errors, refuse, refusePlainly, success } from "./Responses.ts"
import { accountReference, chargeOf, findBy, isAbandoned } from "./Transactions.ts"

/** The only right voucher. */
const VOUCHER = "123456"
const REFERENCE = /^[A-Za-z0-9.=_-]{1,100}$/
const EMAIL = /^[^\s@]+@[^\s@]+\.[^\s@]+$/

/** POST /charge */
export const createCharge = Effect.fnUntraced(function* (call: Call) {
  const request = yield* decodeBody(Wire.ChargeRequest, call.request)
  const { amount, currency, prompt } = yield* checkRequest(request)
  const id = newDigits(call)
  const reference = request.reference ?? `t${id}`
  if (!REFERENCE.test(reference)) return yield* refuse(400, "Transaction reference is invalid")
  const duplicate = refusePlainly(400, "Duplicate Transaction Reference")
  if (findBy(call, "collection", reference) !== undefined) return yield* duplicate

  const charge = {
    id,
    reference: accountReference(reference),
    kind: "collection",
    awaitsPayer: prompt !== "handset",
    ending: endingOf(request.mobile_money.phone),
    once: { key: `charge/${call.merchant.clientId}/${reference}`, refusal: duplicate },
    currency,
    amount,
    fee: collectionFee(amount),
    detail: { reference, requested: request.amount, prompt, email: request.email }
  } as const
  return yield* create(call, charge, (created) => success("Charge attempted", chargeState(call, created, "pay_offline")))
})

const checkRequest = Effect.fnUntraced(function* (request: typeof Wire.ChargeRequest.Type) {
  const { amount, email, mobile_money } = request
  const currency = request.currency ?? currencyOfProvider(mobile_money.provider)
  if (!EMAIL.test(email)) return yield* refuse(400, "Invalid Email Address Passed")
  if (!isCurrency(currency)) return yield* refuse(400, "Currency not supported by merchant", "unsupported_currency")
  if (!isPhone(currency, mobile_money.phone)) return yield* refuse(400, "Invalid phone number")
  const prompt = promptOf(currency, mobile_money.provider)
  if (prompt === undefined) return yield* refuse(400, "Mobile money provider not supported")
  const units = fromSubunits(amount, currency)
  return Result.isFailure(units)
    ? yield* refuse(400, "Invalid Amount Sent", "invalid_amount")
    : { amount: units.success, currency, prompt }
})

/** A charge as the Charge API words it; `waiting` while the payer acts on the handset. */
const chargeState = ({ context, now }: Call, charge: SimulatedTransaction, waiting: "pay_offline" | "pending"): object => {
  const whole = chargeOf(charge, now)
  const { reference } = whole
  if (charge.status !== "pending" || isAbandoned(charge, now)) return whole
  if (!charge.awaitsPayer)
    return { reference, status: waiting, display_text: "Please complete authorization process on your mobile phone" }
  return charge.detail.prompt === "voucher"
    ? { reference, status: "send_otp", display_text: "Please dial *110# to make a voucher code, and give it here" }
    : { reference, status: "open_url", url: `${context.origin}/pay/${charge.id}` }
}

/** GET /charge/{reference} */
export const checkCharge = Effect.fnUntraced(function* (call: Call, reference: string) {
  const charge = findBy(call, "collection", reference)
  if (charge === undefined) return yield* refuse(400, "Transaction reference not found.", "transaction_not_found")
  return success("Reference check successful", chargeState(call, charge, "pending"))
})

/** POST /charge/submit_otp */
export const submitOtp = Effect.fnUntraced(function* (call: Call) {
  const { otp, reference } = yield* decodeBody(Wire.SubmitOtpRequest, call.request)
  const charge = findBy(call, "collection", reference)
  if (charge === undefined) return yield* refuse(400, "Transaction reference not found.", "transaction_not_found")
  if (!charge.awaitsPayer || charge.detail.prompt !== "voucher" || isAbandoned(charge, call.now))
    return yield* refusePlainly(400, "Charge does not wait for an OTP")
  if (otp !== VOUCHER || !call.claim(`voucher/${charge.id}`))
    return yield* refusePlainly(400, "Provided registration token is invalid")
  const fault = yield* call.context.completeByPayer(charge)
  const completed = { ...charge, awaitsPayer: false }
  return withFault(errors, fault, success("Charge attempted", chargeState(call, completed, "pay_offline")))
})
