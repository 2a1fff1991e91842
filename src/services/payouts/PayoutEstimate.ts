import { Clock, Effect } from "effect"
import type { ProviderError } from "../../domain/errors/Retriable.ts"
import type { CapabilityNotAllowed, CorridorUnsupported, ValidationFailed } from "../../domain/errors/Terminal.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import { add, type MinorUnits, minusOrZero, ZERO } from "../../domain/Money.ts"
import type { Caller } from "../../domain/Tenant.ts"
import type { UnpricedReason } from "../../domain/UnpricedReason.ts"
import { Admission } from "../admission/Admission.ts"
import { FloatLedger } from "../ports/FloatLedger.ts"
import type { QuoteRefused } from "../ports/Provider.ts"
import { PayoutPricing } from "./PayoutPricing.ts"
import type { PayoutRoute, PayoutTerms, PricedPayout } from "./PayoutQuoteCalculation.ts"

export type PayoutEstimate = ReturnType<typeof estimateView>

export type EstimateRefusal = CapabilityNotAllowed | CorridorUnsupported | ValidationFailed | ProviderError

/** The currency that a payout's own amount counts: the recipient's for a fixed destination, else the float's. */
export const amountCurrencyOf = (terms: PayoutTerms) =>
  terms.amountType === "DESTINATION" ? terms.destinationCurrency : terms.currency

/** Estimates what a payout would cost now, and whether the tenant's float covers it. Free; nothing is reserved or sent. */
export const payoutEstimator = Effect.gen(function* () {
  const admission = yield* Admission
  const pricing = yield* PayoutPricing
  const ledger = yield* FloatLedger

  return Effect.fn("Payouts.estimate")(function* (
    caller: Caller,
    terms: PayoutTerms
  ): Effect.fn.Return<PayoutEstimate, EstimateRefusal> {
    yield* admission.requireCapability(caller, "payouts")
    const route = yield* pricing.route(caller, terms)
    const quoted = yield* pricing.tryPrice(route, terms)
    const unpriced = unpricedReason(terms, route, quoted)
    const priced = unpriced === undefined && "quote" in quoted ? quoted : undefined
    const positions = yield* ledger.positions(caller.appId, caller.mode)
    const available = positions.find(({ currency }) => currency === terms.currency)?.available ?? ZERO
    const affordable = priced !== undefined && add(priced.quote.principal, priced.quote.fee) <= available
    const cheaper = affordable || priced === undefined ? undefined : yield* pricing.cheaperMethod(caller, terms, available)
    return estimateView({ terms, route, priced, unpriced, available, cheaper, now: yield* Clock.currentTimeMillis })
  })
})

/** Undefined for a price. What the provider does not say is read from the corridor's window, which counts the source currency. */
const unpricedReason = (
  terms: PayoutTerms,
  { corridor: { maximum, minimum } }: PayoutRoute,
  quoted: PricedPayout | QuoteRefused
): UnpricedReason | undefined => {
  // A budget that its fee would eat buys nothing: there are no figures to show.
  if ("quote" in quoted) return quoted.quote.principal === ZERO ? "fee_exceeds_amount" : undefined
  if (quoted.kind === "no_recipient") return "destination_required"
  if (quoted.kind === "too_much") return "above_provider_maximum"
  const isOfSource = amountCurrencyOf(terms) === terms.currency
  if (quoted.kind === "party" || !isOfSource) return "provider_refused"
  if (minimum !== null && terms.amount < minimum) return "below_provider_minimum"
  return maximum !== null && terms.amount > maximum ? "above_provider_maximum" : "provider_refused"
}

interface Estimate {
  readonly terms: PayoutTerms
  readonly route: PayoutRoute
  readonly priced: PricedPayout | undefined
  readonly unpriced: UnpricedReason | undefined
  readonly available: MinorUnits
  readonly cheaper: { readonly method: string; readonly total: MinorUnits } | undefined
  readonly now: Instant
}

/** The answer of a quote (contract PAY-29 to PAY-32). The fee's figures are null where the provider will not quote such an amount. */
const estimateView = ({ available, cheaper, now, priced, route: { corridor }, terms, unpriced }: Estimate) => {
  const total = priced === undefined ? null : add(priced.quote.principal, priced.quote.fee)
  return {
    amount_minor: terms.amount,
    amount_currency: amountCurrencyOf(terms),
    currency: terms.currency,
    destination_currency: terms.destinationCurrency,
    fees_minor: priced?.quote.fee ?? null,
    total_amount_minor: total,
    destination_amount_minor: priced?.quote.destinationAmount ?? null,
    rate: priced?.quote.rate ?? null,
    amount_type: terms.amountType,
    deduct_fee_from_amount: terms.deductFeeFromAmount,
    minimum_minor: corridor.minimum,
    maximum_minor: corridor.maximum,
    meets_minimum:
      priced?.reachesMinimum ?? (!terms.deductFeeFromAmount && (corridor.minimum === null || terms.amount >= corridor.minimum)),
    affordable: total !== null && total <= available,
    available_minor: available,
    shortfall_minor: total === null ? null : minusOrZero(total, available),
    ...(cheaper === undefined ? {} : { suggested_method: cheaper.method, suggested_total_minor: cheaper.total }),
    ...(unpriced === undefined ? {} : { unpriced_reason: unpriced }),
    expires_at: priced === undefined ? null : iso(now + priced.quote.expiresInMs)
  }
}
