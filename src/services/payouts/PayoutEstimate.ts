import { type Instant, iso } from "../../domain/Instant.ts"
import { add, type MinorUnits, minusOrZero } from "../../domain/Money.ts"
import type { PayoutRoute, PayoutTerms, Priced } from "./PayoutPrice.ts"

export type PayoutEstimate = ReturnType<typeof estimateView>

/** The currency that a payout's own amount counts: the recipient's for a fixed destination, else the float's. */
export const amountCurrencyOf = (terms: PayoutTerms) =>
  terms.amountType === "DESTINATION" ? terms.destinationCurrency : terms.currency

/** The answer of a quote (contract PAY-29 to PAY-32). The fee's figures are null where the provider will not quote such an amount. */
export const estimateView = (
  query: PayoutTerms,
  { corridor }: PayoutRoute,
  priced: Priced | undefined,
  available: MinorUnits,
  cheaper: { readonly method: string; readonly total: MinorUnits } | undefined,
  now: Instant
) => {
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
    meets_minimum:
      priced?.reachesMinimum ?? (!query.deductFeeFromAmount && (corridor.minimum === null || query.amount >= corridor.minimum)),
    affordable: total !== null && total <= available,
    available_minor: available,
    shortfall_minor: total === null ? null : minusOrZero(total, available),
    ...(cheaper === undefined ? {} : { suggested_method: cheaper.method, suggested_total_minor: cheaper.total }),
    expires_at: priced === undefined ? null : iso(now + priced.quote.expiresInMs)
  }
}
