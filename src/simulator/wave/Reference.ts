import { Effect } from "effect"
import { type Call, json } from "./Responses.ts"
import { walletBalance } from "./Statements.ts"
import { money } from "./Transactions.ts"

/** GET /v1/balance: of the wallet that the key belongs to. */
export const balance = (call: Call) => {
  const { currency } = call.merchant.wallet
  const held = walletBalance(call)
  return Effect.succeed(json(200, { amount: money(held < 0n ? 0n : held, currency), currency }))
}
