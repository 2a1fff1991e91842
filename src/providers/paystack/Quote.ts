import type { Instant } from "../../domain/Instant.ts"
import type { PayoutQuote, QuoteOrder, QuoteRefused } from "../../services/ports/Provider.ts"
import type { ContractFees } from "../ContractFees.ts"
import { contractQuote, quoteRefused } from "../Quotes.ts"
import { isPayable } from "./Networks.ts"

/** From the contract: Paystack gives no quotes. */
export const quoteOf = (order: QuoteOrder, fees: ContractFees, now: Instant): PayoutQuote | QuoteRefused => {
  const { corridor, destinationCountry, destinationCurrency } = order
  const isAcross = destinationCurrency !== corridor.currency || destinationCountry !== corridor.country
  return isAcross || !isPayable(corridor)
    ? quoteRefused("Paystack does not pay there in this currency")
    : contractQuote(order, fees, now)
}
