import type { Instant } from "../../domain/Instant.ts"
import type { PayoutQuote, QuoteOrder, QuoteRefused } from "../../services/ports/Provider.ts"
import type { ContractFees } from "../ContractFees.ts"
import { contractQuote, quoteRefused } from "../Quotes.ts"
import type { Said } from "./ActiveConf.ts"
import { amountOf, decimalsOf, networkOf } from "./Order.ts"

/** From the contract: pawaPay gives no quotes. */
export const quoteOf = (
  order: QuoteOrder,
  fees: ContractFees,
  now: Instant,
  said: Said | null = null
): PayoutQuote | QuoteRefused => {
  const { amount, corridor, destination, destinationCurrency } = order
  if (destinationCurrency !== corridor.currency) return quoteRefused("pawaPay does not exchange")
  if (corridor.method !== "momo") return quoteRefused("pawaPay pays mobile money only")
  const quote = contractQuote(order, fees, now)
  if ("_tag" in quote) return quote
  const network = destination === null ? null : networkOf(destination, corridor.currency)
  if (network !== null && "fact" in network) return quoteRefused("pawaPay does not reach such a recipient")
  const isExact =
    network === null || amountOf(amount, corridor.currency, decimalsOf(network, "payout", corridor.currency, said)) !== undefined
  if (!isExact) return quoteRefused("the network takes whole amounts only", "amount")
  return quote
}
