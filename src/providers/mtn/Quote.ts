import type { Instant } from "../../domain/Instant.ts"
import type { PayoutQuote, QuoteOrder, QuoteRefused } from "../../services/ports/Provider.ts"
import { contractQuote, quoteRefused } from "../Quotes.ts"
import type { MtnSettings } from "./Client.ts"
import type { Market } from "./Networks.ts"

/** The price of a transfer by the contract. */
export const quoteBy = (
  { fees }: Pick<MtnSettings, "fees">,
  markets: ReadonlyArray<Market>,
  order: QuoteOrder,
  now: Instant
): PayoutQuote | QuoteRefused => {
  const { corridor, destination, destinationCountry, destinationCurrency } = order
  const { country, currency, method } = corridor
  if (method !== "momo") return quoteRefused("another method")
  if (!markets.some((market) => market.country === country && market.currency === currency))
    return quoteRefused("no account there")
  if (destinationCountry !== country || destinationCurrency !== currency) return quoteRefused("across a border")
  if (destination?._tag === "momo" && destination.network !== "MTN") return quoteRefused("another network")
  return contractQuote(order, fees, now)
}
