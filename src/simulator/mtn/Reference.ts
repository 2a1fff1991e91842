import { Effect } from "effect"
import type { Product } from "../../providers/mtn/Wire.ts"
import { OPENING_BALANCE } from "../Account.ts"
import { gateOf, shownBalance } from "../Call.ts"
import type { SimulatedTransaction } from "../Facts.ts"
import { type Call, json, refuse } from "./Responses.ts"

/** GET /{product}/v1_0/account/balance */
export const balance = (call: Call) => {
  const { currency } = call.merchant.country
  return Effect.succeed(json(200, { availableBalance: shownBalance(productBalance(call), currency), currency }))
}

/** GET /{product}/v1_0/accountholder/msisdn/{number}/active */
export const activeHolder = Effect.fnUntraced(function* (call: Call, number: string) {
  const gate = yield* gateOf(call, number, ["unavailable"])
  return json(200, { result: gate !== "no_account" })
})

/** GET /{product}/v1_0/accountholder/msisdn/{number}/basicuserinfo */
export const holderInfo = Effect.fnUntraced(function* (call: Call, number: string) {
  const gate = yield* gateOf(call, number, ["unavailable"])
  if (gate === "no_account") return yield* refuse(404, "RESOURCE_NOT_FOUND", "Requested resource was not found.")
  const { country } = call.merchant.country
  return json(200, {
    sub: "0",
    name: "JOHN DOE",
    given_name: "JOHN",
    family_name: "DOE",
    birthdate: "1990-04-02",
    locale: `en_${country}`,
    gender: "MALE",
    updated_at: 1_700_000_000
  })
})

/** Each product has its own wallet, whereas the frame's account has one per currency. */
export const productBalance = ({ context, merchant, provider }: Call): bigint =>
  context.account
    .transactions(provider, merchant.clientId)
    .filter(({ currency }) => currency === merchant.country.currency)
    .reduce((sum, transaction) => sum + changes[merchant.product](transaction), OPENING_BALANCE)

type Change = (transaction: SimulatedTransaction) => bigint

// A payout is debited when it is accepted and comes back without its fee; a collection is taken back in full.
const changes: Readonly<Record<Product, Change>> = {
  disbursement: ({ amount, fee, kind, returned, status }) =>
    kind !== "payout" || status === "failed" ? 0n : returned ? -fee : -(amount + fee),
  collection: ({ amount, fee, kind, returned, status }) =>
    kind !== "collection" || status !== "successful" ? 0n : returned ? -fee : amount - fee
}
