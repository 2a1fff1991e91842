import type { Instant } from "../../../src/domain/Instant.ts"
import type { ContractFees } from "../../../src/providers/ContractFees.ts"
import { contractQuote, quoteRefused } from "../../../src/providers/Quotes.ts"
import type { PayoutQuote, QuoteOrder, QuoteRefused } from "../../../src/services/ports/Provider.ts"

/** By the contract: Tumbuka Pay quotes nothing. */
export const quoteOf = (order: QuoteOrder, fees: ContractFees, now: Instant): PayoutQuote | QuoteRefused =>
  order.corridor.method !== "momo" || order.destinationCurrency !== order.corridor.currency
    ? quoteRefused("no fee is agreed on for it")
    : contractQuote(order, fees, now)
