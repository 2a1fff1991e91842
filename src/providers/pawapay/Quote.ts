import type { PayoutQuote, QuoteOrder, QuoteRefused } from "../../services/ports/Provider.ts"
import { type PayoutFees, payoutFeeOf } from "../ContractFees.ts"
import { amountOf, networkOf } from "./TranslateOrder.ts"

/** Nothing is asked: within one currency only the fee is to be known, and that is in the contract. */
export const quoteOf = (order: QuoteOrder, fees: PayoutFees): PayoutQuote | QuoteRefused => {
  const { amount, corridor, destination, destinationCurrency } = order
  if (destinationCurrency !== corridor.currency) return refused("other", "pawaPay does not exchange")
  const fee = payoutFeeOf(fees, corridor.currency, corridor.method, amount)
  if (corridor.method !== "momo" || fee === undefined) return refused("other", "the contract has no fee for such a payout")
  const network = destination === null ? null : networkOf(destination, corridor.currency)
  // An unknown network is refused when it is sent, where it has a name of its own.
  const isExact =
    network === null || "fact" in network || amountOf(amount, corridor.currency, network.payout.decimals) !== undefined
  if (!isExact) return refused("amount", "the network takes whole amounts only")
  return {
    principal: amount,
    fee,
    destinationAmount: amount,
    destinationCurrency,
    rate: null,
    expiresInMs: QUOTE_LIFE_MS,
    token: ""
  }
}

/** Ours to choose: the contract's fees do not change meanwhile. */
export const QUOTE_LIFE_MS = 1_800_000

const refused = (kind: QuoteRefused["kind"], note: string): QuoteRefused => ({ _tag: "QuoteRefused", kind, note })
