import { Schema } from "effect"
import { CapSubject } from "../AmountCaps.ts"
import { Currency } from "../Currency.ts"
import { described, optional } from "../Description.ts"
import { EXAMPLE_REFERENCE, Reference } from "../Ids.ts"
import { MinorUnits } from "../Money.ts"

// Retriable: nothing moved and nothing was stored. The same request with the same key may succeed later.

/** Any failure of a signature or a key, always with the same bytes, so that it reveals nothing. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()("unauthorized", {}) {
  override readonly message = "The request is not authorised."
}
/** Another request with the same key is being processed; `reference` where that one already has a transaction. */
export class RequestInProgress extends Schema.TaggedError<RequestInProgress>()("request_in_progress", {
  reference: optional(Reference, "The transaction, where the other request has made one", EXAMPLE_REFERENCE)
}) {
  override readonly message = "An identical request is still being worked on."
}
export class OtpIncorrect extends Schema.TaggedError<OtpIncorrect>()("otp_incorrect", {
  reference: described(Reference, "The collection, which still waits for its code", EXAMPLE_REFERENCE),
  attempts_remaining: described(Schema.Number, "How many more wrong codes are allowed", 4)
}) {
  override readonly message = "The code is not right; the transaction still waits for it."
}
export class VelocityLimitExceeded extends Schema.TaggedError<VelocityLimitExceeded>()("velocity_limit_exceeded", {
  window: described(Schema.Literals(["hour", "day", "destination"]), "Which limit was reached", "destination"),
  retry_after_seconds: described(Schema.Number, "When the window ends, in seconds from now", 1_260),
  scope: optional(Schema.Literal("amount"), "Where a cap of amounts was reached: the members below say which", "amount"),
  applies_to: optional(
    CapSubject,
    "Whose amounts are added up: all of yours, those of one destination or payer, or those of your key"
  ),
  currency: optional(Currency, "The currency of the cap"),
  maximum_minor: optional(MinorUnits, "The cap, in minor units of `currency`. A request of more than that never fits"),
  used_minor: optional(MinorUnits, "What the window has by now"),
  window_ends_at: optional(Schema.String, "When the window ends, UTC")
}) {
  override readonly message = "Too many of these, or too much, in this window."
}
export class GlobalCeilingReached extends Schema.TaggedError<GlobalCeilingReached>()("global_ceiling_reached", {}) {
  override readonly message = "The gateway's ceiling for today is reached."
}
export class RateLimited extends Schema.TaggedError<RateLimited>()("rate_limited", {
  scope: described(
    Schema.Literals(["key", "ip", "number", "code", "server"]),
    "Whose limit was reached: your key's, your address's, the payer's number's, the code's, or the whole server's",
    "key"
  ),
  retry_after_seconds: described(Schema.Number, "When to try again, in seconds from now; the same as the header `Retry-After`", 1)
}) {
  override readonly message = "Too many requests."
}
/** A read from the provider failed: nothing was reserved and nothing was sent. */
export class ProviderError extends Schema.TaggedError<ProviderError>()("provider_error", {
  retry_after_seconds: optional(
    Schema.Number,
    "When to try again, in seconds from now, where the provider takes no more calls of the gateway before; the same as the header `Retry-After`"
  )
}) {
  override readonly message = "The provider cannot be read now."
}

export const RetriableError = Schema.Union([
  Unauthorized,
  RequestInProgress,
  OtpIncorrect,
  VelocityLimitExceeded,
  GlobalCeilingReached,
  RateLimited,
  ProviderError
])
export type RetriableError = typeof RetriableError.Type
