import { Effect } from "effect"
import type { ProviderError } from "../domain/errors/Retriable.ts"
import { CallKind } from "../runtime/CallTurn.ts"
import type { PayoutQuote, QuoteOrder, QuoteRefused } from "../services/ports/Provider.ts"
import type { Call } from "./Client.ts"
import type { Connection } from "./Connection.ts"
import { type PayoutFees, payoutFeeOf } from "./ContractFees.ts"
import type { ProviderResponse } from "./Transport.ts"

/** Ours to choose: as long as a tenant may think it over, because the contract's fees do not change meanwhile. */
export const QUOTE_LIFE_MS = 1_800_000

type Priced = Pick<QuoteOrder, "amount" | "destinationCurrency">

/** Nothing is asked: within one currency only the fee is to be known, and that is in the contract. */
export const contractQuote = (
  order: Priced & { readonly corridor: Pick<QuoteOrder["corridor"], "currency" | "method"> },
  fees: PayoutFees
): PayoutQuote | QuoteRefused => {
  const { amount, corridor } = order
  const fee = payoutFeeOf(fees, corridor.currency, corridor.method, amount)
  return fee === undefined ? quoteRefused("the contract names no fee for it") : sameCurrencyQuote(order, fee, QUOTE_LIFE_MS)
}

/** Within one currency what is sent is what arrives, with the fee on top. */
export const sameCurrencyQuote = (
  { amount, destinationCurrency }: Priced,
  fee: PayoutQuote["fee"],
  expiresInMs: number
): PayoutQuote => ({ principal: amount, fee, destinationAmount: amount, destinationCurrency, rate: null, expiresInMs, token: "" })

export const quoteRefused = (note: string, kind: QuoteRefused["kind"] = "other"): QuoteRefused => ({
  _tag: "QuoteRefused",
  kind,
  note
})

/** Neither a price nor a refusal; `alarm` where that is not a passing trouble. */
export interface NoQuote {
  readonly _tag: "NoQuote"
  readonly alarm: string | null
}

export const noQuote = (alarm: string | null): NoQuote => ({ _tag: "NoQuote", alarm })

/** Asks the provider for a price. What is neither a price nor a refusal is a ProviderError. */
export const requestQuote = Effect.fnUntraced(function* <Q extends object>(
  { call, giveUp }: Connection,
  request: Call,
  quoteOf: (response: ProviderResponse) => Q | QuoteRefused | NoQuote
): Effect.fn.Return<Q | QuoteRefused, ProviderError> {
  const quote = quoteOf(yield* Effect.provideService(call(request), CallKind, "quote"))
  return isNoQuote(quote) ? yield* giveUp(quote.alarm) : quote
})

const isNoQuote = (quote: object): quote is NoQuote => "_tag" in quote && quote._tag === "NoQuote"
