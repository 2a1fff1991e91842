import { Context, Effect, Option } from "effect"
import { ProviderError } from "../../domain/errors/Retriable.ts"
import type { Destination } from "../../domain/Party.ts"
import type { Payout } from "../../domain/Payment.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import { passOver } from "../../runtime/RouteTrail.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { inSpan } from "../../runtime/Tracing.ts"
import type { Claim } from "../ports/Idempotency.ts"
import type { PayoutQuote } from "../ports/Provider.ts"
import { FIRST_REVISION } from "../ports/Transactions.ts"
import { VelocityLimits } from "../ports/VelocityLimits.ts"
import { Failover } from "../routing/Failover.ts"
import { firstToSucceed } from "../routing/Routes.ts"
import { type FinalError, outcomeResponse, type UnknownOutcomeError } from "../settlement/OutcomeResponse.ts"
import { Settlement } from "../settlement/Settlement.ts"
import { type Offer, PayoutPricing, type PayoutProvider, type PayoutRoute, type PayoutTerms } from "./PayoutPricing.ts"

/** A payout whose float is reserved, with the quote of the provider that will send it. */
export interface Dispatch {
  readonly payout: Payout
  readonly command: PayoutTerms & { readonly destination: Destination; readonly narration: string | null }
  readonly route: PayoutRoute
  readonly offer: Pick<Offer, "payoutProvider" | "quote" | "others">
  readonly claim: Claim
}

/** Sends payouts and applies the answers. */
export class PayoutDispatch extends Context.Service<
  PayoutDispatch,
  {
    /**
     * Sends with the failover rule of `Failover`, and applies the answer in one commit with the request's response. Fails with
     * the error for the tenant. A final refusal is stored; an unknown outcome leaves the payout pending, its float reserved.
     */
    readonly send: (dispatch: Dispatch) => Effect.Effect<Transaction, FinalError | UnknownOutcomeError>
  }
>()("gateway/services/PayoutDispatch") {
  static readonly layer = layerOf(PayoutDispatch)(function* () {
    const pricing = yield* PayoutPricing
    const settlement = yield* Settlement
    const limits = yield* VelocityLimits
    const failover = yield* Failover

    const send = Effect.fnUntraced(function* (dispatch: Dispatch) {
      const { claim, command, payout, route } = dispatch
      const { reference } = payout
      const { isRerouted, outcome, raw } = yield* failover.send({
        record: payout,
        recordedAt: payout.createdAt,
        first: dispatch.offer,
        send: ({ payoutProvider, quote }) =>
          payoutProvider.operations.send({
            reference,
            corridor: route.corridor,
            quote,
            destination: route.destination ?? command.destination,
            narration: command.narration,
            sender: route.sender
          }),
        nextAfter: ({ others }) =>
          Effect.option(firstToSucceed(others, (one, index) => takeOver(dispatch, one, others.slice(index + 1)), afterAnyFailure))
      })
      const lastKnown = isRerouted ? null : { transaction: payout, revision: FIRST_REVISION }
      const applied = yield* settlement.apply({ reference, fact: outcome, actor: "request", claim, raw, lastKnown })
      return yield* Effect.fromResult(outcomeResponse(applied, outcome))
    }, inSpan("PayoutDispatch.send"))

    /** The next provider's quote, if the reservation covers it and it delivers what the tenant was promised; otherwise fails. */
    const takeOver = Effect.fnUntraced(function* (
      { command, payout, route }: Dispatch,
      payoutProvider: PayoutProvider,
      others: ReadonlyArray<PayoutProvider>
    ) {
      const { provider } = payoutProvider
      // A ceiling is counted only when the float is reserved, so an account with a ceiling takes no payout over.
      const ceiling = yield* limits.ceiling(provider.name, payout.currency)
      if (Option.isSome(ceiling)) return yield* passedOver(provider.name, "has_ceiling")
      const quote = yield* pricing.requote(route, payoutProvider, command, payout.principal)
      if (!isCovered(payout, quote)) return yield* passedOver(provider.name, "dearer")
      return { provider, fee: quote.fee, feeReturns: quote.feeReturns === true, offer: { payoutProvider, quote, others } }
    })

    return { send }
  })
}

const passedOver = (provider: string, verdict: "has_ceiling" | "dearer") =>
  Effect.andThen(passOver(provider, verdict), Effect.fail(new ProviderError({})))

/** Whatever prevents one provider from taking over, the next one is tried. */
const afterAnyFailure = () => true

/** The reservation and the promise to the tenant must not change: the same amounts, for at most the reserved fee. */
const isCovered = (payout: Payout, quote: PayoutQuote): boolean =>
  quote.principal === payout.principal &&
  quote.destinationAmount === payout.destinationAmount &&
  quote.destinationCurrency === payout.destinationCurrency &&
  quote.fee <= payout.heldFee
