import type { Instant } from "../../domain/Instant.ts"
import type { PayoutQuote, QuoteOrder, QuoteRefused } from "../../services/ports/Provider.ts"
import { pricedNetwork } from "../FeeSchedule.ts"
import { contractQuote, quoteRefused } from "../Quotes.ts"
import type { DarajaSettings } from "./Client.ts"
import { limits, misfit, shillings } from "./Order.ts"

/** Safaricom names no fee before a payment; the tariff does. */
export const pricedPlaces = pricedNetwork("MPESA", [{ country: "KE", currency: "KES" }])

/** The price of a payout by the tariff. */
export const quoteBy = ({ fees }: Pick<DarajaSettings, "fees">, order: QuoteOrder, now: Instant): PayoutQuote | QuoteRefused => {
  const { amount, corridor, destination, destinationCountry, destinationCurrency } = order
  if (corridor.method !== "momo" || (destination !== null && destination._tag !== "momo")) return quoteRefused("another method")
  if (destinationCountry !== corridor.country || destinationCurrency !== corridor.currency) return quoteRefused("across a border")
  const why = misfit(corridor, destination ?? { network: "MPESA" })
  if (why !== undefined) return quoteRefused(why)
  const { maximum, minimum } = limits("payout")
  if (minimum !== null && amount < minimum) return quoteRefused("below the network's minimum", "too_little")
  if (maximum !== null && amount > maximum) return quoteRefused("above the network's maximum", "too_much")
  if (shillings("payout", amount) === undefined) return quoteRefused("no whole shillings", "amount")
  return contractQuote(order, fees, now)
}
