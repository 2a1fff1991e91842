import { Schema } from "effect"
import { CorridorKey, Method } from "../Corridor.ts"
import { described, exemplified, optional } from "../Description.ts"
import { EXAMPLE_REFERENCE, Reference } from "../Ids.ts"
import { MinorUnits } from "../Money.ts"
import { FailureCode } from "../Payment.ts"

// A definite refusal: nothing moved, and the same key never succeeds. The tag is the wire code, the fields its `details` (ERR-5).

export const Issue = Schema.Struct({
  path: described(Schema.String, "The field, such as `destination.msisdn`; empty for the body itself"),
  message: described(Schema.String, "What is wrong with it, for people; it continues the path and never shows the value")
}).annotate({ identifier: "Issue", description: "What is wrong with one field" })
export type Issue = typeof Issue.Type

/** A well-formed body that breaks a rule of its fields. Issues never contain the rejected value. */
export class ValidationFailed extends Schema.TaggedError<ValidationFailed>()("validation_failed", {
  issues: described(Schema.Array(Issue), "Every mistake, at most 32", [{ path: "destination.msisdn", message: "is required" }])
}) {
  override readonly message = "The request does not follow the rules of its fields."
}
/** For one field. */
export const invalid = (path: string, message: string): ValidationFailed => new ValidationFailed({ issues: [{ path, message }] })
/** The same code for a request that could not be read at all: malformed JSON or a malformed header; answered 400. */
export class MalformedRequest extends Schema.TaggedError<MalformedRequest>()("malformed_request", {
  issues: exemplified(Schema.Array(Issue), [{ path: "", message: "The body is not JSON." }])
}) {
  override readonly message = "The request cannot be read."
}
export class IdempotencyKeyRequired extends Schema.TaggedError<IdempotencyKeyRequired>()("idempotency_key_required", {}) {
  override readonly message = "This request needs an Idempotency-Key header of at most 255 characters."
}
export class IdempotencyKeyReused extends Schema.TaggedError<IdempotencyKeyReused>()("idempotency_key_reused", {}) {
  override readonly message = "This Idempotency-Key was used with other parameters."
}
export class AmountTypeRequired extends Schema.TaggedError<AmountTypeRequired>()("amount_type_required", {}) {
  override readonly message = "A payout across currencies needs amount_type: SOURCE or DESTINATION."
}
export class ModeMismatch extends Schema.TaggedError<ModeMismatch>()("mode_mismatch", {
  key_mode: described(Schema.String, "The mode of your key: `live` or `test`", "live")
}) {
  override readonly message = "The body claims another mode than the key's."
}
export class CrossOriginDenied extends Schema.TaggedError<CrossOriginDenied>()("cross_origin_denied", {}) {
  override readonly message = "Requests from another origin are denied."
}
export class CapabilityNotAllowed extends Schema.TaggedError<CapabilityNotAllowed>()("capability_not_allowed", {
  capability: described(Schema.String, "The capability that is missing", "payouts")
}) {
  override readonly message = "This tenant may not use this capability."
}
export class TenantFrozen extends Schema.TaggedError<TenantFrozen>()("tenant_frozen", {}) {
  override readonly message = "This tenant is frozen and cannot move money."
}
export class DestinationBlocked extends Schema.TaggedError<DestinationBlocked>()("destination_blocked", {}) {
  override readonly message = "This destination is blocked."
}
export class ScreeningDenied extends Schema.TaggedError<ScreeningDenied>()("screening_denied", {}) {
  override readonly message = "This party did not pass screening."
}
export class NotFound extends Schema.TaggedError<NotFound>()("not_found", {}) {
  override readonly message = "There is no such thing."
}
export class MethodNotAllowed extends Schema.TaggedError<MethodNotAllowed>()("method_not_allowed", {}) {
  override readonly message = "This path does not answer to this method."
}
export class PayloadTooLarge extends Schema.TaggedError<PayloadTooLarge>()("payload_too_large", {
  maximum_bytes: described(Schema.Number, "The largest body, in bytes", 65_536)
}) {
  override readonly message = "The request body is too large."
}
export class UnsupportedMediaType extends Schema.TaggedError<UnsupportedMediaType>()("unsupported_media_type", {}) {
  override readonly message = "The request body must be application/json, without compression (Content-Encoding)."
}
export class UnknownCurrency extends Schema.TaggedError<UnknownCurrency>()("unknown_currency", {
  currency: described(Schema.String, "The currency as you sent it", "SHS")
}) {
  override readonly message = "This currency is not known here."
}
export class InexactAmount extends Schema.TaggedError<InexactAmount>()("inexact_amount", {
  field: described(Schema.String, "The name of the amount's field", "amount_minor")
}) {
  override readonly message = "An amount is an exact integer of the currency's smallest unit."
}
export class CorridorUnsupported extends Schema.TaggedError<CorridorUnsupported>()("corridor_unsupported", {
  ...CorridorKey.fields,
  requires_sender: optional(
    Schema.Literal(true),
    "Only where the corridor is open, and the provider requires a sender: your operator has to set it first"
  )
}) {
  override readonly message = "This country, currency, direction and method do not go together here."
}
export class AmountBelowMinimum extends Schema.TaggedError<AmountBelowMinimum>()("amount_below_minimum", {
  minimum_minor: described(MinorUnits, "The smallest amount, in minor units of the payout's `currency`", 10_000n),
  method: described(Method, "The method that it is the minimum of", "bank")
}) {
  override readonly message = "The amount is below the minimum of this method."
}
export class AmountAboveMaximum extends Schema.TaggedError<AmountAboveMaximum>()("amount_above_maximum", {
  maximum_minor: described(MinorUnits, "The largest amount, in minor units of the request's `currency`", 20_000n),
  scope: described(
    Schema.Literals(["corridor", "test_mode"]),
    "Whether it is the corridor's maximum or the ceiling of test mode",
    "test_mode"
  )
}) {
  override readonly message = "The amount is above the maximum."
}
export class InsufficientTenantFloat extends Schema.TaggedError<InsufficientTenantFloat>()("insufficient_tenant_float", {
  amount_minor: described(MinorUnits, "What would be sent without the fee, in minor units of `currency`", 414_000n),
  estimated_fee_minor: described(
    MinorUnits,
    "The provider's fee, in minor units of `currency`; 0 where it quotes none for such an amount",
    5_400n
  ),
  shortfall_minor: described(MinorUnits, "What your float lacks, in minor units of `currency`", 4_400n),
  suggested_method: optional(
    Method,
    "The cheapest other method of the country that your float covers, where there is one",
    "momo"
  ),
  suggested_total_minor: optional(
    MinorUnits,
    "What would leave your float by that method, in minor units of `currency`",
    415_000n
  )
}) {
  override readonly message = "The amount and its fee do not fit in the available float."
}
export class InsufficientWalletFloat extends Schema.TaggedError<InsufficientWalletFloat>()("insufficient_wallet_float", {
  reference: optional(
    Reference,
    "The transaction, where one was made; it has failed and its float is returned",
    EXAMPLE_REFERENCE
  )
}) {
  override readonly message = "The provider's wallet cannot cover this payout now."
}
export class QuoteExpired extends Schema.TaggedError<QuoteExpired>()("quote_expired", {
  quote_id: described(Schema.String, "The quote as you sent it", "T4Q3WTJGACRYPMHR4GN35EV9XM")
}) {
  override readonly message = "The quote has expired."
}
export class PayoutRejectedByProvider extends Schema.TaggedError<PayoutRejectedByProvider>()("payout_rejected_by_provider", {
  reference: described(Reference, "The transaction, which has failed", EXAMPLE_REFERENCE),
  failure_code: exemplified(FailureCode, "invalid_destination")
}) {
  override readonly message = "The provider refused it; its float was returned."
}
export class ChargeRejectedByProvider extends Schema.TaggedError<ChargeRejectedByProvider>()("charge_rejected_by_provider", {
  reference: described(Reference, "The transaction, which has failed", EXAMPLE_REFERENCE),
  failure_code: exemplified(FailureCode, "insufficient_funds")
}) {
  override readonly message = "The provider refused the charge."
}
export class BankAccountUnresolvable extends Schema.TaggedError<BankAccountUnresolvable>()("bank_account_unresolvable", {}) {
  override readonly message = "There is no such bank account."
}
export class ProviderCapabilityUnsupported extends Schema.TaggedError<ProviderCapabilityUnsupported>()(
  "provider_capability_unsupported",
  {
    capability: described(Schema.String, "The capability that is not offered", "refunds"),
    reason: described(Schema.String, "Why it is not offered", "refund_orchestration_not_implemented")
  }
) {
  override readonly message = "The provider does not offer this."
}

export const TerminalError = Schema.Union([
  ValidationFailed,
  MalformedRequest,
  IdempotencyKeyRequired,
  IdempotencyKeyReused,
  AmountTypeRequired,
  ModeMismatch,
  CrossOriginDenied,
  CapabilityNotAllowed,
  TenantFrozen,
  DestinationBlocked,
  ScreeningDenied,
  NotFound,
  MethodNotAllowed,
  PayloadTooLarge,
  UnsupportedMediaType,
  UnknownCurrency,
  InexactAmount,
  CorridorUnsupported,
  AmountBelowMinimum,
  AmountAboveMaximum,
  InsufficientTenantFloat,
  InsufficientWalletFloat,
  QuoteExpired,
  PayoutRejectedByProvider,
  ChargeRejectedByProvider,
  BankAccountUnresolvable,
  ProviderCapabilityUnsupported
])
export type TerminalError = typeof TerminalError.Type
