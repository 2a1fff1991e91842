import { Schema } from "effect"
import { Currency } from "./Currency.ts"
import { AppId, Mode, Reference } from "./Ids.ts"
import { Instant, iso, isoOrNull } from "./Instant.ts"
import { RawJson } from "./Json.ts"
import { MinorUnits, ZERO } from "./Money.ts"
import { Failure, reviewMemory, sentWithAccount } from "./Payment.ts"

export const ExchangeStatus = Schema.Literals(["pending", "successful", "failed"])
export type ExchangeStatus = typeof ExchangeStatus.Type

/** Moves money from one of the tenant's positions into another (contract FX-5). The provider's rate is its only cost. */
export const Exchange = Schema.Struct({
  kind: Schema.Literal("exchange"),
  status: ExchangeStatus,
  reference: Reference,
  appId: AppId,
  mode: Mode,
  provider: Schema.String,
  ...sentWithAccount,
  providerReference: Schema.NullOr(Schema.String),
  needsReview: Schema.Boolean,
  quoteId: Reference,
  /** The amount that leaves the float, in `currency`. It is held in full from the start. */
  amount: MinorUnits,
  currency: Currency,
  /** The quoted amount until the exchange is booked, then the amount that it yielded, rounded down to its currency. */
  destinationAmount: MinorUnits,
  destinationCurrency: Currency,
  /** The provider's own figure behind `destinationAmount`, in major units, with every digit. */
  rawDestinationAmount: Schema.String,
  /** Decimal text, as quoted. */
  rate: Schema.String,
  /** The compact JSON text of an object, echoed as it was sent. */
  metadata: Schema.String,
  version: Schema.Number.check(Schema.isInt()),
  failure: Schema.NullOr(Failure),
  createdAt: Instant,
  updatedAt: Instant,
  completedAt: Schema.NullOr(Instant),
  asked: Schema.Number.check(Schema.isInt()),
  notFound: Schema.Number.check(Schema.isInt()),
  ...reviewMemory
})
export type Exchange = typeof Exchange.Type

/** An exchange as answers, events and reads show it, byte for byte the same. */
export const exchangeView = (exchange: Exchange) => ({
  reference: exchange.reference,
  status: exchange.status,
  needs_review: exchange.needsReview,
  quote_id: exchange.quoteId,
  ...amountsView(exchange),
  metadata: new RawJson(exchange.metadata),
  version: exchange.version,
  is_test_mode: exchange.mode === "test",
  failure: exchange.failure,
  created_at: iso(exchange.createdAt),
  updated_at: iso(exchange.updatedAt),
  completed_at: isoOrNull(exchange.completedAt)
})

/** The amounts that a quote and its exchange have in common. */
const amountsView = (amounts: Pick<Exchange, "amount" | "currency" | "destinationAmount" | "destinationCurrency" | "rate">) => ({
  source_currency: amounts.currency,
  source_amount_minor: amounts.amount,
  destination_currency: amounts.destinationCurrency,
  destination_amount_minor: amounts.destinationAmount,
  rate: amounts.rate,
  fee_minor: ZERO,
  fee_currency: amounts.currency
})

/** A price for an exchange, held for its tenant and mode until it expires. It is good for one exchange. */
export const Quote = Schema.Struct({
  id: Reference,
  appId: AppId,
  mode: Mode,
  provider: Schema.String,
  /** The fingerprint of the provider account that quoted it, which alone can execute it; absent in quotes from before this. */
  account: Schema.optionalKey(Schema.NullOr(Schema.String)),
  /** The provider's own handle. */
  token: Schema.String,
  currency: Currency,
  amount: MinorUnits,
  destinationCurrency: Currency,
  destinationAmount: MinorUnits,
  rawDestinationAmount: Schema.String,
  rate: Schema.String,
  createdAt: Instant,
  expiresAt: Instant,
  /** The providers that were asked and the verdict on each, as text (`Candidates`); absent in a quote from before it was stored. */
  candidates: Schema.optionalKey(Schema.NullOr(Schema.String))
})
export type Quote = typeof Quote.Type

/** The answer of `POST /v1/fx/quote` (contract FX-1). */
export const quoteView = (quote: Quote) => ({
  quote_id: quote.id,
  ...amountsView(quote),
  expires_at: iso(quote.expiresAt),
  is_test_mode: quote.mode === "test"
})
