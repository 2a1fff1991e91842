import { Clock, Effect, Schema } from "effect"
import { byId, create, newDigits } from "../Call.ts"
import { type Ending, endingOf, playOf } from "../Endings.ts"
import { collectionFee } from "../Fees.ts"
import { Mobile, Short, WholeAmount } from "./Payouts.ts"
import { amountOf, type Call, decodeBody, json, nothing, refuse } from "./Responses.ts"
import { isOfWallet, sessionData } from "./Transactions.ts"

const Page = Schema.String.check(Schema.isPattern(/^https:\/\/\S+$/))

const SessionRequest = Schema.Struct({
  amount: WholeAmount,
  currency: Schema.String,
  success_url: Page,
  error_url: Page,
  client_reference: Schema.optionalKey(Short),
  restrict_payer_mobile: Schema.optionalKey(Mobile),
  aggregated_merchant_id: Schema.optionalKey(Schema.String)
})

/** The payer does not pay. */
const NOBODY_PAYS: Ending = "0002"

/** POST /v1/checkout/sessions: the same client_reference again is another session. */
export const createSession = Effect.fnUntraced(function* (call: Call) {
  const { country, currency } = call.merchant.wallet
  const wanted = yield* decodeBody(SessionRequest, call.request)
  if (wanted.currency !== currency) return yield* refuse(400, "currency-mismatch", "The wallet has another currency.")
  const amount = yield* amountOf(wanted.amount)
  const mobile = wanted.restrict_payer_mobile ?? ""
  const chosen = endingOf(mobile)
  const session = {
    id: `cos-${newDigits(call)}`,
    reference: wanted.client_reference ?? null,
    kind: "collection",
    awaitsPayer: true,
    ending: playOf("collection", chosen).gate === "no_account" ? NOBODY_PAYS : chosen,
    currency,
    amount,
    fee: collectionFee(amount),
    detail: {
      country,
      mobile,
      successUrl: wanted.success_url,
      errorUrl: wanted.error_url,
      origin: call.context.origin,
      expired: null
    }
  } as const
  return yield* create(call, session, (made) => json(200, sessionData(made)))
})

/** POST /v1/checkout/sessions/{id}/expire */
export const expireSession = Effect.fnUntraced(function* (call: Call, id: string) {
  const session = byId(call, "collection", id)
  if (session === undefined || !isOfWallet(call, session))
    return yield* refuse(404, "checkout-session-not-found", "There is no such session.")
  if (!session.awaitsPayer) return yield* refuse(409, "checkout-session-conflict", "The session is complete or expired.")
  const updatedAt = yield* Clock.currentTimeMillis
  const detail = { ...session.detail, expired: "true" }
  const transaction = { ...session, status: "failed", awaitsPayer: false, updatedAt, detail } as const
  yield* call.context.commit([{ fact: "transaction", transaction }])
  return nothing
})
