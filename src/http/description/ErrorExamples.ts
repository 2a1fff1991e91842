import {
  DuplicateChargeInFlight,
  IndeterminateOutcome,
  InternalError,
  ProviderBadResponse,
  ProviderTimeout,
  ProviderUnavailable
} from "../../domain/errors/Ambiguous.ts"
import type { ApiError } from "../../domain/errors/ApiError.ts"
import {
  GlobalCeilingReached,
  OtpIncorrect,
  ProviderError,
  RateLimited,
  RequestInProgress,
  Unauthorized,
  VelocityLimitExceeded
} from "../../domain/errors/Retriable.ts"
import {
  AmountAboveMaximum,
  AmountBelowMinimum,
  AmountTypeRequired,
  BankAccountUnresolvable,
  CapabilityNotAllowed,
  ChargeRejectedByProvider,
  CorridorUnsupported,
  CrossOriginDenied,
  DestinationBlocked,
  IdempotencyKeyRequired,
  IdempotencyKeyReused,
  InexactAmount,
  InsufficientTenantFloat,
  InsufficientWalletFloat,
  MalformedRequest,
  MethodNotAllowed,
  ModeMismatch,
  NotFound,
  PayloadTooLarge,
  PayoutRejectedByProvider,
  ProviderCapabilityUnsupported,
  QuoteExpired,
  ScreeningDenied,
  TenantFrozen,
  UnknownCurrency,
  UnsupportedMediaType,
  ValidationFailed
} from "../../domain/errors/Terminal.ts"
import { Reference } from "../../domain/Ids.ts"
import { minor } from "../../domain/Money.ts"

const reference = Reference.make("040BVG387GZAXPSHV61R95KJ3J")
const corridor = { country: "NG", currency: "NGN", direction: "payout", method: "momo" } as const

/** One error of each code, as a tenant may meet it. */
export const errorExamples: { readonly [E in ApiError as E["_tag"]]: E } = {
  validation_failed: new ValidationFailed({ issues: [{ path: "destination.msisdn", message: "is required" }] }),
  malformed_request: new MalformedRequest({ issues: [{ path: "", message: "The body is not JSON." }] }),
  idempotency_key_required: new IdempotencyKeyRequired(),
  idempotency_key_reused: new IdempotencyKeyReused(),
  amount_type_required: new AmountTypeRequired(),
  mode_mismatch: new ModeMismatch({ key_mode: "live" }),
  cross_origin_denied: new CrossOriginDenied(),
  capability_not_allowed: new CapabilityNotAllowed({ capability: "payouts" }),
  tenant_frozen: new TenantFrozen(),
  destination_blocked: new DestinationBlocked(),
  screening_denied: new ScreeningDenied(),
  not_found: new NotFound(),
  method_not_allowed: new MethodNotAllowed(),
  payload_too_large: new PayloadTooLarge({ maximum_bytes: 65_536 }),
  unsupported_media_type: new UnsupportedMediaType(),
  unknown_currency: new UnknownCurrency({ currency: "SHS" }),
  inexact_amount: new InexactAmount({ field: "amount_minor" }),
  corridor_unsupported: new CorridorUnsupported(corridor),
  amount_below_minimum: new AmountBelowMinimum({ minimum_minor: minor(10_000n), method: "bank" }),
  amount_above_maximum: new AmountAboveMaximum({ maximum_minor: minor(20_000n), scope: "test_mode" }),
  insufficient_tenant_float: new InsufficientTenantFloat({
    amount_minor: minor(414_000n),
    estimated_fee_minor: minor(5_400n),
    shortfall_minor: minor(4_400n),
    suggested_method: "momo",
    suggested_total_minor: minor(415_000n)
  }),
  insufficient_wallet_float: new InsufficientWalletFloat({ reference }),
  quote_expired: new QuoteExpired({ quote_id: "T4Q3WTJGACRYPMHR4GN35EV9XM" }),
  payout_rejected_by_provider: new PayoutRejectedByProvider({ reference, failure_code: "invalid_destination" }),
  charge_rejected_by_provider: new ChargeRejectedByProvider({ reference, failure_code: "insufficient_funds" }),
  bank_account_unresolvable: new BankAccountUnresolvable(),
  provider_capability_unsupported: new ProviderCapabilityUnsupported({
    capability: "refunds",
    reason: "refund_orchestration_not_implemented"
  }),
  unauthorized: new Unauthorized(),
  request_in_progress: new RequestInProgress({ reference }),
  otp_incorrect: new OtpIncorrect({ reference, attempts_remaining: 4 }),
  velocity_limit_exceeded: new VelocityLimitExceeded({ window: "destination", retry_after_seconds: 1_260 }),
  global_ceiling_reached: new GlobalCeilingReached(),
  rate_limited: new RateLimited({ scope: "key", retry_after_seconds: 1 }),
  provider_error: new ProviderError({}),
  provider_unavailable: new ProviderUnavailable({ reference }),
  provider_timeout: new ProviderTimeout({ reference }),
  provider_bad_response: new ProviderBadResponse({ reference }),
  indeterminate_outcome: new IndeterminateOutcome({ reference }),
  internal_error: new InternalError({ request_id: "3f1c9a7e5b2d" }),
  duplicate_charge_in_flight: new DuplicateChargeInFlight({
    reference,
    status: "successful",
    amount_minor: minor(20_000n),
    currency: "UGX",
    metadata: { order: "A-1" },
    created_at: "2026-11-22T12:45:12.408Z",
    already_succeeded: "true"
  })
}
