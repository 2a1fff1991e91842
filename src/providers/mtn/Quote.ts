import type { Instant } from "../../domain/Instant.ts"
import type { PayoutQuote, QuoteOrder, QuoteRefused } from "../../services/ports/Provider.ts"
import { countryQuote } from "../Quotes.ts"
import type { MtnSettings } from "./Client.ts"
import type { Market } from "./Networks.ts"

/** The price of a transfer by the contract. */
export const quoteBy = (
  { fees }: Pick<MtnSettings, "fees">,
  accounts: ReadonlyArray<Market>,
  order: QuoteOrder,
  now: Instant
): PayoutQuote | QuoteRefused => countryQuote({ accounts, network: "MTN" }, order, fees, now)
