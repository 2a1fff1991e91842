import { Layer } from "effect"
import type { ApiError } from "../../domain/errors/ApiError.ts"
import { RetriableError } from "../../domain/errors/Retriable.ts"
import { TerminalError } from "../../domain/errors/Terminal.ts"
import { json } from "../../domain/Json.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import { recordView, type Shown } from "../../domain/View.ts"
import type { StoredResponse } from "../../services/ports/Idempotency.ts"
import { ResponseEncoder } from "../../services/ports/Idempotency.ts"

/** The HTTP status of every error code (contract ERR-5). A missing code is a compile error. */
export const httpStatusByCode = {
  validation_failed: 422,
  malformed_request: 400,
  idempotency_key_required: 400,
  idempotency_key_reused: 422,
  amount_type_required: 400,
  mode_mismatch: 400,
  cross_origin_denied: 403,
  capability_not_allowed: 403,
  tenant_frozen: 403,
  destination_blocked: 403,
  screening_denied: 403,
  not_found: 404,
  method_not_allowed: 405,
  payload_too_large: 413,
  unsupported_media_type: 415,
  unknown_currency: 422,
  inexact_amount: 422,
  corridor_unsupported: 422,
  amount_below_minimum: 422,
  amount_above_maximum: 422,
  insufficient_tenant_float: 422,
  insufficient_wallet_float: 422,
  quote_expired: 422,
  payout_rejected_by_provider: 422,
  charge_rejected_by_provider: 422,
  bank_account_unresolvable: 422,
  provider_capability_unsupported: 501,
  unauthorized: 401,
  request_in_progress: 409,
  otp_incorrect: 422,
  velocity_limit_exceeded: 422,
  global_ceiling_reached: 422,
  rate_limited: 429,
  provider_error: 503,
  provider_unavailable: 503,
  provider_timeout: 503,
  provider_bad_response: 503,
  indeterminate_outcome: 409,
  internal_error: 500,
  duplicate_charge_in_flight: 409
} as const satisfies Readonly<Record<ApiError["_tag"], number>>

export type ErrorClass = "terminal" | "retriable" | "ambiguous"

/** The class of an error is the union that contains it. */
export const classOf = (error: ApiError): ErrorClass => {
  if (TerminalError.members.some((member) => error instanceof member)) return "terminal"
  return RetriableError.members.some((member) => error instanceof member) ? "retriable" : "ambiguous"
}

/** The envelope of a success: `data` is the view. */
export const successEnvelope = (status: number, view: unknown): StoredResponse => ({
  status,
  body: json(enveloped(status, view))
})

/** The success response for a record, encoded once for its commit and its request: the stored bytes are the bytes sent. */
export const recordResponse = (status: number, record: Shown<Transaction>): StoredResponse => {
  const known = written.get(record)
  if (known?.status === status) return known
  const response = successEnvelope(status, recordView(record))
  written.set(record, response)
  return response
}
const written = new WeakMap<Shown<Transaction>, StoredResponse>()

/** A view in its envelope, as a wire value. */
export const enveloped = (status: number, view: unknown) => ({ code: status, message: "ok", data: view })

/** An error as the response shows it: its code, its class, and its fields as `details`. */
export const errorView = (error: ApiError) => {
  const errorClass = classOf(error)
  const { _tag, message, ...details } = error
  return {
    // Malformed JSON and invalid fields share one code and differ in their status.
    code: _tag === "malformed_request" ? "validation_failed" : _tag,
    message,
    terminal: errorClass === "terminal",
    retriable: errorClass === "retriable",
    ambiguous: errorClass === "ambiguous",
    details
  }
}

export const errorEnvelope = (error: ApiError): StoredResponse => {
  const status = httpStatusByCode[error._tag]
  return { status, body: json({ code: status, message: error.message, error: errorView(error) }) }
}

export const Envelope = {
  layer: Layer.succeed(ResponseEncoder, ResponseEncoder.of({ success: recordResponse, error: errorEnvelope }))
}
