import type { Instant } from "../../domain/Instant.ts"
import type { PayoutQuote, QuoteOrder, QuoteRefused } from "../../services/ports/Provider.ts"
import { countryQuote } from "../Quotes.ts"
import type { WaveSettings } from "./Client.ts"
import { NETWORK } from "./Networks.ts"

/** The price of a payout by the contract; its answer names what it was. A reversal brings the fee back with the payout. */
export const quoteBy = (
  { fees, wallets }: Pick<WaveSettings, "fees" | "wallets">,
  order: QuoteOrder,
  now: Instant
): PayoutQuote | QuoteRefused => {
  const quote = countryQuote({ accounts: wallets, network: NETWORK }, order, fees, now)
  return "_tag" in quote ? quote : { ...quote, feeReturns: true }
}
