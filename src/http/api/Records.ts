import { Schema } from "effect"
import { CorridorKey } from "../../domain/Corridor.ts"
import { Currency } from "../../domain/Currency.ts"
import { described } from "../../domain/Description.ts"
import { AmountType, CollectionStatus, Failure, PayoutStatus } from "../../domain/Payment.ts"
import { Amount, Metadata, Timestamp } from "./Wire.ts"

// Collections and payouts as every answer, read and event shows them (contract TXN-1).

const actionEnd = described(Timestamp, "Until when it can be done")
const actionMessage = described(Schema.String, "What to tell the payer")

const OtpAction = Schema.Struct({
  type: described(Schema.Literal("otp"), "Always `otp`"),
  pin_id: described(Schema.String, "Names the code that was sent; send it back with the code that the payer types"),
  message: actionMessage,
  expires_at: actionEnd
}).annotate({ identifier: "OtpAction", description: "The payer got a code: ask for it, and authorize the collection with it" })

const RedirectAction = Schema.Struct({
  type: described(Schema.Literal("redirect"), "Always `redirect`"),
  redirect_url: described(Schema.String.annotate({ format: "uri" }), "The page on which the payer finishes"),
  message: actionMessage,
  expires_at: actionEnd
}).annotate({ identifier: "RedirectAction", description: "Send the payer to a page, where the charge is finished" })

const NextAction = Schema.Union([OtpAction, RedirectAction]).annotate({
  identifier: "NextAction",
  description: "What the payer has to do before the charge can go on"
})

const head = {
  id: described(Schema.String, "The same value as `reference`"),
  reference: described(Schema.String, "The gateway's handle of the transaction: 26 characters without structure"),
  provider: described(Schema.String, "The provider that serves it"),
  needs_review: described(Schema.Boolean, "True while a person has to establish the outcome, or a part of it"),
  amount_minor: described(Amount, "What you asked for, in minor units of `amount_currency`"),
  amount_currency: described(Currency, "The currency of `amount_minor`"),
  currency: described(Currency, "The currency of your float that moves"),
  fees_minor: described(
    Schema.NullOr(Amount),
    "What you are debited for the provider's fee, in minor units of `currency`; null until it is known"
  )
}
const tail = {
  corridor: described(CorridorKey, "The corridor that it uses"),
  network: described(Schema.NullOr(Schema.String), "The mobile network, as the corridor lists it; null where there is none"),
  provider_receipt: described(
    Schema.NullOr(Schema.String),
    "The number by which the payer or recipient knows it, as in the operator's SMS; null until the provider tells it, and where it tells none"
  ),
  narration: described(Schema.NullOr(Schema.String), "The text that you sent with it, or null"),
  metadata: Metadata,
  version: described(
    Schema.Int,
    "1 at the start, and one more with each change that you can see. Of two copies the one with the higher version is newer"
  ),
  is_test_mode: described(Schema.Boolean, "True where a key of test mode made it"),
  failure: described(Schema.NullOr(Failure), "Why it failed; null where it has not"),
  created_at: described(Timestamp, "When it was created"),
  updated_at: described(Timestamp, "When it last changed"),
  completed_at: described(Schema.NullOr(Timestamp), "When it came to its final status; null before"),
  expires_at: described(Schema.NullOr(Timestamp), "When it expires unless it is completed; null where it does not")
}

const Reversed = Schema.Struct({
  amount_minor: described(Amount, "How much was taken from your float, in minor units of the collection's `currency`"),
  at: described(Timestamp, "When it was taken"),
  reason: described(Schema.String, "Why it was taken back, for people")
}).annotate({ identifier: "CollectionReversal", description: "Money of a successful collection that was taken back" })

/** A collection as every tenant read shows it (contract TXN-1). */
export const CollectionSchema = Schema.Struct({
  ...head,
  kind: described(Schema.Literal("collection"), "Always `collection`"),
  status: CollectionStatus,
  observed_amount_minor: described(
    Schema.NullOr(Amount),
    "What the provider says was paid, in minor units of `observed_currency`; null until it has said so"
  ),
  observed_currency: described(Schema.NullOr(Currency), "The currency of `observed_amount_minor`; null with it"),
  masked_source: described(
    Schema.NullOr(Schema.String),
    "The payer's number, masked but for its last four digits (`••••1234`); null where there is none"
  ),
  next_action: described(
    Schema.NullOr(NextAction),
    "What the payer has to do; always there while the status is `requires_action`, otherwise null"
  ),
  late_success: described(Schema.Boolean, "True where the payment was confirmed after the collection had failed or expired"),
  reversed: described(Schema.NullOr(Reversed), "What was taken back after the collection was successful; null where nothing was"),
  refunded_minor: described(
    Amount,
    "What your payouts with `refund_of` bring back to the payer, without their fees: those under way and the successful ones, without what came back"
  ),
  ...tail
}).annotate({ identifier: "Collection", description: "Money in: a charge of a payer" })

const Returned = Schema.Struct({
  amount_minor: described(Amount, "How much came back into your float, in minor units of the payout's `currency`"),
  at: described(Timestamp, "When it was credited to your float"),
  reason: described(Schema.String, "Why it came back, for people")
}).annotate({ identifier: "PayoutReturn", description: "Money of a successful payout that came back" })

const Holder = Schema.Struct({
  masked_name: described(Schema.String, "The holder's name as the provider knows it, masked (`J••• D••`)"),
  is_named: described(
    Schema.NullOr(Schema.Boolean),
    "Whether it is the name that you gave of the recipient, whatever its case, accents and order; null where you gave none"
  )
}).annotate({
  identifier: "AccountHolder",
  description: "Whose account a payout goes to, as the provider said before it was sent"
})

/** A payout as every tenant read shows it. */
export const PayoutSchema = Schema.Struct({
  ...head,
  kind: described(Schema.Literal("payout"), "Always `payout`"),
  status: PayoutStatus,
  total_amount_minor: described(Amount, "What leaves your float, fee included, in minor units of `currency`"),
  destination_amount_minor: described(Amount, "What the recipient gets, in minor units of `destination_currency`"),
  destination_currency: described(Currency, "The currency that the recipient gets"),
  amount_type: described(Schema.NullOr(AmountType), "Which side is fixed; null where you did not say"),
  deduct_fee_from_amount: described(Schema.Boolean, "True where the fee was taken out of `amount_minor`"),
  masked_destination: described(Schema.String, "The recipient's number or account, masked but for its end (`••••1234`)"),
  holder: described(Schema.NullOr(Holder), "Whose account it is; null where the provider did not say"),
  returned: described(Schema.NullOr(Returned), "What came back after the payout was successful; null where nothing did"),
  refund_of: described(Schema.NullOr(Schema.String), "The collection that the payout refunds; null where it refunds none"),
  ...tail
}).annotate({ identifier: "Payout", description: "Money out of your float to a recipient" })

export const TransactionSchema = Schema.Union([CollectionSchema, PayoutSchema]).annotate({
  identifier: "Transaction",
  description: "A collection or a payout; `kind` says which"
})
