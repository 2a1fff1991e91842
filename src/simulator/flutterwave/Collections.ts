import { Effect } from "effect"
import { ChargeRequest } from "../../providers/flutterwave/Wire.ts"
import { create, newDigits } from "../Call.ts"
import { endingOf } from "../Endings.ts"
import { collectionFee } from "../Fees.ts"
import { chargeTypes } from "./Catalogue.ts"
import { type Call, decodeBody, moneyOf, refuse, success, successWithout } from "./Responses.ts"
import { chargeData } from "./Transactions.ts"

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

  const { authModel, paymentType } = type
  const charge = {
    id: newDigits(call),
    reference: request.tx_ref,
    kind: "collection",
    awaitsPayer: type.redirects,
    ending: endingOf(phone),
    currency,
    amount,
    fee: collectionFee(amount),
    detail: { phone, email: request.email, authModel, paymentType, redirectTo: request.redirect_url ?? null }
  } as const
  return yield* create(call, charge, (created) => {
    if (created.awaitsPayer) {
      const redirect = `${call.context.origin}/captcha/verify/${created.id}`
      return successWithout("Charge initiated", { meta: { authorization: { redirect, mode: "redirect" } } })
    }
    const meta = authModel === "AUTH" ? { meta: { authorization: { mode: "callback", redirect_url: null } } } : {}
    return success("Charge initiated", chargeData(created), meta)
  })
})
