import type { ApiError } from "../../domain/errors/ApiError.ts"
import executed from "./examples.json" with { type: "json" }

type Code = ApiError["_tag"]

/** What the API description says of an operation besides its schemas and its text. */
export interface Operation {
  /** Its error codes, besides those of the edge for every operation of its kind. */
  readonly errors: ReadonlyArray<Code>
  readonly idempotencyKey?: "required" | "optional"
  /** A POST whose body is not read. */
  readonly withoutBody?: true
  /** Query parameters that its schema cannot name. */
  readonly parameters?: ReadonlyArray<Readonly<Record<string, unknown>>>
  /** Request headers of its own. */
  readonly headers?: Readonly<Record<string, { readonly description: string; readonly required: boolean }>>
  /** Headers of its successful response. */
  readonly responseHeaders?: Readonly<Record<string, string>>
}

const keyed = ["idempotency_key_required", "idempotency_key_reused", "request_in_progress", "indeterminate_outcome"] as const
const amounts = ["unknown_currency", "inexact_amount"] as const
const route = ["capability_not_allowed", "corridor_unsupported"] as const
const window = ["amount_below_minimum", "amount_above_maximum"] as const
const party = ["destination_blocked", "screening_denied"] as const
const counted = ["velocity_limit_exceeded", "global_ceiling_reached"] as const
const unknown = ["provider_unavailable", "provider_timeout", "provider_bad_response", "indeterminate_outcome"] as const
const charge = [
  ...route,
  "tenant_frozen",
  ...window,
  ...party,
  "duplicate_charge_in_flight",
  ...counted,
  "otp_incorrect",
  "charge_rejected_by_provider",
  "provider_error",
  ...unknown
] as const
const read = ["capability_not_allowed", "provider_error", "provider_capability_unsupported"] as const

/** A parameter whose name holds a name of the tenant's own. Its members are parameters of their own: `?metadata.order=A-1`. */
const metadataFilter = {
  name: "metadata",
  in: "query",
  required: false,
  description:
    "Only those whose metadata has this member with exactly this text. Send it as `metadata.KEY=VALUE`, once: `metadata.order=A-1`",
  style: "form",
  explode: true,
  schema: {
    type: "object",
    propertyNames: { type: "string", pattern: "^metadata\\..+$" },
    additionalProperties: { type: "string" },
    maxProperties: 1
  },
  example: { "metadata.order": "A-1" }
}

/** Every operation by its method and route template (contract ENV-8, ERR-5). */
export const operations: Readonly<Record<string, Operation>> = {
  "POST /v1/collections": {
    idempotencyKey: "required",
    errors: [...keyed, ...amounts, ...charge]
  },
  "POST /v1/collections/{reference}/authorize": {
    idempotencyKey: "optional",
    errors: ["not_found", "idempotency_key_reused", "request_in_progress", ...amounts, ...charge],
    responseHeaders: { Deprecation: "`true` where the body was not wrapped in `authorization`" }
  },
  "POST /v1/collections/otp": {
    errors: [...route, "tenant_frozen", ...party, "provider_error", "provider_capability_unsupported"]
  },
  "GET /v1/collections/{reference}": { errors: ["not_found"] },
  "POST /v1/payouts": {
    idempotencyKey: "required",
    errors: [
      ...keyed,
      ...amounts,
      "amount_type_required",
      ...route,
      "tenant_frozen",
      ...window,
      ...party,
      "bank_account_unresolvable",
      "provider_error",
      ...counted,
      "insufficient_tenant_float",
      "insufficient_wallet_float",
      "payout_rejected_by_provider",
      ...unknown
    ]
  },
  "POST /v1/payouts/quote": {
    errors: [...amounts, "amount_type_required", ...route, "provider_error"]
  },
  "GET /v1/payouts/{reference}": { errors: ["not_found"] },
  "GET /v1/transactions": {
    parameters: [metadataFilter],
    errors: ["validation_failed"]
  },
  "GET /v1/transactions/{id}": {
    errors: ["not_found", "capability_not_allowed", "validation_failed", "malformed_request"],
    headers: { "X-Audit-Reason": { description: "Why the raw view is read; required with `view=raw`", required: false } }
  },
  "POST /v1/refunds": {
    errors: ["provider_capability_unsupported", "inexact_amount"]
  },
  "GET /v1/float": { errors: [] },
  "GET /v1/balances": { errors: read },
  "GET /v1/reference/banks/{country}": {
    errors: [...read, "not_found", "validation_failed", "corridor_unsupported"]
  },
  "GET /v1/reference/banks/{country}/{bank_code}/branches": {
    errors: [...read, "not_found", "validation_failed", "corridor_unsupported"]
  },
  "POST /v1/reference/resolve-bank-account": {
    errors: [...read, "bank_account_unresolvable", "corridor_unsupported"]
  },
  "GET /v1/reference/corridors": { errors: ["validation_failed"] },
  "GET /v1/reference/countries": { errors: read },
  "GET /v1/capabilities": { errors: [] },
  "GET /health": { errors: [] },
  "GET /health/detail": { errors: [] },
  "GET /v1/beneficiaries": { errors: ["validation_failed"] },
  "GET /v1/beneficiaries/{id}": { errors: ["not_found"] },
  "DELETE /v1/beneficiaries": {
    errors: ["validation_failed"],
    headers: { "X-Confirm-Purge": { description: "The caller's own `app_id`, exactly", required: true } }
  },
  "POST /v1/fx/quote": {
    errors: [...amounts, "capability_not_allowed", "amount_below_minimum", "provider_error", "provider_capability_unsupported"]
  },
  "POST /v1/fx/exchange": {
    idempotencyKey: "required",
    errors: [
      ...keyed,
      "capability_not_allowed",
      "tenant_frozen",
      "not_found",
      "quote_expired",
      "provider_capability_unsupported",
      "amount_above_maximum",
      "provider_error",
      "insufficient_tenant_float",
      "insufficient_wallet_float",
      "payout_rejected_by_provider",
      ...unknown
    ]
  },
  "GET /v1/fx/exchanges/{reference}": { errors: ["not_found"] },
  "GET /v1/webhooks/endpoint": { errors: ["not_found"] },
  "PUT /v1/webhooks/endpoint": { errors: [] },
  "DELETE /v1/webhooks/endpoint": { errors: ["not_found"] },
  "POST /v1/webhooks/endpoint/rotate-secret": {
    withoutBody: true,
    errors: ["not_found"]
  },
  "POST /v1/webhooks/endpoint/test": {
    withoutBody: true,
    errors: ["not_found", "validation_failed"]
  },
  "GET /v1/webhooks/deliveries": { errors: ["validation_failed"] },
  "POST /v1/webhooks/deliveries/{id}/redeliver": {
    withoutBody: true,
    errors: ["not_found", "validation_failed"]
  },
  "POST /v1/webhooks/recover": { errors: ["not_found"] },
  "POST /webhooks/{provider}/{route_key}": {
    errors: ["unauthorized", "not_found", "payload_too_large", "malformed_request"]
  },
  "PUT /webhooks/{provider}/{route_key}": {
    errors: ["unauthorized", "not_found", "payload_too_large", "malformed_request"]
  },
  "GET /openapi.json": { errors: [] },
  "GET /docs": { errors: [] }
}

/** The body of a request, and the body of its response. Of a list only the first row. */
export interface Example {
  readonly request?: unknown
  readonly answer: unknown
}

/** By method and route template. `test/scenarios/requests/Examples.test.ts` sends every request again and compares the response with the file. */
export const examples: Readonly<Record<string, Example>> = executed
