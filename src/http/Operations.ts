import type { ApiError } from "../services/ports/ResponseEncoder.ts"
import executed from "./examples.json" with { type: "json" }

type Code = ApiError["_tag"]

/** What the API description says of an operation besides its schemas. */
export interface Operation {
  readonly summary: string
  /** Its error codes, besides those of the edge for every operation of its kind. */
  readonly errors: ReadonlyArray<Code>
  readonly idempotencyKey?: "required" | "optional"
  /** A POST whose body is not read. */
  readonly withoutBody?: true
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

/** Every operation by its method and route template (contract ENV-8, ERR-5). */
export const operations: Readonly<Record<string, Operation>> = {
  "POST /v1/collections": {
    summary: "Charges a payer",
    idempotencyKey: "required",
    errors: [...keyed, ...amounts, ...charge]
  },
  "POST /v1/collections/{reference}/authorize": {
    summary: "Places the charge that waits for the payer's code",
    idempotencyKey: "optional",
    errors: ["not_found", "idempotency_key_reused", "request_in_progress", ...amounts, ...charge],
    responseHeaders: { Deprecation: "`true` where the body was not wrapped in `authorization`" }
  },
  "POST /v1/collections/otp": {
    summary: "Sends a payer a code",
    errors: [...route, "tenant_frozen", ...party, "provider_error", "provider_capability_unsupported"]
  },
  "GET /v1/collections/{reference}": { summary: "Reads a collection", errors: ["not_found"] },
  "POST /v1/payouts": {
    summary: "Sends money out of the tenant's float",
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
    summary: "Says what a payout would cost; moves nothing",
    errors: [...amounts, "amount_type_required", ...route, "provider_error"]
  },
  "GET /v1/payouts/{reference}": { summary: "Reads a payout", errors: ["not_found"] },
  "GET /v1/transactions": {
    summary: "Lists your collections and payouts, the newest first",
    errors: ["validation_failed"]
  },
  "GET /v1/transactions/{id}": {
    summary: "Reads a collection or a payout without knowing which",
    errors: ["not_found", "capability_not_allowed", "validation_failed", "malformed_request"],
    headers: { "X-Audit-Reason": { description: "Why the raw view is read; required with `view=raw`", required: false } }
  },
  "POST /v1/refunds": {
    summary: "Is not offered by any provider",
    errors: ["provider_capability_unsupported", "inexact_amount"]
  },
  "GET /v1/float": { summary: "The tenant's float, one position a currency", errors: [] },
  "GET /v1/balances": { summary: "The providers' shared wallets", errors: read },
  "GET /v1/reference/banks/{country}": {
    summary: "Banks that can be paid in a country",
    errors: [...read, "not_found", "validation_failed", "corridor_unsupported"]
  },
  "POST /v1/reference/resolve-bank-account": {
    summary: "The holder of a bank account",
    errors: [...read, "bank_account_unresolvable", "corridor_unsupported"]
  },
  "GET /v1/reference/corridors": { summary: "Which routes exist", errors: ["validation_failed"] },
  "GET /v1/reference/countries": { summary: "Where payouts can be delivered, asked of the provider", errors: read },
  "GET /v1/capabilities": { summary: "What the tenant may do", errors: [] },
  "GET /health": { summary: "Whether the gateway answers", errors: [] },
  "GET /health/detail": { summary: "The gateway's release and its providers", errors: [] },
  "GET /v1/beneficiaries": { summary: "Saved recipients, masked", errors: ["validation_failed"] },
  "GET /v1/beneficiaries/{id}": { summary: "One saved recipient, masked", errors: ["not_found"] },
  "DELETE /v1/beneficiaries": {
    summary: "Purges every saved recipient of the tenant, in both modes",
    errors: ["validation_failed"],
    headers: { "X-Confirm-Purge": { description: "The caller's own `app_id`, exactly", required: true } }
  },
  "POST /v1/fx/quote": {
    summary: "What an exchange between the tenant's own wallets would give; moves nothing",
    errors: [...amounts, "capability_not_allowed", "amount_below_minimum", "provider_error", "provider_capability_unsupported"]
  },
  "POST /v1/fx/exchange": {
    summary: "Exchanges money between the tenant's own wallets",
    idempotencyKey: "required",
    errors: [
      ...keyed,
      "capability_not_allowed",
      "tenant_frozen",
      "not_found",
      "quote_expired",
      "provider_capability_unsupported",
      "amount_above_maximum",
      "insufficient_tenant_float",
      "insufficient_wallet_float",
      "payout_rejected_by_provider",
      ...unknown
    ]
  },
  "GET /v1/fx/exchanges/{reference}": { summary: "Reads an exchange", errors: ["not_found"] },
  "GET /v1/webhooks/endpoint": { summary: "Where the tenant's events go", errors: ["not_found"] },
  "PUT /v1/webhooks/endpoint": { summary: "Sets where the tenant's events go", errors: [] },
  "DELETE /v1/webhooks/endpoint": { summary: "Stops the tenant's events", errors: ["not_found"] },
  "POST /v1/webhooks/endpoint/rotate-secret": {
    summary: "Makes a new signing secret; the old one signs too for 24 hours",
    withoutBody: true,
    errors: ["not_found"]
  },
  "POST /v1/webhooks/endpoint/test": {
    summary: "Sends a `webhook.test` event",
    withoutBody: true,
    errors: ["not_found", "validation_failed"]
  },
  "GET /v1/webhooks/deliveries": { summary: "Deliveries and their attempts", errors: ["validation_failed"] },
  "POST /v1/webhooks/deliveries/{id}/redeliver": {
    summary: "Delivers an event again",
    withoutBody: true,
    errors: ["not_found", "validation_failed"]
  },
  "POST /v1/webhooks/recover": { summary: "Delivers again every event since a moment", errors: ["not_found"] },
  "POST /webhooks/{provider}/{route_key}": {
    summary: "Takes a provider's callback; tenants never call it",
    errors: ["unauthorized", "not_found", "payload_too_large", "malformed_request"]
  },
  "PUT /webhooks/{provider}/{route_key}": {
    summary: "Takes the callback of a provider that sends it by PUT; tenants never call it",
    errors: ["unauthorized", "not_found", "payload_too_large", "malformed_request"]
  },
  "GET /openapi.json": { summary: "This description", errors: [] },
  "GET /docs": { summary: "This description as a page", errors: [] }
}

/** The body of a request, and the body of its response. Of a list only the first row. */
export interface Example {
  readonly request?: unknown
  readonly answer: unknown
}

/** By method and route template. `test/scenarios/Examples.test.ts` sends every request again and compares the response with the file. */
export const examples: Readonly<Record<string, Example>> = executed
