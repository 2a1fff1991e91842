import { Clock, Context, Effect, Option, Redacted, Result } from "effect"
import type { Currency } from "../../domain/Currency.ts"
import { ProviderError } from "../../domain/errors/Retriable.ts"
import {
  AmountBelowMinimum,
  type AmountTypeRequired,
  type CapabilityNotAllowed,
  type InexactAmount,
  type ModeMismatch,
  type UnknownCurrency,
  type ValidationFailed
} from "../../domain/errors/Terminal.ts"
import { type Instant, iso } from "../../domain/Instant.ts"
import { type MinorUnits, minusOrZero, nearestAmount, ZERO } from "../../domain/Money.ts"
import { recipientIdentity } from "../../domain/PartyIdentity.ts"
import type { Caller } from "../../domain/Tenant.ts"
import { RouteTrail } from "../../runtime/RouteTrail.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { Admission, requireWithinCorridorBounds } from "../admission/Admission.ts"
import { PartyScreening } from "../admission/PartyScreening.ts"
import { FloatLedger } from "../ports/FloatLedger.ts"
import type { PayoutQuote } from "../ports/Provider.ts"
import { Vault } from "../ports/Vault.ts"
import { amountCurrencyOf, leastSent, PayoutPricing } from "./PayoutPricing.ts"
import type { PayoutCommand, PayoutRefusal } from "./Payouts.ts"
import { unquoted } from "./QuoteRefusals.ts"

/** Refusals of a body that is not a payout. */
type BodyRefusal = ValidationFailed | UnknownCurrency | InexactAmount | AmountTypeRequired | ModeMismatch

/** A payout of the list, or why its body is not one. */
export type ListedPayout = Result.Result<PayoutCommand, BodyRefusal>

/** Prices a list of payouts before the first is sent (contract PAY-41 to PAY-44 and PAY-48). Moves, reserves and claims nothing. */
export class PayoutQuotes extends Context.Service<
  PayoutQuotes,
  {
    /** Each payout gets its price or the refusal that it would get; one without a price in time is a `ProviderError`. */
    readonly price: (caller: Caller, payouts: ReadonlyArray<ListedPayout>) => Effect.Effect<PricedList, CapabilityNotAllowed>
  }
>()("gateway/services/PayoutQuotes") {
  static readonly layer = layerOf(PayoutQuotes)(function* () {
    const admission = yield* Admission
    const screening = yield* PartyScreening
    const pricing = yield* PayoutPricing
    const ledger = yield* FloatLedger
    const vault = yield* Vault

    const price = Effect.fn("PayoutQuotes.price")(function* (caller: Caller, payouts: ReadonlyArray<ListedPayout>) {
      yield* admission.requireCapability(caller, "payouts")
      const end = (yield* Clock.currentTimeMillis) + QUOTED_WITHIN_MS
      const quoted = yield* Effect.forEach(
        payouts,
        (payout) => Effect.result(Effect.flatMap(Effect.fromResult(payout), (command) => quoteBy(caller, command, end))),
        { concurrency: QUOTED_AT_ONCE }
      )
      const positions = yield* ledger.positions(caller.appId, caller.mode)
      const earlier = earlierOf(payouts)
      const recipients = payouts.map((payout) => (Result.isFailure(payout) ? null : recipientOf(caller, payout.success)))
      return {
        items: quoted.map((result, at) => ({
          quote: Result.isSuccess(result) ? result.success : null,
          error: Result.isFailure(result) ? result.failure : null,
          duplicate_of: earlier[at] ?? null,
          recipient: recipients[at] ?? null
        })),
        totals: totalsOf(
          quoted.flatMap((result) => (Result.isSuccess(result) ? [result.success] : [])),
          (wanted) => positions.find(({ currency }) => currency === wanted)?.available ?? ZERO
        )
      }
    })

    /** Identifies a recipient of one tenant and mode across lists, and nothing else. The hash is not stored. */
    const recipientOf = ({ appId, mode }: Caller, { destination }: PayoutCommand): string => {
      const text = Redacted.make(`${appId} ${mode} ${Redacted.value(recipientIdentity(destination))}`)
      return Buffer.from(vault.hash("listed_recipient", text)).subarray(0, RECIPIENT_BYTES).toString("base64url")
    }

    /** After the time for the whole list, no provider call is begun or waited for. */
    const quoteBy = Effect.fnUntraced(function* (caller: Caller, command: PayoutCommand, end: Instant) {
      const now = yield* Clock.currentTimeMillis
      // A list's payouts have no `RouteTrail`, which belongs to the request's own payment.
      const found = yield* quote(caller, command).pipe(
        Effect.provideService(RouteTrail, null),
        Effect.timeoutOption(Math.max(0, end - now))
      )
      return Option.isSome(found) ? found.value : yield* new ProviderError({})
    })

    /** The refusals that a payout meets before its float is checked, in the same order. */
    const quote = Effect.fnUntraced(function* (caller: Caller, command: PayoutCommand) {
      const route = yield* pricing.route(caller, command)
      const { corridor } = route
      yield* admission.requireUnderTestCeiling(caller, command.amount, amountCurrencyOf(command))
      yield* screening.recipient(command.destination)
      if (!command.deductFeeFromAmount && command.amountType !== "DESTINATION")
        yield* requireWithinCorridorBounds(corridor, command.amount)
      const priced = yield* pricing.tryPrice(route, command)
      if (!("quote" in priced)) {
        const sent = leastSent(command, priced)
        if (priced.kind === "too_much") {
          yield* requireWithinCorridorBounds(corridor, sent)
          yield* admission.requireUnderTestCeiling(caller, sent, command.currency)
        }
        return yield* unquoted(priced)
      }
      if (!priced.reachesMinimum)
        return yield* new AmountBelowMinimum({ minimum_minor: corridor.minimum ?? ZERO, method: command.method })
      yield* requireWithinCorridorBounds(corridor, priced.quote.principal)
      yield* admission.requireUnderTestCeiling(caller, priced.quote.principal, command.currency)
      return quoteView(command, priced.quote, yield* Clock.currentTimeMillis)
    })

    return { price }
  })
}

/** Per list. Providers are called at their account's pace, which all tenants share. */
const QUOTED_AT_ONCE = 8
const RECIPIENT_BYTES = 16
/** A response must come within 30 s. */
const QUOTED_WITHIN_MS = 20_000

interface PricedList {
  readonly items: ReadonlyArray<{
    readonly quote: QuoteView | null
    readonly error: BodyRefusal | PayoutRefusal | null
    readonly duplicate_of: Earlier | null
    readonly recipient: string | null
  }>
  readonly totals: ReadonlyArray<Total>
}

type QuoteView = ReturnType<typeof quoteView>

const quoteView = (
  command: PayoutCommand,
  { destinationAmount, expiresInMs, fee, principal, rate }: PayoutQuote,
  now: Instant
) => ({
  amount_minor: command.amount,
  amount_currency: amountCurrencyOf(command),
  currency: command.currency,
  principal_minor: principal,
  fees_minor: fee,
  total_amount_minor: nearestAmount(principal + fee),
  destination_amount_minor: destinationAmount,
  destination_currency: command.destinationCurrency,
  rate,
  expires_at: iso(now + expiresInMs)
})

/** The first payout in the list to the same recipient, counted from 0. */
interface Earlier {
  readonly item: number
  readonly same_amount: boolean
}

/** A recipient is the same however it is written. Only positions in the list are returned. */
const earlierOf = (payouts: ReadonlyArray<ListedPayout>): ReadonlyArray<Earlier | undefined> => {
  const recipients = new Map<string, number>()
  const amounts = new Map<string, number>()
  return payouts.map((payout, at) => {
    if (Result.isFailure(payout)) return undefined
    const command = payout.success
    const recipient = Redacted.value(recipientIdentity(command.destination))
    const amount = [recipient, command.amount, amountCurrencyOf(command)].join(" ")
    const [same, other] = [amounts.get(amount), recipients.get(recipient)]
    if (same === undefined) amounts.set(amount, at)
    if (other === undefined) recipients.set(recipient, at)
    const item = same ?? other
    return item === undefined ? undefined : { item, same_amount: same !== undefined }
  })
}

interface Total {
  readonly currency: Currency
  readonly items: number
  readonly principal_minor: MinorUnits
  readonly fees_minor: MinorUnits
  readonly total_amount_minor: MinorUnits
  readonly available_minor: MinorUnits
  readonly shortfall_minor: MinorUnits
}

/** The totals that would leave the float, one per currency, in the order of the list. */
const totalsOf = (quotes: ReadonlyArray<QuoteView>, availableIn: (currency: Currency) => MinorUnits): ReadonlyArray<Total> =>
  [...new Set(quotes.map(({ currency }) => currency))].map((currency) => {
    const own = quotes.filter((quote) => quote.currency === currency)
    const sum = (member: "principal_minor" | "fees_minor" | "total_amount_minor") =>
      nearestAmount(own.reduce((total, quote) => total + quote[member], 0n))
    const available = availableIn(currency)
    return {
      currency,
      items: own.length,
      principal_minor: sum("principal_minor"),
      fees_minor: sum("fees_minor"),
      total_amount_minor: sum("total_amount_minor"),
      available_minor: available,
      shortfall_minor: minusOrZero(sum("total_amount_minor"), available)
    }
  })
