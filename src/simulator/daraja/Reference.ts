import { Effect, Schema } from "effect"
import { balanceOf, shownBalance } from "../Call.ts"
import { type Call, decodeBody, refuse } from "./Responses.ts"
import { answeredLater, Question } from "./Transactions.ts"

const BalanceRequest = Schema.Struct({ ...Question.fields, CommandID: Schema.Literal("AccountBalance") })

/** POST /mpesa/accountbalance/v1/query. The frame's account has one wallet, which both shortcodes show. */
export const balance = Effect.fnUntraced(function* (call: Call) {
  const request = yield* decodeBody(BalanceRequest, call.request)
  const { payoutShortcode, shortcode } = call.merchant.settings
  if (![payoutShortcode, shortcode].includes(request.PartyA))
    return yield* refuse(400, "400.002.02", "Bad Request - Invalid PartyA")
  const held = shownBalance(balanceOf(call, "KES"), "KES")
  const AccountBalance = ["Working Account", "Utility Account"].map((name) => `${name}|KES|${held}|${held}|0.00|0.00`).join("&")
  const parameters = {
    AccountBalance: `${AccountBalance}&Charges Paid Account|KES|-83.00|-83.00|0.00|0.00`,
    BOCompletedTime: 20261128150300
  }
  return yield* answeredLater(call, request, { code: "0", parameters })
})
