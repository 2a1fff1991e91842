import { Clock, Context, Effect, Layer } from "effect"
import { beneficiaryOf } from "../../domain/Beneficiary.ts"
import { corridorKeyOf } from "../../domain/Corridor.ts"
import { encodeEvent } from "../../domain/Event.ts"
import type { LedgerRecord } from "../../domain/Exchange.ts"
import {
  type GlobalCeilingReached,
  type ProviderError,
  RequestInProgress,
  type VelocityLimitExceeded
} from "../../domain/errors/Retriable.ts"
import {
  type AmountAboveMaximum,
  AmountBelowMinimum,
  type BankAccountUnresolvable,
  type CapabilityNotAllowed,
  type CorridorUnsupported,
  type DestinationBlocked,
  InsufficientTenantFloat,
  type ScreeningDenied,
  TenantFrozen,
  type ValidationFailed
} from "../../domain/errors/Terminal.ts"
import type { Instant } from "../../domain/Instant.ts"
import { reserve } from "../../domain/Ledger.ts"
import { add, type MinorUnits, minusOrZero, ZERO } from "../../domain/Money.ts"
import { type Destination, maskedDestination, recipientIdentity } from "../../domain/Party.ts"
import type { Caller } from "../../domain/Tenant.ts"
import type { Payout } from "../../domain/Transaction.ts"
import type { VelocityCounter } from "../../domain/VelocityLimits.ts"
import { transactionView } from "../../domain/View.ts"
import { inSpan } from "../../runtime/Tracing.ts"
import { Admission, requireWithinCorridorBounds } from "../admission/Admission.ts"
import { PartyScreening } from "../admission/PartyScreening.ts"
import { Velocity } from "../admission/Velocity.ts"
import { FloatLedger } from "../ports/FloatLedger.ts"
import type { Claim } from "../ports/Idempotency.ts"
import { Identifiers } from "../ports/Identifiers.ts"
import { Policy } from "../ports/Policy.ts"
import { Vault } from "../ports/Vault.ts"
import type { FinalError, UnknownOutcomeError } from "../settlement/OutcomeResponse.ts"
import { PayoutDispatch } from "./PayoutDispatch.ts"
import { amountCurrencyOf, estimateView, type PayoutEstimate } from "./PayoutEstimate.ts"
import type { Offer, PayoutRoute, PayoutTerms, Priced } from "./PayoutPrice.ts"
import { PayoutPricing } from "./PayoutPricing.ts"

export interface PayoutCommand extends PayoutTerms {
  readonly destination: Destination
  readonly narration: string | null
  /** Compact JSON text of an object. */
  readonly metadata: string
}

type RouteRefusal = CapabilityNotAllowed | CorridorUnsupported | ValidationFailed | ProviderError

export type PayoutRefusal =
  | RouteRefusal
  | TenantFrozen
  | DestinationBlocked
  | ScreeningDenied
  | AmountAboveMaximum
  | AmountBelowMinimum
  | BankAccountUnresolvable
  | InsufficientTenantFloat
  | RequestInProgress
  | VelocityLimitExceeded
  | GlobalCeilingReached
  | FinalError
  | UnknownOutcomeError

/** Money out of the tenant's own float (contract PAY-1 to PAY-34). */
export class Payouts extends Context.Service<
  Payouts,
  {
    /** Quotes, reserves amount and fee, sends, and settles what was answered. Refusals come in the contract's order. */
    readonly create: (caller: Caller, command: PayoutCommand, claim: Claim) => Effect.Effect<LedgerRecord, PayoutRefusal>
    /** Free; moves nothing and reserves nothing. Answers also what cannot be afforded. */
    readonly quote: (caller: Caller, query: PayoutTerms) => Effect.Effect<PayoutEstimate, RouteRefusal>
  }
>()("gateway/services/Payouts") {
  static readonly layer = Layer.effect(
    Payouts,
    Effect.gen(function* () {
      const admission = yield* Admission
      const pricing = yield* PayoutPricing
      const ledger = yield* FloatLedger
      const sending = yield* PayoutDispatch
      const identifiers = yield* Identifiers
      const vault = yield* Vault
      const policy = yield* Policy
      const velocity = yield* Velocity
      const checks = yield* PartyScreening

      const create = Effect.fnUntraced(function* (caller: Caller, command: PayoutCommand, claim: Claim) {
        const partyHash = vault.hash("party", recipientIdentity(command.destination))
        // Found out at the same time; the first refusal in the contract's order counts, whichever comes first.
        const found = yield* Effect.all(
          {
            moves: Effect.exit(admission.requireMoneyCapability(caller, "payouts")),
            route: Effect.exit(pricing.route(caller, command)),
            recipient: Effect.exit(checks.recipient(command.destination)),
            counters: Effect.exit(velocity.check(caller, "payout", partyHash))
          },
          { concurrency: "unbounded" }
        )
        yield* found.moves
        const route = yield* found.route
        yield* admission.requireUnderTestCeiling(caller, command.amount, amountCurrencyOf(command))
        yield* found.recipient
        // Only the reduced amount, or the source of a fixed destination, is known no earlier than the quote.
        if (!command.deductFeeFromAmount && command.amountType !== "DESTINATION")
          yield* requireWithinCorridorBounds(route.corridor, command.amount)
        const counters = yield* found.counters

        const priced = yield* pricing.price(route, command)
        if (!priced.reachesMinimum) {
          return yield* new AmountBelowMinimum({ minimum_minor: route.corridor.minimum ?? ZERO, method: command.method })
        }
        yield* requireWithinCorridorBounds(route.corridor, priced.quote.principal)
        yield* admission.requireUnderTestCeiling(caller, priced.quote.principal, command.currency)

        const total = add(priced.quote.principal, priced.quote.fee)
        const now = yield* Clock.currentTimeMillis
        const payout = opening(caller, command, claim, route, priced, now)
        const counted = yield* velocity.addCeiling(counters, caller, payout.provider, command.currency, total)
        const opened = yield* open(payout, command.destination, claim, counted, priced.note, partyHash)
        if (opened._tag === "OverCap") return yield* velocity.refusal(counted[opened.counter])
        if (opened._tag === "Frozen") return yield* new TenantFrozen({})
        if (opened._tag === "ClaimLost") return yield* new RequestInProgress({})
        if (opened._tag === "ShortFloat") return yield* shortFloat(caller, command, priced, opened.available)

        return yield* sending.send({ payout, command, route, offer: priced, claim })
      }, inSpan("Payouts.create"))

      const open = Effect.fnUntraced(function* (
        payout: Payout,
        destination: Destination,
        claim: Claim,
        counters: ReadonlyArray<VelocityCounter>,
        note: string,
        partyHash: Uint8Array
      ) {
        const { appId, createdAt: at, heldFee, mode, principal, reference, status } = payout
        return yield* ledger.open({
          claim,
          transaction: payout,
          entry: reserve(payout.currency, add(principal, heldFee)),
          line: { at, actor: "request", fact: "Opened", note, status },
          event: encodeEvent(
            { id: yield* identifiers.reference, appId, mode, type: "payout.pending", reference, at },
            transactionView(payout)
          ),
          nextAskAt: at + (policy.pollSchedule.open[0] ?? policy.providerTimeoutMs),
          sealedDestination: yield* vault.sealDestination(destination),
          counters,
          beneficiary: beneficiaryOf(
            { id: yield* identifiers.reference, appId, mode },
            destination,
            payout.destinationCurrency,
            at
          ),
          partyHash
        })
      })

      const shortFloat = Effect.fnUntraced(function* (
        caller: Caller,
        command: PayoutCommand,
        priced: Priced,
        available: MinorUnits
      ) {
        const total = add(priced.quote.principal, priced.quote.fee)
        const cheaper = yield* pricing.cheaper(caller, command, available)
        return yield* new InsufficientTenantFloat({
          amount_minor: command.amount,
          estimated_fee_minor: priced.quote.fee,
          shortfall_minor: minusOrZero(total, available),
          ...(cheaper === undefined ? {} : { suggested_method: cheaper.method, suggested_total_minor: cheaper.total })
        })
      })

      const quote = Effect.fn("Payouts.quote")(function* (caller: Caller, query: PayoutTerms) {
        yield* admission.requireCapability(caller, "payouts")
        const route = yield* pricing.route(caller, query)
        const priced = yield* pricing.tryPrice(route, query)
        const positions = yield* ledger.positions(caller.appId, caller.mode)
        const available = positions.find(({ currency }) => currency === query.currency)?.available ?? ZERO
        const affordable = priced !== undefined && priced.quote.principal + priced.quote.fee <= available
        const cheaper = affordable || priced === undefined ? undefined : yield* pricing.cheaper(caller, query, available)
        const now = yield* Clock.currentTimeMillis
        return estimateView(query, route, priced, available, cheaper, now)
      })

      return Payouts.of({ create, quote })
    })
  )
}

const opening = (
  caller: Caller,
  command: PayoutCommand,
  claim: Claim,
  route: PayoutRoute,
  { payoutProvider, quote }: Offer,
  createdAt: Instant
): Payout => ({
  kind: "payout",
  status: "pending",
  reference: claim.reference,
  appId: caller.appId,
  mode: caller.mode,
  provider: payoutProvider.provider.name,
  providerReference: null,
  needsReview: false,
  amount: command.amount,
  amountCurrency: amountCurrencyOf(command),
  currency: command.currency,
  fees: quote.fee,
  corridor: corridorKeyOf(route.corridor),
  network: route.network,
  narration: command.narration,
  metadata: command.metadata,
  version: 1,
  failure: null,
  createdAt,
  updatedAt: createdAt,
  completedAt: null,
  expiresAt: null,
  asked: 0,
  notFound: 0,
  principal: quote.principal,
  heldFee: quote.fee,
  destinationAmount: quote.destinationAmount,
  destinationCurrency: quote.destinationCurrency,
  amountType: command.amountType,
  deductFeeFromAmount: command.deductFeeFromAmount,
  maskedDestination: maskedDestination(command.destination),
  returned: null
})
