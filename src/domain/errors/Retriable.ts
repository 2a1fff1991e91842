import { Schema } from "effect"
import { Reference } from "../Ids.ts"

// Retriable: nothing moved and nothing was kept. The same request with the same key may do better later.

/** Any failure of signing or keys, always with the same bytes, so that it tells nothing. */
export class Unauthorized extends Schema.TaggedError<Unauthorized>()("unauthorized", {}) {
  override readonly message = "The request is not authorised."
}
/** Another request does it right now; `reference` where that one has a transaction already. */
export class RequestInProgress extends Schema.TaggedError<RequestInProgress>()("request_in_progress", {
  reference: Schema.optionalKey(Reference)
}) {
  override readonly message = "An identical request is still being worked on."
}
export class OtpIncorrect extends Schema.TaggedError<OtpIncorrect>()("otp_incorrect", {
  reference: Reference,
  attempts_remaining: Schema.Number
}) {
  override readonly message = "The code is not right; the transaction still waits for it."
}
export class VelocityLimitExceeded extends Schema.TaggedError<VelocityLimitExceeded>()("velocity_limit_exceeded", {
  window: Schema.Literals(["hour", "day", "destination"]),
  retry_after_seconds: Schema.Number
}) {
  override readonly message = "Too many of these in this window."
}
export class GlobalCeilingReached extends Schema.TaggedError<GlobalCeilingReached>()("global_ceiling_reached", {}) {
  override readonly message = "The gateway's ceiling for today is reached."
}
export class RateLimited extends Schema.TaggedError<RateLimited>()("rate_limited", {
  scope: Schema.Literals(["key", "ip", "number", "code", "server"]),
  retry_after_seconds: Schema.Number
}) {
  override readonly message = "Too many requests."
}
/** A read from the provider failed: nothing was reserved and nothing was sent. */
export class ProviderError extends Schema.TaggedError<ProviderError>()("provider_error", {}) {
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
