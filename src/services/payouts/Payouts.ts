import { Clock, Context, Effect, Layer } from "effect"
import { beneficiaryOf } from "../../domain/Beneficiary.ts"
import { corridorKeyOf } from "../../domain/Corridor.ts"
import type { LedgerRecord } from "../../domain/Exchange.ts"
import { type GlobalCeilingReached, RequestInProgress, type VelocityLimitExceeded } from "../../domain/errors/Retriable.ts"
import {
  type AmountAboveMaximum,
  AmountBelowMinimum,
  type BankAccountUnresolvable,
  InsufficientTenantFloat,
  type TenantFrozen
} from "../../domain/errors/Terminal.ts"
import type { Instant } from "../../domain/Instant.ts"
import { reserve } from "../../domain/Ledger.ts"
import { add, LARGEST_AMOUNT, type MinorUnits, minor, minusOrZero, nearestAmount, ZERO } from "../../domain/Money.ts"
import { type Destination, maskedDestination } from "../../domain/Party.ts"
import { recipientIdentity } from "../../domain/PartyIdentity.ts"
import { stampOf } from "../../domain/ProviderAccount.ts"
import type { Caller } from "../../domain/Tenant.ts"
import type { Payout } from "../../domain/Transaction.ts"
import { type WindowUse, windowsAt } from "../../domain/VelocityLimits.ts"
import { inSpan } from "../../runtime/Tracing.ts"
import { Admission, requireWithinCorridorBounds } from "../admission/Admission.ts"
import { type PartyRefusal, PartyScreening, type ScreenedClaim } from "../admission/PartyScreening.ts"
import { Velocity } from "../admission/Velocity.ts"
import { newRecord, recordOpener } from "../NewRecord.ts"
import { FloatLedger } from "../ports/FloatLedger.ts"
import type { Claim } from "../ports/Idempotency.ts"
import type { PayoutQuote, QuoteRefused } from "../ports/Provider.ts"
import { RandomSource } from "../ports/RandomSource.ts"
import { Vault } from "../ports/Vault.ts"
import type { FinalError, UnknownOutcomeError } from "../settlement/OutcomeResponse.ts"
import { PayoutDispatch } from "./PayoutDispatch.ts"
import { amountCurrencyOf, type EstimateRefusal, type PayoutEstimate, payoutEstimator } from "./PayoutEstimate.ts"
import { PayoutPricing, unquoted } from "./PayoutPricing.ts"
import type { Offer, PayoutRoute, PayoutTerms } from "./PayoutQuoteCalculation.ts"

export interface PayoutCommand extends PayoutTerms {
  readonly destination: Destination
  readonly narration: string | null
  /** Compact JSON text of an object. */
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
  | RequestInProgress
  | VelocityLimitExceeded
  | GlobalCeilingReached
  | FinalError
  | UnknownOutcomeError

/** Money out of the tenant's own float (contract PAY-1 to PAY-35). */
export class Payouts extends Context.Service<
  Payouts,
  {
    /** What `create` has to have read when its key is claimed. */
    readonly windows: (caller: Caller, command: PayoutCommand) => Effect.Effect<ReadonlyArray<WindowUse>>
    /** Whether its recipient may be paid; `create` asks where nobody did. */
    readonly screen: (command: PayoutCommand) => Effect.Effect<void, PartyRefusal>
    /**
     * Admits, prices, reserves amount and fee with the record in one commit, sends, and applies what was answered. A refusal before that
     * commit leaves nothing behind; refusals come in the contract's order. After it a `FinalError` is the outcome, stored as the request's
     * answer, and an `UnknownOutcomeError` leaves the payout `pending` with its float reserved, for the poller to ask about.
     */
    readonly create: (caller: Caller, command: PayoutCommand, fresh: ScreenedClaim) => Effect.Effect<LedgerRecord, PayoutRefusal>
    /** Estimates the cost. Free; moves nothing and reserves nothing. Answers also what cannot be afforded. */
    readonly estimate: (caller: Caller, query: PayoutTerms) => Effect.Effect<PayoutEstimate, EstimateRefusal>
  }
>()("gateway/services/Payouts") {
  static readonly layer = Layer.effect(
    Payouts,
    Effect.gen(function* () {
      const admission = yield* Admission
      const screening = yield* PartyScreening
      const velocity = yield* Velocity
      const pricing = yield* PayoutPricing
      const openRecord = yield* recordOpener
      const dispatch = yield* PayoutDispatch
      const randomSource = yield* RandomSource
      const vault = yield* Vault
      const ledger = yield* FloatLedger
      const estimate = yield* payoutEstimator

      const create = Effect.fnUntraced(function* (caller: Caller, command: PayoutCommand, fresh: ScreenedClaim) {
        const { claim, windows } = fresh
        const route = yield* admit(caller, command, fresh)
        const offer = yield* priceWithinBounds(caller, command, route)
        const payout = newPayout({ caller, command, claim, route, offer, createdAt: yield* Clock.currentTimeMillis })
        const { createdAt, currency, destinationCurrency, heldFee, principal, provider } = payout
        const total = add(principal, heldFee)
        const spend = { provider, mode: caller.mode, currency, total, recordedAt: createdAt }
        const counted = yield* velocity.addCeiling(windowsAt(windows, createdAt), spend)
        const opened = yield* openRecord({
          claim,
          record: payout,
          entry: reserve(currency, total),
          event: "payout.pending",
          note: offer.note,
          counters: counted,
          partyHash: partyHashOf(command),
          beneficiary: beneficiaryOf(
            { id: yield* randomSource.reference, appId: caller.appId, mode: caller.mode },
            command.destination,
            destinationCurrency,
            createdAt
          )
        })
        switch (opened._tag) {
          case "Opened":
            return yield* dispatch.send({ payout, command, route, offer, claim })
          case "OverCap":
            return yield* velocity.refusal(counted[opened.counter])
          case "ShortFloat":
            return yield* shortFloat(caller, command, offer.quote, opened.available)
          // Only a charge competes for its payer.
          case "PayerBusy":
            return yield* new RequestInProgress({})
        }
      }, inSpan("Payouts.create"))

      const partyHashOf = ({ destination }: PayoutCommand) => vault.hash("party", recipientIdentity(destination))
      const screen = (command: PayoutCommand) => screening.recipient(command.destination)
      const windows = (caller: Caller, command: PayoutCommand) => velocity.windows(caller, "payout", partyHashOf(command))

      /** Everything that can be refused before a provider is asked, in the contract's order. What it reads is nearly always kept. */
      const admit = Effect.fnUntraced(function* (caller: Caller, command: PayoutCommand, fresh: ScreenedClaim) {
        yield* admission.requireMoneyCapability(caller, "payouts", fresh.tenant)
        const route = yield* pricing.route(caller, command)
        yield* admission.requireUnderTestCeiling(caller, command.amount, amountCurrencyOf(command))
        yield* fresh.screened ?? screen(command)
        // Only the reduced amount, or the source of a fixed destination, is known no earlier than the quote.
        if (!command.deductFeeFromAmount && command.amountType !== "DESTINATION")
          yield* requireWithinCorridorBounds(route.corridor, command.amount)
        yield* velocity.requireRoom(fresh.windows)
        return route
      })

      /** What is sent has its bounds, too: the quote may make it less or more than what was asked for. */
      const priceWithinBounds = Effect.fnUntraced(function* (caller: Caller, command: PayoutCommand, route: PayoutRoute) {
        const offer = yield* pricing
          .price(route, command)
          .pipe(Effect.catchTag("QuoteRefused", (refused) => refusalOf(caller, command, route, refused)))
        if (!offer.reachesMinimum)
          return yield* new AmountBelowMinimum({ minimum_minor: route.corridor.minimum ?? ZERO, method: command.method })
        yield* requireWithinCorridorBounds(route.corridor, offer.quote.principal)
        yield* admission.requireUnderTestCeiling(caller, offer.quote.principal, command.currency)
        return offer
      })

      /** What is too large is refused for what it exceeds: a maximum, or else the float, though nobody quotes it. */
      const refusalOf = Effect.fnUntraced(function* (
        caller: Caller,
        command: PayoutCommand,
        { corridor }: PayoutRoute,
        refused: QuoteRefused
      ) {
        if (refused.kind === "party" || refused.kind === "no_recipient") return yield* unquoted(refused)
        const sent = leastSent(command, refused)
        if (refused.kind === "too_much") {
          yield* requireWithinCorridorBounds(corridor, sent)
          yield* admission.requireUnderTestCeiling(caller, sent, command.currency)
        }
        const positions = yield* ledger.positions(caller.appId, caller.mode)
        const available = positions.find(({ currency }) => currency === command.currency)?.available ?? ZERO
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
        const cheaper = yield* pricing.cheaperMethod(caller, command, available)
        return yield* new InsufficientTenantFloat({
          amount_minor: command.amount,
          estimated_fee_minor: quote.fee,
          shortfall_minor: nearestAmount(quote.principal + quote.fee - available),
          ...(cheaper === undefined ? {} : { suggested_method: cheaper.method, suggested_total_minor: cheaper.total })
        })
      })

      return Payouts.of({ windows, screen, create, estimate })
    })
  )
}

/** What would leave the float at the least for a payout that nobody quotes: a source beyond all counting is at least the largest amount. */
const leastSent = ({ amount, amountType, deductFeeFromAmount }: PayoutCommand, { fee, kind }: QuoteRefused): MinorUnits => {
  if (amountType === "DESTINATION") return kind === "too_much" ? minor(LARGEST_AMOUNT) : ZERO
  return deductFeeFromAmount ? minusOrZero(amount, fee ?? ZERO) : amount
}

interface Draft {
  readonly caller: Caller
  readonly command: PayoutCommand
  readonly claim: Claim
  readonly route: PayoutRoute
  readonly offer: Offer
  readonly createdAt: Instant
}

/**
 * The record, which is the whole payout. `amount` is what the tenant asked for; the quote makes of it what is sent (`principal`) and what
 * arrives (`destinationAmount`). `heldFee` is the quoted fee and never changes; `fees` begins as the same and becomes what is debited.
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
  returned: null
})
