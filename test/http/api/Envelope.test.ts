import { describe, expect, it } from "vitest"
import { AmbiguousError, DuplicateChargeInFlight, InternalError } from "../../../src/domain/errors/Ambiguous.ts"
import type { ApiError } from "../../../src/domain/errors/ApiError.ts"
import { RetriableError, VelocityLimitExceeded } from "../../../src/domain/errors/Retriable.ts"
import {
  AmountBelowMinimum,
  MalformedRequest,
  NotFound,
  TerminalError,
  ValidationFailed
} from "../../../src/domain/errors/Terminal.ts"
import { Reference } from "../../../src/domain/Ids.ts"
import { RawJson } from "../../../src/domain/Json.ts"
import { minor } from "../../../src/domain/Money.ts"
import { errorEnvelope, httpStatusByCode, successEnvelope } from "../../../src/http/api/Envelope.ts"

const reference = Reference.make("00000000000000000000000001")

/** Status by code (contract ERR-5). */
const table: Readonly<Record<string, number>> = {
  validation_failed: 422,
  idempotency_key_required: 400,
  idempotency_key_reused: 422,
  amount_type_required: 400,
  mode_mismatch: 400,
  unauthorized: 401,
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
  quote_expired: 422,
  payout_rejected_by_provider: 422,
  charge_rejected_by_provider: 422,
  bank_account_unresolvable: 422,
  provider_capability_unsupported: 501,
  duplicate_charge_in_flight: 409,
  indeterminate_outcome: 409,
  provider_unavailable: 503,
  provider_timeout: 503,
  provider_bad_response: 503,
  internal_error: 500,
  request_in_progress: 409,
  otp_incorrect: 422,
  velocity_limit_exceeded: 422,
  global_ceiling_reached: 422,
  insufficient_wallet_float: 422,
  rate_limited: 429,
  provider_error: 503
}

const body = (error: ApiError) => JSON.parse(errorEnvelope(error).body)

describe("the envelope", () => {
  it("has a status for every code of the contract and for nothing else", () => {
    const { malformed_request, ...rest } = httpStatusByCode
    expect(rest).toEqual(table)
    expect(malformed_request).toBe(400)
    expect(TerminalError.members.length + RetriableError.members.length + AmbiguousError.members.length).toBe(
      Object.keys(httpStatusByCode).length
    )
  })

  it("has every error in exactly one class", () => {
    const tags = [...TerminalError.members, ...RetriableError.members, ...AmbiguousError.members].map(
      (member) => member.fields._tag.schema.literal
    )
    expect(new Set(tags).size).toBe(tags.length)
    expect(tags.toSorted()).toEqual(Object.keys(httpStatusByCode).toSorted())
  })

  it.each([
    [new NotFound(), "terminal"],
    [new VelocityLimitExceeded({ window: "hour", retry_after_seconds: 5 }), "retriable"],
    [new InternalError({ request_id: "r" }), "ambiguous"]
  ] as const)("sets exactly one boolean: %s", (error, expected) => {
    const { ambiguous, retriable, terminal } = body(error).error
    expect({ terminal, retriable, ambiguous }).toEqual({ terminal: false, retriable: false, ambiguous: false, [expected]: true })
  })

  it("shows the fields of a refusal as its details, and an empty object where there are none", () => {
    expect(errorEnvelope(new AmountBelowMinimum({ minimum_minor: minor(9007199254740991n), method: "bank" }))).toEqual({
      status: 422,
      body: '{"code":422,"message":"The amount is below the minimum of this method.","error":{"code":"amount_below_minimum","message":"The amount is below the minimum of this method.","terminal":true,"retriable":false,"ambiguous":false,"details":{"minimum_minor":9007199254740991,"method":"bank"}}}'
    })
    expect(body(new NotFound()).error.details).toEqual({})
    expect(body(new InternalError({ request_id: "r", reference })).error.details).toEqual({ request_id: "r", reference })
  })

  it("answers malformed JSON with validation_failed and 400, and malformed fields with the same code and 422", () => {
    const issues = [{ path: "", message: "x" }]
    expect(body(new MalformedRequest({ issues }))).toMatchObject({
      code: 400,
      error: { code: "validation_failed", details: { issues } }
    })
    expect(body(new ValidationFailed({ issues }))).toMatchObject({
      code: 422,
      error: { code: "validation_failed", details: { issues } }
    })
  })

  it("puts metadata into a response as it was received", () => {
    const metadata = new RawJson('{"n":1.0}')
    expect(successEnvelope(201, { metadata, amount_minor: 5n }).body).toBe(
      '{"code":201,"message":"ok","data":{"metadata":{"n":1.0},"amount_minor":5}}'
    )
    const duplicate = new DuplicateChargeInFlight({
      reference,
      status: "pending",
      amount_minor: minor(1n),
      currency: "UGX",
      metadata,
      created_at: "t"
    })
    expect(errorEnvelope(duplicate).body).toContain('"metadata":{"n":1.0}')
  })
})
