import { Clock, Context, Effect, Layer, Option } from "effect"
import type { LedgerRecord } from "../../domain/Exchange.ts"
import { ProviderError } from "../../domain/errors/Retriable.ts"
import type { Instant } from "../../domain/Instant.ts"
import type { Destination } from "../../domain/Party.ts"
import { tooLateToSend } from "../../domain/PollSchedule.ts"
import { isTooLateToSend } from "../../domain/TimeLimits.ts"
import type { Payout } from "../../domain/Transaction.ts"
import { withCapturedCall } from "../../runtime/CapturedCall.ts"
import { latestTime } from "../../runtime/LatestTime.ts"
import { inSpan } from "../../runtime/TraceLinks.ts"
import type { Claim } from "../ports/Idempotency.ts"
import { Limits } from "../ports/Limits.ts"
import type { PayoutQuote } from "../ports/Provider.ts"
import { FIRST_REVISION, type StoredTransaction } from "../ports/Transactions.ts"
import { firstToSucceed } from "../routing/Routes.ts"
import { type FinalError, outcomeResponse, type UnknownOutcomeError } from "../settlement/OutcomeResponse.ts"
import { Settlement } from "../settlement/Settlement.ts"
import type { Offer, PayoutProvider, PayoutRoute, PayoutTerms } from "./PayoutPrice.ts"
import { PayoutPricing } from "./PayoutPricing.ts"

/** A payout whose float is reserved, priced by the one who is to send it. */
export interface Dispatch {
  readonly payout: Payout
  readonly command: PayoutTerms & { readonly destination: Destination; readonly narration: string | null }
  readonly route: PayoutRoute
  readonly offer: Pick<Offer, "payoutProvider" | "quote" | "others">
  readonly claim: Claim
}

/** The next offer, and the moment before the record was moved there: what stood still since then is not sent. */
interface Moved {
  readonly offer: Dispatch["offer"]
  readonly at: Instant
}

/** Sends payouts and settles what was answered. */
export class PayoutDispatch extends Context.Service<
  PayoutDispatch,
  {
    /**
     * Sends once. Only what provably never left goes to the next provider, after the record was moved there: whoever dies in between
     * leaves a payout that is asked for at exactly the one provider that may have it.
     */
    readonly send: (dispatch: Dispatch) => Effect.Effect<LedgerRecord, FinalError | UnknownOutcomeError>
  }
>()("gateway/services/PayoutDispatch") {
  static readonly layer = Layer.effect(
    PayoutDispatch,
    Effect.gen(function* () {
      const pricing = yield* PayoutPricing
      const settlement = yield* Settlement
      const limits = yield* Limits

      const send = Effect.fnUntraced(function* (dispatch: Dispatch) {
        const { claim, command, payout, route } = dispatch
        let offer = dispatch.offer
        let recordedAt = payout.createdAt
        let last: StoredTransaction | undefined = { transaction: payout, revision: FIRST_REVISION }
        for (;;) {
          const order = {
            reference: payout.reference,
            corridor: route.corridor,
            quote: offer.quote,
            destination: route.destination ?? command.destination,
            narration: command.narration
          }
          const isLate = isTooLateToSend(recordedAt, yield* latestTime)
          const { outcome, raw } = isLate ? tooLateToSend : yield* withCapturedCall(offer.payoutProvider.part.send(order))
          // A process that stood still knows nothing of what came meanwhile: what it was late with goes to nobody else, either.
          const moved =
            outcome._tag === "NotSent" && !isLate ? yield* reroute({ ...dispatch, offer }, outcome.note) : Option.none<Moved>()
          if (Option.isSome(moved)) {
            offer = moved.value.offer
            recordedAt = moved.value.at
            last = undefined
            continue
          }
          const { reference } = payout
          const settled = yield* settlement.apply({
            reference,
            fact: outcome,
            actor: "request",
            claim,
            raw,
            lastKnown: last ?? null
          })
          return yield* Effect.fromResult(outcomeResponse(settled, outcome))
        }
      }, inSpan("PayoutDispatch.send"))

      /** The next provider's offer, once the record is there; none where nobody is left, or the record has moved on meanwhile. */
      const reroute = Effect.fnUntraced(function* (dispatch: Dispatch, why: string) {
        const { payout, offer } = dispatch
        const next = yield* Effect.option(
          firstToSucceed(
            offer.others,
            (payoutProvider, index) => takingOver(dispatch, payoutProvider, index),
            () => true
          )
        )
        if (Option.isNone(next)) return Option.none()
        const from = offer.payoutProvider.provider.name
        const provider = next.value.payoutProvider.provider.name
        const { fee } = next.value.quote
        const note = [`never sent to ${from}, goes to ${provider}`, why].filter((part) => part !== "").join(": ")
        const at = yield* Clock.currentTimeMillis
        const { reference } = payout
        const fact = { _tag: "Rerouted", provider, fee, note } as const
        const record = yield* settlement.applyFromProvider(from, { reference, fact, actor: "request" })
        const isThere = record.provider === provider && record.status === "pending"
        return isThere ? Option.some<Moved>({ offer: next.value, at }) : Option.none()
      })

      /** What was reserved has to cover it, and what the tenant was told has to stay true. */
      const takingOver = Effect.fnUntraced(function* (
        { command, offer, payout, route }: Dispatch,
        payoutProvider: PayoutProvider,
        index: number
      ) {
        // A ceiling is counted when the float is reserved, and only there: an account that has one takes nothing over.
        const ceiling = yield* limits.ceiling(payoutProvider.provider.name, payout.currency)
        if (Option.isSome(ceiling)) return yield* new ProviderError()
        const quote = yield* pricing.again(route, payoutProvider, command, payout.principal)
        if (!isCovered(payout, quote)) return yield* new ProviderError()
        return { payoutProvider, quote, others: offer.others.slice(index + 1) }
      })

      return PayoutDispatch.of({ send })
    })
  )
}

const isCovered = (payout: Payout, quote: PayoutQuote): boolean =>
  quote.principal === payout.principal &&
  quote.destinationAmount === payout.destinationAmount &&
  quote.destinationCurrency === payout.destinationCurrency &&
  quote.fee <= payout.heldFee
