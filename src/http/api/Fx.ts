import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { Currency } from "../../domain/Currency.ts"
import { described, optional } from "../../domain/Description.ts"
import { Failure } from "../../domain/Payment.ts"
import { errors, FROM_RECORDS, group, NEXT_PAGE, needs, operation } from "./Operation.ts"
import { pageOf } from "./Page.ts"
import { SignedRequest } from "./SignedRequest.ts"
import { exchangeQuery, metadataFilter, metadataNames, ORDERS, PAGES } from "./TransactionQuery.ts"
import { Amount, AskedAmount, Enveloped, Metadata, Timestamp, text } from "./Wire.ts"

const currencies = {
  source_currency: described(Currency, "What you give"),
  destination_currency: described(Currency, "What you get")
}

/** `POST /v1/fx/quote` (contract FX-1) takes exactly one of the two amounts. */
export const FxQuoteBody = Schema.Struct({
  ...currencies,
  source_amount_minor: optional(AskedAmount, "How much you give, in minor units of `source_currency`"),
  destination_amount_minor: optional(AskedAmount, "How much you want, in minor units of `destination_currency`")
}).annotate({
  identifier: "ExchangeQuoteRequest",
  description: "An exchange to price: two currencies, and exactly one of the two amounts"
})

/** `POST /v1/fx/exchange`. */
export const FxExchangeBody = Schema.Struct({
  quote_id: described(text(128), "The quote to exchange by"),
  metadata: Schema.optionalKey(Metadata)
}).annotate({ identifier: "CreateExchangeRequest", description: "A quote to exchange by" })

const amounts = {
  ...currencies,
  source_amount_minor: described(Amount, "What leaves your float, in minor units of `source_currency`"),
  destination_amount_minor: described(Amount, "What your float gets, in minor units of `destination_currency`"),
  rate: described(Schema.String, "How much of the destination currency one of the source currency buys, as a decimal text"),
  fee_minor: described(Amount, "The provider's fee, in minor units of `fee_currency`"),
  fee_currency: described(Currency, "The currency of `fee_minor`")
}

/** A price that is valid until `expires_at`, for one exchange. */
const FxQuote = Schema.Struct({
  quote_id: described(Schema.String, "The quote's handle: exchange by it"),
  ...amounts,
  expires_at: described(Timestamp, "Until when the price holds"),
  is_test_mode: described(Schema.Boolean, "True where a key of test mode asked for it")
}).annotate({ identifier: "ExchangeQuote", description: "A price that holds until `expires_at`, for one exchange" })

const ExchangeStatus = Schema.Literals(["pending", "successful", "failed"]).annotate({
  identifier: "ExchangeStatus",
  description: "Where an exchange stands. `successful` and `failed` are final"
})

/** An exchange as every tenant read shows it. */
export const FxExchange = Schema.Struct({
  reference: described(Schema.String, "The gateway's handle of the exchange: 26 characters without structure"),
  status: ExchangeStatus,
  needs_review: described(Schema.Boolean, "True while a person has to establish the outcome"),
  quote_id: described(Schema.String, "The quote that it was made by"),
  ...amounts,
  metadata: Metadata,
  version: described(Schema.Int, "1 when it was created, one more with each change that you can see"),
  is_test_mode: described(Schema.Boolean, "True where a key of test mode made it"),
  failure: described(Schema.NullOr(Failure), "Why it failed; null where it has not"),
  created_at: described(Timestamp, "When it was created"),
  updated_at: described(Timestamp, "When it last changed"),
  completed_at: described(Schema.NullOr(Timestamp), "When it came to its final status; null before")
}).annotate({ identifier: "Exchange", description: "Float of one currency turned into float of another" })

export class FxApi extends HttpApiGroup.make("fx")
  .add(
    HttpApiEndpoint.post("quote", "/v1/fx/quote", { payload: FxQuoteBody, success: Enveloped(FxQuote) }).annotateMerge(
      operation(
        "Quote an exchange",
        `Says what an exchange between two of your currencies would bring. It is free and moves nothing. ${needs("fx")}`,
        {
          errors: [
            ...errors.amounts,
            "capability_not_allowed",
            "amount_below_minimum",
            "provider_error",
            "provider_capability_unsupported"
          ]
        }
      )
    ),
    HttpApiEndpoint.post("exchange", "/v1/fx/exchange", {
      payload: FxExchangeBody,
      success: Enveloped(FxExchange).pipe(HttpApiSchema.status(201))
    }).annotateMerge(
      operation(
        "Create an exchange",
        `Exchanges by a quote, which is good for one exchange until it expires. What is booked is what the exchange brought. ${needs("fx")}`,
        {
          idempotencyKey: "required",
          errors: [
            ...errors.keyed,
            "capability_not_allowed",
            "tenant_frozen",
            "not_found",
            "quote_expired",
            "provider_capability_unsupported",
            "amount_above_maximum",
            "provider_error",
            "insufficient_tenant_float",
            "insufficient_wallet_float",
            "payout_rejected_by_provider",
            ...errors.unknown
          ]
        }
      )
    ),
    HttpApiEndpoint.get("list", "/v1/fx/exchanges", {
      query: exchangeQuery,
      success: Enveloped(pageOf(FxExchange))
    }).annotateMerge(
      operation("List exchanges", `Your exchanges of the key's mode, the newest first. ${ORDERS} ${NEXT_PAGE} ${PAGES}`, {
        parameters: [metadataFilter],
        otherParameters: metadataNames,
        errors: ["validation_failed"]
      })
    ),
    HttpApiEndpoint.get("find", "/v1/fx/exchanges/:reference", {
      params: { reference: described(Schema.String, "The exchange's reference") },
      success: Enveloped(FxExchange)
    }).annotateMerge(operation("Get an exchange", `Reads one exchange. ${FROM_RECORDS}`, { errors: ["not_found"] }))
  )
  .annotateMerge(group("Exchanges", "Exchange float of one currency into another."))
  .middleware(SignedRequest) {}
