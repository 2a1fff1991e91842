import type { Corridor } from "../domain/Corridor.ts"
import { type Instant, iso } from "../domain/Instant.ts"
import { add, type MinorUnits, minus } from "../domain/Money.ts"
import type { PayoutTerms, Priced, Route } from "./PayoutPricing.ts"
import { amountCurrencyOf, type Unpriced } from "./QuoteRefusals.ts"

export type PayoutEstimate = ReturnType<typeof estimateView>

/** The answer of a quote (decisions.md section 6). The fee's figures are null where there is no price, and then it says why. */
export const estimateView = (
  query: PayoutTerms,
  { corridor }: Route,
  found: Priced | Unpriced,
  available: MinorUnits,
  cheaper: { readonly method: string; readonly total: MinorUnits } | undefined,
  now: Instant
) => {
  const priced = "quote" in found ? found : undefined
  const total = priced === undefined ? null : add(priced.quote.principal, priced.quote.fee)
  return {
    amount_minor: query.amount,
    amount_currency: amountCurrencyOf(query),
    currency: query.currency,
    destination_currency: query.destinationCurrency,
    fees_minor: priced?.quote.fee ?? null,
    total_amount_minor: total,
    destination_amount_minor: priced?.quote.destinationAmount ?? null,
    rate: priced?.quote.rate ?? null,
    amount_type: query.amountType,
    deduct_fee_from_amount: query.deductFeeFromAmount,
    minimum_minor: corridor.minimum,
    maximum_minor: corridor.maximum,
    meets_minimum: priced === undefined ? meetsMinimum(query, corridor, found) : priced.reachesFloor,
    affordable: total !== null && total <= available,
    available_minor: available,
    shortfall_minor: total === null ? null : minus(total, available),
    ...(cheaper === undefined ? {} : { suggested_method: cheaper.method, suggested_total_minor: cheaper.total }),
    expires_at: priced === undefined ? null : iso(now + priced.quote.expiresInMs),
    ...("quote" in found ? {} : { unpriced_reason: found.unpricedReason })
  }
}

/** Of what has no price: as far as the amount by itself tells. */
const meetsMinimum = (query: PayoutTerms, { minimum }: Corridor, found: Priced | Unpriced): boolean => {
  const reason = "quote" in found ? undefined : found.unpricedReason
  if (reason === "below_provider_minimum" || reason === "fee_exceeds_amount") return false
  return minimum === null || amountCurrencyOf(query) !== query.currency || query.amount >= minimum
}
