import type { PayoutQuote, QuoteOrder, QuoteRefused } from "../services/ports/Provider.ts"

/** Ours to choose: as long as a tenant may think it over, because the contract's fees do not change meanwhile. */
export const QUOTE_LIFE_MS = 1_800_000

/** Nothing is asked: within one currency only the fee is to be known, and that is in the contract. */
export const contractQuote = (
  { amount, destinationCurrency }: Pick<QuoteOrder, "amount" | "destinationCurrency">,
  fee: PayoutQuote["fee"]
): PayoutQuote => ({
  principal: amount,
  fee,
  destinationAmount: amount,
  destinationCurrency,
  rate: null,
  expiresInMs: QUOTE_LIFE_MS,
  token: ""
})

export const quoteRefused = (note: string, kind: QuoteRefused["kind"] = "other"): QuoteRefused => ({
  _tag: "QuoteRefused",
  kind,
  note
})
