import { Schema } from "effect"

/** Why there is no price for a payout (decisions.md section 6). */
export const UnpricedReason = Schema.Literals([
  "destination_required",
  "below_provider_minimum",
  "above_provider_maximum",
  "fee_exceeds_amount",
  "provider_refused"
])
export type UnpricedReason = typeof UnpricedReason.Type
