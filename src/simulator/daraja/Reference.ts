import { Effect, Schema } from "effect"
import { minor, toDecimal } from "../../domain/Money.ts"
import { balanceOf } from "../Call.ts"
import { type Call, decodeBody, refuse } from "./Responses.ts"
import { answeredLater, Question } from "./Transactions.ts"

const BalanceRequest = Schema.Struct({ ...Question.fields, CommandID: Schema.Literal("AccountBalance") })

/** POST /mpesa/accountbalance/v1/query. The frame's account has one wallet, which both shortcodes show. */
export const balance = Effect.fnUntraced(function* (call: Call) {
  const request = yield* decodeBody(BalanceRequest, call.request)
  const { payoutShortcode, shortcode } = call.merchant.settings
  if (![payoutShortcode, shortcode].includes(request.PartyA))
    return yield* refuse(400, "400.002.02", "Bad Request - Invalid PartyA")
  const units = balanceOf(call, "KES")
  const held = toDecimal(minor(units < 0n ? 0n : units), "KES")
  const AccountBalance = ["Working Account", "Utility Account"].map((name) => `${name}|KES|${held}|${held}|0.00|0.00`).join("&")
  const parameters = {
    AccountBalance: `${AccountBalance}&Charges Paid Account|KES|-83.00|-83.00|0.00|0.00`,
    BOCompletedTime: 20261128150300
  }
  return yield* answeredLater(call, request, { code: "0", parameters })
})
