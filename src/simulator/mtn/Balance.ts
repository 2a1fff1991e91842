import { minor, toDecimal } from "../../domain/Money.ts"
import { OPENING_BALANCE } from "../Account.ts"
import type { SimulatedTransaction } from "../Facts.ts"
import { type Call, json, PROVIDER } from "./Call.ts"

/** GET /{product}/v1_0/account/balance */
export const balance = (call: Call) => {
  const { currency } = call.merchant.country
  const units = balanceOf(call)
  return json(200, { availableBalance: toDecimal(minor(units < 0n ? 0n : units), currency), currency })
}

/** Each product has a wallet of its own, whereas the frame's book keeps one for each currency. */
export const balanceOf = ({ context, merchant, product }: Call): bigint =>
  context.account
    .transactions(PROVIDER, merchant.account)
    .filter(({ currency }) => currency === merchant.country.currency)
    .reduce((sum, transaction) => sum + changes[product](transaction), OPENING_BALANCE)

type Change = (transaction: SimulatedTransaction) => bigint

// A payout is debited when it is taken and comes back without its fee; a collection is taken back whole.
const changes: Readonly<Record<Call["product"], Change>> = {
  disbursement: ({ amount, fee, kind, returned, status }) =>
    kind !== "payout" || status === "failed" ? 0n : returned ? -fee : -(amount + fee),
  collection: ({ amount, fee, kind, returned, status }) =>
    kind !== "collection" || status !== "successful" ? 0n : returned ? -fee : amount - fee
}
