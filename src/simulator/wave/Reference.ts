import { Effect } from "effect"
import { shownBalance } from "../Call.ts"
import { type Call, json } from "./Responses.ts"
import { walletBalance } from "./Statements.ts"

/** GET /v1/balance: of the wallet that the key belongs to. */
export const balance = (call: Call) => {
  const { currency } = call.merchant.wallet
  return Effect.succeed(json(200, { amount: shownBalance(walletBalance(call), currency), currency }))
}
