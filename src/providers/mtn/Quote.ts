import type { PayoutQuote, QuoteOrder, QuoteRefused } from "../../services/ports/Provider.ts"
import { payoutFeeOf } from "../ContractFees.ts"
import type { MtnSettings } from "./Client.ts"
import type { Market } from "./Markets.ts"

/** MTN quotes nothing, and the contract's fee does not change from one minute to the next: as long as a tenant may think it over. */
export const QUOTE_LIFE_MS = 1_800_000

/** The price of a transfer by the contract. */
export const quoteBy = (
  { payoutFees }: Pick<MtnSettings, "payoutFees">,
  markets: ReadonlyArray<Market>,
  { amount, corridor, destinationCountry, destinationCurrency }: QuoteOrder
): PayoutQuote | QuoteRefused => {
  const { country, currency, method } = corridor
  if (method !== "momo") return refused("another method")
  if (!markets.some((market) => market.country === country && market.currency === currency)) return refused("no account there")
  if (destinationCountry !== country || destinationCurrency !== currency) return refused("across a border")
  const fee = payoutFeeOf(payoutFees, currency, method, amount)
  if (fee === undefined) return refused("no fee in the contract")
  return {
    principal: amount,
    fee,
    destinationAmount: amount,
    destinationCurrency: currency,
    rate: null,
    expiresInMs: QUOTE_LIFE_MS,
    token: ""
  }
}

const refused = (note: string): QuoteRefused => ({ _tag: "QuoteRefused", kind: "other", note })
