import { Effect } from "effect"
import { ChargeRequest } from "../../providers/flutterwave/Wire.ts"
import { page } from "../Answers.ts"
import { endingOf, playOf } from "../Endings.ts"
import { begun, type SimulatedTransaction } from "../Facts.ts"
import { collectionFee } from "../Fees.ts"
import type { SimulatorContext } from "../SimulatedProvider.ts"
import {
  type Call,
  decodeBody,
  deliver,
  iso,
  moneyOf,
  newId,
  number,
  PROVIDER,
  passGate,
  refuse,
  success,
  successWithout
} from "./Call.ts"
import { chargeTypes } from "./Catalogue.ts"

/** POST /charges?type=…: the same tx_ref again is another charge. */
export const createCharge = Effect.fnUntraced(function* (call: Call) {
  const type = chargeTypes.get(call.request.query.get("type") ?? "")
  if (type === undefined) return yield* refuse(400, "type is not supported")
  const request = yield* decodeBody(ChargeRequest, call.request)
  const { amount, currency } = yield* moneyOf(request.amount, request.currency)
  if (!type.currencies.includes(currency)) return yield* refuse(400, "currency is not supported")
  if (!/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(request.email)) return yield* refuse(400, "email is required")
  const phone = request.phone_number.replace(/^\+/, "")
  if (!/^\d{8,15}$/.test(phone) || !type.prefixes.some((prefix) => phone.startsWith(prefix)))
    return yield* refuse(400, "phone_number is invalid")
  for (const name of type.required) if (!request[name]) return yield* refuse(400, `${name} is required`)
  const network = request.network?.toUpperCase()
  if (network !== undefined && !type.networks.includes(network)) return yield* refuse(400, "network is invalid")

  const ending = endingOf(phone)
  yield* passGate(playOf("collection", ending))
  const charge = begun(call.now, {
    provider: PROVIDER,
    account: call.merchant.clientId,
    id: newId(call),
    reference: request.tx_ref,
    kind: "collection",
    awaitsPayer: type.redirects,
    ending,
    currency,
    amount,
    fee: collectionFee(amount),
    detail: {
      phone,
      email: request.email,
      authModel: type.authModel,
      paymentType: type.paymentType,
      redirectTo: request.redirect_url ?? null
    }
  })
  const manner = yield* call.context.accept(charge)
  if (type.redirects) {
    const redirect = `${call.context.origin}/captcha/verify/${charge.id}`
    return successWithout("Charge initiated", { meta: { authorization: { redirect, mode: "redirect" } } })
  }
  const meta = type.authModel === "AUTH" ? { meta: { authorization: { mode: "callback", redirect_url: null } } } : {}
  return deliver(manner, success("Charge initiated", chargeData(charge), meta))
})

/** GET /captcha/verify/{id}: the page that the payer is sent to. Visiting it pays, once. */
export const visitPage = Effect.fnUntraced(function* (context: SimulatorContext, id: string, claim: (key: string) => boolean) {
  const charge = context.account.transaction(PROVIDER, id)
  if (charge === undefined) return yield* refuse(404, "Not found")
  const done = paidPage(charge.detail.redirectTo ?? "")
  if (!charge.awaitsPayer || !claim(id)) return done
  return deliver(yield* context.completeByPayer(charge), done)
})

const paidPage = (back: string) => page(`<p>Payment completed</p><a href="${back.replace(/[&"<>]/g, "")}">Back to the shop</a>`)

/** One charge, as every answer and callback writes it. What the payer took back stays successful: chargebacks are told elsewhere. */
export const chargeData = (charge: SimulatedTransaction, status = charge.status) => {
  const { amount, currency, detail, fee } = charge
  return {
    id: Number(charge.id),
    tx_ref: charge.reference,
    flw_ref: `FLW${charge.id}`,
    device_fingerprint: "N/A",
    amount: number(amount, currency),
    charged_amount: number(amount, currency),
    app_fee: number(fee, currency),
    merchant_fee: 0,
    processor_response: charge.reason ?? (status === "pending" ? "Transaction in progress" : "Successful"),
    auth_model: detail.authModel,
    currency,
    ip: "::127.0.0.1",
    narration: "Gateway",
    status,
    payment_type: detail.paymentType,
    created_at: iso(charge.createdAt),
    account_id: 20937,
    customer: { id: 1998111, phone_number: detail.phone, name: "Anonymous customer", email: detail.email }
  }
}
