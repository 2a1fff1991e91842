import type { Instant } from "../../domain/Instant.ts"
import type { QuoteOrder } from "../../services/ports/Provider.ts"
import { countryQuote } from "../Quotes.ts"
import type { AirtelSettings } from "./Client.ts"
import { NETWORK } from "./Networks.ts"

/** The price of a disbursement by the contract: no answer of Airtel's names one. */
export const quoteBy = ({ countries, fees }: Pick<AirtelSettings, "countries" | "fees">, order: QuoteOrder, now: Instant) =>
  countryQuote({ accounts: countries, network: NETWORK }, order, fees, now)
