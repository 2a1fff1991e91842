import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { Currency } from "../../domain/Currency.ts"
import { Failure } from "../../domain/Transaction.ts"
import { SignedRequest } from "../SignedRequest.ts"
import { Amount, AskedAmount, Enveloped, Metadata, text } from "./Wire.ts"

/** `POST /v1/fx/quote` (contract FX-1): exactly one of the two amounts. */
export const FxQuoteBody = Schema.Struct({
  source_currency: Currency,
  destination_currency: Currency,
  source_amount_minor: Schema.optionalKey(AskedAmount),
  destination_amount_minor: Schema.optionalKey(AskedAmount)
})

/** `POST /v1/fx/exchange`. */
export const FxExchangeBody = Schema.Struct({ quote_id: text(128), metadata: Schema.optionalKey(Metadata) })

const amounts = {
  source_currency: Currency,
  source_amount_minor: Amount,
  destination_currency: Currency,
  destination_amount_minor: Amount,
  rate: Schema.String,
  fee_minor: Amount,
  fee_currency: Currency
}

/** A price that holds until `expires_at`, for one exchange. */
export const FxQuote = Schema.Struct({
  quote_id: Schema.String,
  ...amounts,
  expires_at: Schema.String,
  is_test_mode: Schema.Boolean
})

/** An exchange as every tenant read shows it. */
export const FxExchange = Schema.Struct({
  reference: Schema.String,
  status: Schema.Literals(["pending", "successful", "failed"]),
  needs_review: Schema.Boolean,
  quote_id: Schema.String,
  ...amounts,
  metadata: Metadata,
  is_test_mode: Schema.Boolean,
  failure: Schema.NullOr(Failure),
  created_at: Schema.String,
  completed_at: Schema.NullOr(Schema.String)
})

export class FxApi extends HttpApiGroup.make("fx")
  .add(
    HttpApiEndpoint.post("quote", "/v1/fx/quote", { payload: FxQuoteBody, success: Enveloped(FxQuote) }),
    HttpApiEndpoint.post("exchange", "/v1/fx/exchange", {
      payload: FxExchangeBody,
      success: Enveloped(FxExchange).pipe(HttpApiSchema.status(201))
    }),
    HttpApiEndpoint.get("find", "/v1/fx/exchanges/:reference", {
      params: { reference: Schema.String },
      success: Enveloped(FxExchange)
    })
  )
  .middleware(SignedRequest) {}
