import type { PayoutQuote, QuoteOrder, QuoteRefused } from "../../services/ports/Provider.ts"
import { type PayoutFees, payoutFeeOf } from "../ContractFees.ts"
import { contractQuote, quoteRefused } from "../Quotes.ts"
import { amountOf, networkOf } from "./Order.ts"

/** By the contract: pawaPay quotes nothing. */
export const quoteOf = (order: QuoteOrder, fees: PayoutFees): PayoutQuote | QuoteRefused => {
  const { amount, corridor, destination, destinationCurrency } = order
  if (destinationCurrency !== corridor.currency) return quoteRefused("pawaPay does not exchange")
  const fee = payoutFeeOf(fees, corridor.currency, corridor.method, amount)
  if (corridor.method !== "momo" || fee === undefined) return quoteRefused("the contract has no fee for such a payout")
  const network = destination === null ? null : networkOf(destination, corridor.currency)
  if (network !== null && "fact" in network) return quoteRefused("pawaPay does not reach such a recipient")
  const isExact = network === null || amountOf(amount, corridor.currency, network.payout.decimals) !== undefined
  if (!isExact) return quoteRefused("the network takes whole amounts only", "amount")
  return contractQuote(order, fee)
}
