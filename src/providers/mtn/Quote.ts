import type { PayoutQuote, QuoteOrder, QuoteRefused } from "../../services/ports/Provider.ts"
import { payoutFeeOf } from "../ContractFees.ts"
import { contractQuote, quoteRefused } from "../Quotes.ts"
import type { MtnSettings } from "./Client.ts"
import type { Market } from "./Networks.ts"

/** The price of a transfer by the contract. */
export const quoteBy = (
  { payoutFees }: Pick<MtnSettings, "payoutFees">,
  markets: ReadonlyArray<Market>,
  { amount, corridor, destination, destinationCountry, destinationCurrency }: QuoteOrder
): PayoutQuote | QuoteRefused => {
  const { country, currency, method } = corridor
  if (method !== "momo") return quoteRefused("another method")
  if (!markets.some((market) => market.country === country && market.currency === currency))
    return quoteRefused("no account there")
  if (destinationCountry !== country || destinationCurrency !== currency) return quoteRefused("across a border")
  if (destination?._tag === "momo" && destination.network !== "MTN") return quoteRefused("another network")
  const fee = payoutFeeOf(payoutFees, currency, method, amount)
  if (fee === undefined) return quoteRefused("no fee in the contract")
  return contractQuote({ amount, destinationCurrency }, fee)
}
