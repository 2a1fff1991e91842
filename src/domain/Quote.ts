import { Schema } from "effect"
import { Currency } from "./Currency.ts"
import { amountsView } from "./Exchange.ts"
import { AppId, Mode, Reference } from "./Ids.ts"
import { Instant, iso } from "./Instant.ts"
import { MinorUnits } from "./Money.ts"

/** A price of an exchange, held for its tenant and mode until it expires; good for one exchange. */
export const Quote = Schema.Struct({
  id: Reference,
  appId: AppId,
  mode: Mode,
  provider: Schema.String,
  /** The provider's own handle. */
  token: Schema.String,
  currency: Currency,
  amount: MinorUnits,
  destinationCurrency: Currency,
  destinationAmount: MinorUnits,
  rawDestinationAmount: Schema.String,
  rate: Schema.String,
  createdAt: Instant,
  expiresAt: Instant
})
export type Quote = typeof Quote.Type

/** The answer of `POST /v1/fx/quote` (contract FX-1). */
export const quoteView = (quote: Quote) => ({
  quote_id: quote.id,
  ...amountsView(quote),
  expires_at: iso(quote.expiresAt),
  is_test_mode: quote.mode === "test"
})
