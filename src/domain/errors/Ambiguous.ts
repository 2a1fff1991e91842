import { Schema } from "effect"
import { Currency } from "../Currency.ts"
import { Reference } from "../Ids.ts"
import { MinorUnits } from "../Money.ts"

// Ambiguous: the outcome is not known. Do not reverse; poll the reference, or repeat with the same key.

export class ProviderUnavailable extends Schema.TaggedError<ProviderUnavailable>()("provider_unavailable", {
  reference: Reference
}) {
  override readonly message = "The provider could not be reached; poll the reference."
}
export class ProviderTimeout extends Schema.TaggedError<ProviderTimeout>()("provider_timeout", { reference: Reference }) {
  override readonly message = "The provider did not answer in time; poll the reference."
}
export class ProviderBadResponse extends Schema.TaggedError<ProviderBadResponse>()("provider_bad_response", {
  reference: Reference
}) {
  override readonly message = "The provider's answer cannot be understood; poll the reference."
}
export class IndeterminateOutcome extends Schema.TaggedError<IndeterminateOutcome>()("indeterminate_outcome", {
  reference: Reference
}) {
  override readonly message = "The outcome of the earlier attempt is not known yet; poll the reference."
}
export class InternalError extends Schema.TaggedError<InternalError>()("internal_error", {
  request_id: Schema.String,
  reference: Schema.optionalKey(Reference)
}) {
  override readonly message = "Something went wrong here; repeat the request with its key, or poll."
}
/** The double-charge guard found an earlier charge of the same number: poll that one. */
export class DuplicateChargeInFlight extends Schema.TaggedError<DuplicateChargeInFlight>()("duplicate_charge_in_flight", {
  reference: Reference,
  status: Schema.String,
  amount_minor: MinorUnits,
  currency: Currency,
  metadata: Schema.Unknown,
  created_at: Schema.String,
  already_succeeded: Schema.optionalKey(Schema.Literal("true"))
}) {
  override readonly message = "An earlier charge of this number is under way or has succeeded; poll it."
}

export const AmbiguousError = Schema.Union([
  ProviderUnavailable,
  ProviderTimeout,
  ProviderBadResponse,
  IndeterminateOutcome,
  InternalError,
  DuplicateChargeInFlight
])
export type AmbiguousError = typeof AmbiguousError.Type
