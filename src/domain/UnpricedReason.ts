import { Schema } from "effect"

/** Why a quote has no figures (contract PAY-32). */
export const UnpricedReason = Schema.Literals([
  "destination_required",
  "below_provider_minimum",
  "above_provider_maximum",
  "fee_exceeds_amount",
  "provider_refused"
]).annotate({ identifier: "UnpricedReason", description: "Why the provider does not quote a payout" })
export type UnpricedReason = typeof UnpricedReason.Type
