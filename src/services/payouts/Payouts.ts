import { Clock, Context, Effect } from "effect"
import { beneficiaryOf } from "../../domain/Beneficiary.ts"
import { corridorKeyOf } from "../../domain/Corridor.ts"
import type { Currency } from "../../domain/Currency.ts"
import {
  type GlobalCeilingReached,
  type ProviderError,
  type RateLimited,
  RequestInProgress,
  type VelocityLimitExceeded
} from "../../domain/errors/Retriable.ts"
import {
  type AmountAboveMaximum,
  AmountBelowMinimum,
  type BankAccountUnresolvable,
  type CapabilityNotAllowed,
  type CorridorUnsupported,
  InsufficientTenantFloat,
  type TenantFrozen,
  type ValidationFailed
} from "../../domain/errors/Terminal.ts"
import { isReference } from "../../domain/Ids.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import { reserve } from "../../domain/Ledger.ts"
import { add, type MinorUnits, minusOrZero, nearestAmount, ZERO } from "../../domain/Money.ts"
import { type Destination, maskedDestination } from "../../domain/Party.ts"
import { recipientIdentity } from "../../domain/PartyIdentity.ts"
import type { Payout } from "../../domain/Payment.ts"
import { stampOf } from "../../domain/ProviderAccount.ts"
import type { Caller } from "../../domain/Tenant.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import type { UnpricedReason } from "../../domain/UnpricedReason.ts"
import { type WindowUse, windowsAt } from "../../domain/VelocityLimits.ts"
import { withMoneyTurn } from "../../runtime/CallTurn.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { whereTooLate } from "../../runtime/TooLate.ts"
import { inSpan } from "../../runtime/Tracing.ts"
import { Admission, requireWithinCorridorBounds, shedWhereTooLate } from "../admission/Admission.ts"
import { type PartyRefusal, PartyScreening, type ScreenedClaim } from "../admission/PartyScreening.ts"
import { Velocity } from "../admission/Velocity.ts"
import { newRecord, recordOpener } from "../NewRecord.ts"
import { FloatLedger } from "../ports/FloatLedger.ts"
import type { Claim } from "../ports/Idempotency.ts"
import type { PayoutQuote, QuoteRefused } from "../ports/Provider.ts"
import { RandomSource } from "../ports/RandomSource.ts"
import { accountHashOf, Vault } from "../ports/Vault.ts"
import type { FinalError, UnknownOutcomeError } from "../settlement/OutcomeResponse.ts"
import { PayoutDispatch } from "./PayoutDispatch.ts"
import {
  amountCurrencyOf,
  leastMoved,
  leastSent,
  type Offer,
  PayoutPricing,
  type PayoutRoute,
  type PayoutTerms,
  type PricedPayout
} from "./PayoutPricing.ts"
import { unquoted } from "./QuoteRefusals.ts"
import { refundGuard } from "./RefundGuard.ts"

export interface PayoutCommand extends PayoutTerms {
  readonly destination: Destination
  /** The refunded collection, as the tenant names it; absent when it is not a refund. */
  readonly refundOf?: string
  readonly narration: string | null
  /** JSON text of an object, compact. */
  readonly metadata: string
}

export type PayoutRefusal =
  | EstimateRefusal
  | TenantFrozen
  | PartyRefusal
  | AmountAboveMaximum
  | AmountBelowMinimum
  | BankAccountUnresolvable
  | InsufficientTenantFloat
  | RateLimited
  | RequestInProgress
  | VelocityLimitExceeded
  | GlobalCeilingReached
  | FinalError
  | UnknownOutcomeError

/** Money out of the tenant's own float (contract PAY-1 to PAY-47). */
export class Payouts extends Context.Service<
  Payouts,
  {
    /** The windows that must be read with the claim of `create`'s key. */
    readonly windows: (caller: Caller, command: PayoutCommand) => Effect.Effect<ReadonlyArray<WindowUse>>
    /** Screens the recipient; `create` does it unless this was called before. */
    readonly screen: (command: PayoutCommand) => Effect.Effect<void, PartyRefusal>
    /**
     * Admits and prices the payout, reserves amount and fee with the record in one commit, sends it, and applies the answer. A
     * refusal before that commit leaves nothing behind; refusals come in the contract's order. After it a `FinalError` is the
     * outcome and is stored as the request's response; an `UnknownOutcomeError` leaves the payout `pending` with its float
     * reserved, for the poller.
     */
    readonly create: (caller: Caller, command: PayoutCommand, fresh: ScreenedClaim) => Effect.Effect<Transaction, PayoutRefusal>
    /** Estimates the cost, also of what the float cannot cover. Free; moves and reserves nothing. */
    readonly estimate: (caller: Caller, query: PayoutTerms) => Effect.Effect<PayoutEstimate, EstimateRefusal>
  }
>()("gateway/services/Payouts") {
  static readonly layer = layerOf(Payouts)(function* () {
    const admission = yield* Admission
    const screening = yield* PartyScreening
    const velocity = yield* Velocity
    const pricing = yield* PayoutPricing
    const openRecord = yield* recordOpener
    const refunds = yield* refundGuard
    const dispatch = yield* PayoutDispatch
    const randomSource = yield* RandomSource
    const vault = yield* Vault
    const ledger = yield* FloatLedger
    const estimate = yield* payoutEstimator

    const create = Effect.fnUntraced(
      function* (caller: Caller, command: PayoutCommand, fresh: ScreenedClaim) {
        const { claim } = fresh
        const { counted, offer, payout, route } = yield* shedWhereTooLate(prepare(caller, command, fresh))
        const { createdAt, currency, destinationCurrency, heldFee, principal } = payout
        const opening = {
          claim,
          record: payout,
          entry: reserve(currency, add(principal, heldFee)),
          event: "payout.pending",
          note: holderNote(offer.holder, command.destination),
          partyHash: partyHashOf(command),
          ...accountHashOf(command.destination, vault),
          beneficiary: beneficiaryOf(
            { id: yield* randomSource.reference, appId: caller.appId, mode: caller.mode },
            command.destination,
            destinationCurrency,
            createdAt
          )
        } as const
        const opened = yield* refunds.openWithin({ caller, terms: command, principal }, counted, (counters) =>
          openRecord({ ...opening, counters })
        )
        switch (opened._tag) {
          case "Opened":
            yield* offer.opened
            return yield* dispatch.send({ payout, command, route, offer, claim })
          case "OverCap":
            return yield* velocity.refusal(counted[opened.counter])
          case "ShortFloat":
            return yield* shortFloat(caller, command, offer.quote, opened.available)
          // Only charges compete for a payer.
          case "PayerBusy":
            return yield* new RequestInProgress({})
        }
      },
      withMoneyTurn,
      inSpan("Payouts.create")
    )

    /** Everything that comes before the record is opened. */
    const prepare = Effect.fnUntraced(function* (caller: Caller, command: PayoutCommand, fresh: ScreenedClaim) {
      const route = yield* admit(caller, command, fresh)
      const offer = yield* priceWithinBounds(caller, command, route)
      const { claim } = fresh
      const payout = newPayout({ caller, command, claim, route, offer, createdAt: yield* Clock.currentTimeMillis })
      const { createdAt, currency, heldFee, principal, provider } = payout
      // Read again, because a cap may have been set while the payout waited for its quote. Usually cached.
      const windows = yield* velocity.windows(caller, "payout", partyHashOf(command), { currency, amount: principal })
      const spend = { provider, mode: caller.mode, currency, total: add(principal, heldFee), recordedAt: createdAt }
      return { route, offer, payout, counted: yield* velocity.addCeiling(windowsAt(windows, createdAt), spend) }
    })

    // It is needed three times: for the windows at the claim and later, and when the record is opened.
    const partyHashes = new WeakMap<Destination, Uint8Array>()
    const partyHashOf = ({ destination }: PayoutCommand): Uint8Array => {
      const known = partyHashes.get(destination) ?? vault.hash("party", recipientIdentity(destination))
      partyHashes.set(destination, known)
      return known
    }
    const screen = (command: PayoutCommand) => screening.recipient(command.destination)
    const windows = (caller: Caller, command: PayoutCommand) =>
      velocity.windows(caller, "payout", partyHashOf(command), leastMoved(command))

    /** Everything that can be refused before a provider is called, in the contract's order. Its reads are usually cached. */
    const admit = Effect.fnUntraced(function* (caller: Caller, command: PayoutCommand, fresh: ScreenedClaim) {
      yield* admission.requireMoneyCapability(caller, "payouts", fresh.tenant)
      const route = yield* pricing.route(caller, command)
      yield* admission.requireUnderTestCeiling(caller, command.amount, amountCurrencyOf(command))
      yield* fresh.screened ?? screen(command)
      // With a deducted fee or a fixed destination, the amount to send is known only from the quote.
      if (!command.deductFeeFromAmount && command.amountType !== "DESTINATION")
        yield* requireWithinCorridorBounds(route.corridor, command.amount)
      yield* velocity.requireRoom(fresh.windows)
      yield* refunds.requireRefundable({ caller, terms: command, least: command.deductFeeFromAmount ? 1n : command.amount })
      return route
    })

    const priceWithinBounds = Effect.fnUntraced(function* (caller: Caller, command: PayoutCommand, route: PayoutRoute) {
      const bounds = (priced: PricedPayout) => requireWithinBounds(caller, command, route, priced)
      // No holder is looked up for a payout that cannot be opened: its refusal must not depend on the number.
      const wouldOpen = (priced: PricedPayout) =>
        bounds(priced).pipe(
          Effect.andThen(() => availableTo(ledger, caller, command.currency)),
          Effect.match({
            onFailure: () => false,
            onSuccess: (available) => add(priced.quote.principal, priced.quote.fee) <= available
          })
        )
      const offer = yield* pricing
        .price(caller, route, command, wouldOpen)
        .pipe(Effect.catchTag("QuoteRefused", (refused) => refusalOf(caller, command, route, refused)))
      yield* bounds(offer)
      return offer
    })

    /** The amount to send has limits, too: the quote may make it less or more than the requested amount. */
    const requireWithinBounds = Effect.fnUntraced(function* (
      caller: Caller,
      command: PayoutCommand,
      { corridor }: PayoutRoute,
      { quote, reachesMinimum }: PricedPayout
    ) {
      if (!reachesMinimum)
        return yield* new AmountBelowMinimum({ minimum_minor: corridor.minimum ?? ZERO, method: command.method })
      yield* requireWithinCorridorBounds(corridor, quote.principal)
      yield* admission.requireUnderTestCeiling(caller, quote.principal, command.currency)
    })

    /** An amount that is too large is refused for the limit that it exceeds: a maximum, or else the float, even unquoted. */
    const refusalOf = Effect.fnUntraced(function* (
      caller: Caller,
      command: PayoutCommand,
      { corridor }: PayoutRoute,
      refused: QuoteRefused
    ) {
      if (refused.kind === "party" || refused.kind === "inactive" || refused.kind === "no_recipient")
        return yield* unquoted(refused)
      const sent = leastSent(command, refused)
      if (refused.kind === "too_much") {
        yield* requireWithinCorridorBounds(corridor, sent)
        yield* admission.requireUnderTestCeiling(caller, sent, command.currency)
      }
      const available = yield* availableTo(ledger, caller, command.currency)
      const fee = refused.fee ?? ZERO
      if (sent + fee <= available) return yield* unquoted(refused)
      return yield* shortFloat(caller, command, { principal: sent, fee }, available)
    })

    const shortFloat = Effect.fnUntraced(function* (
      caller: Caller,
      command: PayoutCommand,
      quote: Pick<PayoutQuote, "principal" | "fee">,
      available: MinorUnits
    ) {
      // The refusal does not depend on the advice.
      const cheaper = yield* whereTooLate(pricing.cheaperMethod(caller, command, available), () => Effect.undefined)
      return yield* new InsufficientTenantFloat({
        amount_minor: command.amount,
        estimated_fee_minor: quote.fee,
        shortfall_minor: nearestAmount(quote.principal + quote.fee - available),
        ...(cheaper === undefined ? {} : { suggested_method: cheaper.method, suggested_total_minor: cheaper.total })
      })
    })

    return { windows, screen, create, estimate }
  })
}

const availableTo = (ledger: FloatLedger["Service"], { appId, mode }: Caller, wanted: Currency) =>
  Effect.map(
    ledger.positions(appId, mode),
    (positions) => positions.find(({ currency }) => currency === wanted)?.available ?? ZERO
  )

/** A history note that the holder is known by another name, which refuses nothing. */
const holderNote = (holder: Payout["holder"], { _tag }: Destination): string =>
  holder?.isNamed === false
    ? `the ${_tag === "bank" ? "bank" : "provider"} knows the account's holder as ${holder.maskedName}`
    : ""

interface Draft {
  readonly caller: Caller
  readonly command: PayoutCommand
  readonly claim: Claim
  readonly route: PayoutRoute
  readonly offer: Offer
  readonly createdAt: Instant
}

/**
 * The record of the payout. `amount` is the tenant's; the quote derives from it what is sent (`principal`) and what arrives
 * (`destinationAmount`). `heldFee` is the quoted fee and never changes; `fees` starts as that and becomes what is debited.
 */
const newPayout = ({ caller, claim, command, createdAt, offer, route }: Draft): Payout => ({
  ...newRecord(caller, claim, createdAt),
  kind: "payout",
  status: "pending",
  provider: offer.payoutProvider.provider.name,
  ...stampOf(offer.payoutProvider.provider, command.currency),
  amount: command.amount,
  amountCurrency: amountCurrencyOf(command),
  currency: command.currency,
  fees: offer.quote.fee,
  corridor: corridorKeyOf(route.corridor),
  network: route.network,
  narration: command.narration,
  metadata: command.metadata,
  expiresAt: null,
  principal: offer.quote.principal,
  heldFee: offer.quote.fee,
  destinationAmount: offer.quote.destinationAmount,
  destinationCurrency: offer.quote.destinationCurrency,
  amountType: command.amountType,
  deductFeeFromAmount: command.deductFeeFromAmount,
  maskedDestination: maskedDestination(command.destination),
  holder: offer.holder,
  returned: null,
  ...(command.refundOf !== undefined && isReference(command.refundOf) ? { refundOf: command.refundOf } : {}),
  ...(offer.quote.feeReturns === true ? { feeReturns: true } : {})
})

type PayoutEstimate = ReturnType<typeof estimateView>

type EstimateRefusal = CapabilityNotAllowed | CorridorUnsupported | ValidationFailed | ProviderError

/** Estimates what a payout would cost now, and whether the tenant's float covers it. Free; reserves and sends nothing. */
const payoutEstimator = Effect.gen(function* () {
  const admission = yield* Admission
  const pricing = yield* PayoutPricing
  const ledger = yield* FloatLedger

  return Effect.fn("Payouts.estimate")(function* (caller: Caller, terms: PayoutTerms) {
    yield* admission.requireCapability(caller, "payouts")
    const route = yield* pricing.route(caller, terms)
    const quoted = yield* pricing.tryPrice(route, terms)
    const unpriced = unpricedReason(terms, route, quoted)
    const priced = unpriced === undefined && "quote" in quoted ? quoted : undefined
    const available = yield* availableTo(ledger, caller, terms.currency)
    const affordable = priced !== undefined && add(priced.quote.principal, priced.quote.fee) <= available
    const cheaper = affordable || priced === undefined ? undefined : yield* pricing.cheaperMethod(caller, terms, available)
    return estimateView({ terms, route, priced, unpriced, available, cheaper, now: yield* Clock.currentTimeMillis })
  })
})

/** Undefined for a price. Without a provider's reason, it is derived from the corridor's limits, in the source currency. */
const unpricedReason = (
  terms: PayoutTerms,
  { corridor: { maximum, minimum } }: PayoutRoute,
  quoted: PricedPayout | QuoteRefused
): UnpricedReason | undefined => {
  // A fee that takes the whole amount leaves no figures to show. Only a destination says where another currency is paid.
  if ("quote" in quoted) return quoted.quote.principal === ZERO ? "fee_exceeds_amount" : undefined
  if (quoted.kind === "no_recipient") return "destination_required"
  if (quoted.kind === "too_much") return "above_provider_maximum"
  if (quoted.kind === "too_little") return "below_provider_minimum"
  if (terms.destination === null && terms.destinationCurrency !== terms.currency) return "destination_required"
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

/** The response of a quote (contract PAY-29 to PAY-32). The fee's figures are null when the provider does not quote it. */
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
      priced?.reachesMinimum ??
      (unpriced !== "below_provider_minimum" &&
        !terms.deductFeeFromAmount &&
        (corridor.minimum === null || terms.amount >= corridor.minimum)),
    affordable: total !== null && total <= available,
    available_minor: available,
    shortfall_minor: total === null ? null : minusOrZero(total, available),
    ...(cheaper === undefined ? {} : { suggested_method: cheaper.method, suggested_total_minor: cheaper.total }),
    ...(unpriced === undefined ? {} : { unpriced_reason: unpriced }),
    expires_at: priced === undefined ? null : iso(now + priced.quote.expiresInMs)
  }
}
