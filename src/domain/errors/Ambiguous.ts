import { Schema } from "effect"
import { Currency } from "../Currency.ts"
import { described, optional } from "../Description.ts"
import { EXAMPLE_REFERENCE, Reference } from "../Ids.ts"
import { MinorUnits } from "../Money.ts"

// Ambiguous: the outcome is not known. Do not reverse; poll the reference, or repeat with the same key.

const polled = described(Reference, "The transaction to poll", EXAMPLE_REFERENCE)

export class ProviderUnavailable extends Schema.TaggedError<ProviderUnavailable>()("provider_unavailable", {
  reference: polled
}) {
  override readonly message = "The provider could not be reached; poll the reference."
}
export class ProviderTimeout extends Schema.TaggedError<ProviderTimeout>()("provider_timeout", {
  reference: polled
}) {
  override readonly message = "The provider did not answer in time; poll the reference."
}
export class ProviderBadResponse extends Schema.TaggedError<ProviderBadResponse>()("provider_bad_response", {
  reference: polled
}) {
  override readonly message = "The provider's answer cannot be understood; poll the reference."
}
export class IndeterminateOutcome extends Schema.TaggedError<IndeterminateOutcome>()("indeterminate_outcome", {
  reference: polled
}) {
  override readonly message = "The outcome of the earlier attempt is not known yet; poll the reference."
}
export class InternalError extends Schema.TaggedError<InternalError>()("internal_error", {
  request_id: described(
    Schema.String,
    "Names the request in the gateway's logs; the same as the header `X-Request-Id`",
    "3f1c9a7e5b2d"
  ),
  reference: optional(Reference, "The transaction to poll, where there is one; otherwise repeat the request with its key")
}) {
  override readonly message = "Something went wrong here; repeat the request with its key, or poll."
}
/** The double-charge guard found an earlier charge of the same number: poll that one. */
export class DuplicateChargeInFlight extends Schema.TaggedError<DuplicateChargeInFlight>()("duplicate_charge_in_flight", {
  reference: described(Reference, "The earlier collection: poll it", EXAMPLE_REFERENCE),
  status: described(
    Schema.String,
    "The status of the earlier collection; `failed` or `expired` where nothing proves yet that it was not paid",
    "successful"
  ),
  amount_minor: described(MinorUnits, "Its amount, in minor units of `currency`", 20_000n),
  currency: described(Currency, "Its currency", "UGX"),
  metadata: described(Schema.Unknown, "Its metadata, to compare with your own before you reverse or book anything", {
    order: "A-1"
  }),
  created_at: described(Schema.String, "When it was created", "2026-11-22T12:45:12.408Z"),
  already_succeeded: optional(Schema.Literal("true"), "The text `true`, only where it has succeeded", "true")
}) {
  override readonly message = "An earlier charge of this number is under way, has succeeded or may still succeed; poll it."
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
