import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { Country } from "../../domain/Corridor.ts"
import { Currency } from "../../domain/Currency.ts"
import { AmountType } from "../../domain/Transaction.ts"
import { SignedRequest } from "../SignedRequest.ts"
import { Amount, AskedAmount, Enveloped, Metadata, Narration, PayoutRecord, text } from "./Wire.ts"

/** Who is paid. `country` is never taken from the body's own; a wallet has exactly one of `msisdn`, `email` and `tag`. */
export const Destination = Schema.Union([
  Schema.Struct({ type: Schema.Literal("momo"), msisdn: text(32), network: text(32), country: Country }),
  Schema.Struct({
    type: Schema.Literal("bank"),
    country: Country,
    bank_code: text(32),
    account_number: text(64),
    account_name: text(128),
    msisdn: Schema.optionalKey(text(32))
  }),
  Schema.Struct({
    type: Schema.Literal("wallet"),
    country: Country,
    msisdn: Schema.optionalKey(text(32)),
    email: Schema.optionalKey(
      Schema.String.check(
        Schema.isMaxLength(254, { expected: "at most 254 characters long" }),
        Schema.isPattern(/^[^\s@]+@[^\s@]+$/u, { expected: "an email address" })
      )
    ),
    tag: Schema.optionalKey(text(64))
  })
])

const asked = {
  amount_minor: AskedAmount,
  currency: Currency,
  destination_currency: Schema.optionalKey(Currency),
  country: Country,
  method: Schema.Literals(["momo", "bank", "wallet"]),
  amount_type: Schema.optionalKey(AmountType),
  deduct_fee_from_amount: Schema.optionalKey(Schema.Boolean)
}

/** `POST /v1/payouts` (contract PAY-1 to PAY-20). */
export const PayoutBody = Schema.Struct({
  ...asked,
  destination: Destination,
  narration: Schema.optionalKey(Narration),
  metadata: Schema.optionalKey(Metadata)
})

/** `POST /v1/payouts/quote`. */
export const QuoteBody = Schema.Struct({ ...asked, destination: Schema.optionalKey(Destination) })

const known = Schema.NullOr(Amount)
/** What a payout would cost. The figures that depend on the fee are null where the provider does not quote the amount. */
export const Estimate = Schema.Struct({
  amount_minor: Amount,
  amount_currency: Currency,
  currency: Currency,
  destination_currency: Currency,
  fees_minor: known,
  total_amount_minor: known,
  destination_amount_minor: known,
  rate: Schema.NullOr(Schema.String),
  amount_type: Schema.NullOr(AmountType),
  deduct_fee_from_amount: Schema.Boolean,
  minimum_minor: known,
  maximum_minor: known,
  meets_minimum: Schema.Boolean,
  affordable: Schema.Boolean,
  available_minor: Amount,
  shortfall_minor: known,
  suggested_method: Schema.optionalKey(Schema.String),
  suggested_total_minor: Schema.optionalKey(Amount),
  expires_at: Schema.NullOr(Schema.String)
})

export class PayoutsApi extends HttpApiGroup.make("payouts")
  .add(
    HttpApiEndpoint.post("create", "/v1/payouts", {
      payload: PayoutBody,
      success: Enveloped(PayoutRecord).pipe(HttpApiSchema.status(201))
    }),
    HttpApiEndpoint.post("quote", "/v1/payouts/quote", { payload: QuoteBody, success: Enveloped(Estimate) }),
    HttpApiEndpoint.get("find", "/v1/payouts/:reference", {
      params: { reference: Schema.String },
      success: Enveloped(PayoutRecord)
    })
  )
  .middleware(SignedRequest) {}
