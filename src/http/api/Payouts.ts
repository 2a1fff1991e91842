import { Schema } from "effect"
import { HttpApiEndpoint, HttpApiGroup, HttpApiSchema } from "effect/http-api"
import { Country, Method } from "../../domain/Corridor.ts"
import { Currency } from "../../domain/Currency.ts"
import { described, optional } from "../../domain/Description.ts"
import { AmountType } from "../../domain/Payment.ts"
import { UnpricedReason } from "../../domain/UnpricedReason.ts"
import { AnyError } from "./Errors.ts"
import { errors, FROM_RECORDS, group, needs, operation } from "./Operation.ts"
import { PayoutSchema } from "./Records.ts"
import { SignedRequest } from "./SignedRequest.ts"
import { Amount, AskedAmount, Enveloped, Metadata, Narration, Timestamp, text } from "./Wire.ts"

const country = described(Country, "The recipient's country; never taken from the request's own `country`")
const NUMBER = "with its country's prefix, such as 256772123456; a `+` and spaces are accepted"

const MomoDestination = Schema.Struct({
  type: described(Schema.Literal("momo"), "Always `momo`"),
  msisdn: described(text(32), `The recipient's number ${NUMBER}`),
  network: described(text(32), "A network that the corridor lists, in any letter case"),
  country,
  name: optional(text(128), "The recipient's name; required where the corridor says `requires_name`")
}).annotate({ identifier: "MomoDestination", description: "A recipient with mobile money" })

const BankDestination = Schema.Struct({
  type: described(Schema.Literal("bank"), "Always `bank`"),
  country,
  bank_code: described(text(32), "A code from `GET /v1/reference/banks/{country}`"),
  branch_code: optional(
    text(32),
    "A code from `GET /v1/reference/banks/{country}/{bank_code}/branches`; required where the corridor says `requires_branch`"
  ),
  account_number: described(text(64), "The account's number"),
  account_name: described(text(128), "The holder's name"),
  msisdn: optional(text(32), `The recipient's number ${NUMBER}; required where the corridor says \`requires_msisdn\``)
}).annotate({ identifier: "BankDestination", description: "A recipient with a bank account" })

const Email = Schema.String.check(
  Schema.isMaxLength(254, { expected: "at most 254 characters long" }),
  Schema.isPattern(/^[^\s@]+@[^\s@]+$/u, { expected: "an email address" })
).annotate({ format: "email" })

const WalletDestination = Schema.Struct({
  type: described(Schema.Literal("wallet"), "Always `wallet`"),
  country,
  msisdn: optional(text(32), `The wallet's number ${NUMBER}`),
  email: optional(Email, "The wallet's email address"),
  tag: optional(text(64), "The wallet's tag")
}).annotate({
  identifier: "WalletDestination",
  description: "A recipient with a wallet at the provider: exactly one of `msisdn`, `email` and `tag`"
})

/** The recipient. `country` comes from the destination, not the body; a wallet has exactly one of `msisdn`, `email` and `tag`. */
export const Destination = Schema.Union([MomoDestination, BankDestination, WalletDestination]).annotate({
  identifier: "Destination",
  description: "Who is paid. `type` is the same as the request's `method`"
})

export const PayoutMethod = Schema.Literals(["momo", "bank", "wallet"]).annotate({
  identifier: "PayoutMethod",
  description: "How a recipient is paid"
})

const quotedMembers = {
  amount_minor: described(
    AskedAmount,
    "What to pay, in minor units of `currency`; of `destination_currency` where `amount_type` is `DESTINATION`"
  ),
  currency: described(Currency, "The currency of your float that pays"),
  destination_currency: optional(Currency, "What the recipient gets; `currency` if left out"),
  country: described(Country, "The country of the corridor that pays"),
  method: PayoutMethod,
  amount_type: optional(AmountType, "Which side is fixed. Required where the two currencies differ; there is no default"),
  deduct_fee_from_amount: optional(
    Schema.Boolean,
    "True to take the fee out of `amount_minor`, which is then the whole budget; false if left out"
  )
}

/** `POST /v1/payouts` (contract PAY-1 to PAY-20). */
export const PayoutBody = Schema.Struct({
  ...quotedMembers,
  destination: Destination,
  refund_of: optional(
    text(64),
    "The reference of the collection that this refunds: the destination is its payer, and all its refunds together are at most what it brought"
  ),
  narration: optional(Narration, "What the recipient reads about the payout, where the provider shows it"),
  metadata: Schema.optionalKey(Metadata)
}).annotate({ identifier: "CreatePayoutRequest", description: "Money to send out of your float" })

/** `POST /v1/payouts/quote`. */
export const QuoteBody = Schema.Struct({
  ...quotedMembers,
  destination: optional(Destination, "Who is paid; some providers quote only where they know it")
}).annotate({ identifier: "PayoutQuoteRequest", description: "A payout to price" })

const known = Schema.NullOr(Amount)
/** The estimated cost of a payout. The figures that depend on the fee are null when the provider does not quote the amount. */
const Estimate = Schema.Struct({
  amount_minor: described(Amount, "What you asked for, in minor units of `amount_currency`"),
  amount_currency: described(Currency, "The currency of `amount_minor`"),
  currency: described(Currency, "The currency of your float that would pay"),
  destination_currency: described(Currency, "The currency that the recipient would get"),
  fees_minor: described(known, "The provider's fee, in minor units of `currency`"),
  total_amount_minor: described(known, "What would leave your float, fee included, in minor units of `currency`"),
  destination_amount_minor: described(known, "What the recipient would get, in minor units of `destination_currency`"),
  rate: described(Schema.NullOr(Schema.String), "The rate as a decimal text; null within one currency"),
  amount_type: described(Schema.NullOr(AmountType), "Which side is fixed; null where you did not say"),
  deduct_fee_from_amount: described(Schema.Boolean, "True where the fee is taken out of `amount_minor`"),
  minimum_minor: described(known, "The corridor's minimum, in minor units of `currency`; null where there is none"),
  maximum_minor: described(known, "The corridor's maximum, in minor units of `currency`; null where there is none"),
  meets_minimum: described(Schema.Boolean, "False where the payout would be refused with `amount_below_minimum`"),
  affordable: described(Schema.Boolean, "True where your float covers amount and fee"),
  available_minor: described(Amount, "What your float has available, in minor units of `currency`"),
  shortfall_minor: described(known, "What your float lacks, in minor units of `currency`"),
  suggested_method: optional(Method, "A cheaper method that your float covers, where there is one"),
  suggested_total_minor: optional(Amount, "What would leave your float by that method, in minor units of `currency`"),
  unpriced_reason: optional(
    UnpricedReason,
    "Why `fees_minor` and what follows from it are null: the provider quotes for a named recipient only, the amount is below or above what it takes, the fee is as much as the amount, or it refuses for a reason of its own. Absent where there is a price"
  ),
  expires_at: described(Schema.NullOr(Timestamp), "Until when the provider keeps the price; null where it does not say")
}).annotate({
  identifier: "PayoutQuote",
  description:
    "What a payout would cost. The figures that depend on the fee are null where the provider does not quote the amount"
})

/** How many payouts one request may price. */
export const MOST_QUOTES = 100

/** `POST /v1/payouts/quotes`. Each item is decoded separately, so that a mistake in one does not hide the others. */
const QuotesBody = Schema.Struct({
  items: described(
    Schema.Array(PayoutBody).check(Schema.isMinLength(1), Schema.isMaxLength(MOST_QUOTES)),
    "Bodies of payouts, as you will send them"
  )
}).annotate({ identifier: "PayoutQuotesRequest", description: "Payouts to check and to price before the first is sent" })

const ListedQuote = Schema.Struct({
  amount_minor: described(Amount, "What you asked for, in minor units of `amount_currency`"),
  amount_currency: described(Currency, "The currency of `amount_minor`"),
  currency: described(Currency, "The currency of your float that would pay"),
  principal_minor: described(Amount, "What would be sent, without the fee, in minor units of `currency`"),
  fees_minor: described(Amount, "The provider's fee, in minor units of `currency`"),
  total_amount_minor: described(Amount, "What would leave your float, fee included, in minor units of `currency`"),
  destination_amount_minor: described(Amount, "What the recipient would get, in minor units of `destination_currency`"),
  destination_currency: described(Currency, "The currency that the recipient would get"),
  rate: described(Schema.NullOr(Schema.String), "The rate as a decimal text; null within one currency"),
  expires_at: described(Timestamp, "Until when the provider keeps the price")
}).annotate({ identifier: "ListedPayoutQuote", description: "The price of one payout of a list" })

const DuplicateOf = Schema.Struct({
  item: described(Schema.Int, "The first payout of the list to the same recipient, counted from 0"),
  same_amount: described(Schema.Boolean, "True where the amount is the same, too")
}).annotate({ identifier: "DuplicateOf", description: "An earlier payout of the list to the same recipient" })

const QuotesTotal = Schema.Struct({
  currency: described(Currency, "The currency of your float that would pay"),
  items: described(Schema.Int, "How many payouts of the list have a price in it"),
  principal_minor: described(Amount, "What would be sent in all, without the fees"),
  fees_minor: described(Amount, "All fees"),
  total_amount_minor: described(Amount, "What would leave your float in all"),
  available_minor: described(Amount, "What your float has available"),
  shortfall_minor: described(Amount, "What your float lacks; 0 where it covers all of them")
}).annotate({ identifier: "PayoutQuotesTotal", description: "What the priced payouts of a list cost together, in one currency" })

const Quotes = Schema.Struct({
  items: described(
    Schema.Array(
      Schema.Struct({
        quote: described(Schema.NullOr(ListedQuote), "Its price; null where it has none"),
        error: described(Schema.NullOr(AnyError), "What the payout would be refused with; null where it has a price"),
        duplicate_of: described(Schema.NullOr(DuplicateOf), "Set where an earlier payout of the list goes to the same recipient"),
        recipient: described(
          Schema.NullOr(Schema.String),
          "The same text for the same recipient in all your lists, however it is written; null where the body is no payout"
        )
      }).annotate({ identifier: "QuotedPayout", description: "One payout of a list: its price, or why it has none" })
    ),
    "One for each payout of the request, in its order"
  ),
  totals: described(Schema.Array(QuotesTotal), "The payouts that have a price, by currency")
}).annotate({ identifier: "PayoutQuotes", description: "What the payouts of a list would cost, and what is wrong with them" })

export class PayoutsApi extends HttpApiGroup.make("payouts")
  .add(
    HttpApiEndpoint.post("create", "/v1/payouts", {
      payload: PayoutBody,
      success: Enveloped(PayoutSchema).pipe(HttpApiSchema.status(201))
    }).annotateMerge(
      operation(
        "Create a payout",
        `Sends money out of your float. The provider is asked for its fee first, and amount and fee are reserved together. The first answer is normally \`pending\`; the outcome comes by webhook or by polling. A refusal with 422 has sent nothing. ${needs("payouts")}`,
        {
          idempotencyKey: "required",
          errors: [
            ...errors.keyed,
            ...errors.amounts,
            "amount_type_required",
            ...errors.route,
            "tenant_frozen",
            ...errors.amountLimits,
            ...errors.party,
            "bank_account_unresolvable",
            "provider_error",
            ...errors.counted,
            "insufficient_tenant_float",
            "insufficient_wallet_float",
            "payout_rejected_by_provider",
            ...errors.unknown
          ]
        }
      )
    ),
    HttpApiEndpoint.post("quote", "/v1/payouts/quote", { payload: QuoteBody, success: Enveloped(Estimate) }).annotateMerge(
      operation(
        "Quote a payout",
        `Says what a payout would cost. It is free, and moves and reserves nothing; it answers also where your float is too small or the amount is below the minimum. ${needs("payouts")}`,
        { errors: [...errors.amounts, "amount_type_required", ...errors.route, "provider_error"] }
      )
    ),
    HttpApiEndpoint.post("quotes", "/v1/payouts/quotes", { payload: QuotesBody, success: Enveloped(Quotes) }).annotateMerge(
      operation(
        "Quote a list of payouts",
        `Checks and prices up to ${MOST_QUOTES} payouts before you send the first. It is free, and moves, reserves and claims nothing: each has its price or the error that it would be refused with, a second payout to the same recipient is named, and for each currency the answer has the total and what your float lacks. It counts as one read for each payout of the list. ${needs("payouts")}`
      )
    ),
    HttpApiEndpoint.get("find", "/v1/payouts/:reference", {
      params: { reference: described(Schema.String, "The payout's reference") },
      success: Enveloped(PayoutSchema)
    }).annotateMerge(operation("Get a payout", `Reads one payout. ${FROM_RECORDS}`, { errors: ["not_found"] }))
  )
  .annotateMerge(group("Payouts", "Money out of your float: to a mobile-money number, a bank account or a wallet."))
  .middleware(SignedRequest) {}
