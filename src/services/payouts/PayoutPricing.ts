import { Context, Effect, Option } from "effect"
import type { MovedAmount } from "../../domain/AmountCaps.ts"
import type { Corridor, CorridorKey, Method } from "../../domain/Corridor.ts"
import type { Currency } from "../../domain/Currency.ts"
import { largestAmountWithin } from "../../domain/DeductedFee.ts"
import type { ProviderError } from "../../domain/errors/Retriable.ts"
import {
  type AmountAboveMaximum,
  type AmountBelowMinimum,
  type BankAccountUnresolvable,
  CorridorUnsupported,
  invalid,
  type ValidationFailed
} from "../../domain/errors/Terminal.ts"
import { add, LARGEST_AMOUNT, type MinorUnits, minor, minusOrZero, ZERO } from "../../domain/Money.ts"
import type { Destination } from "../../domain/Party.ts"
import type { AmountType } from "../../domain/Payment.ts"
import type { Sender } from "../../domain/Sender.ts"
import type { Caller } from "../../domain/Tenant.ts"
import { bankUnknown, noPrice, noteChosen, orPassOver, outsideLimits } from "../../runtime/RouteTrail.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { inSpan } from "../../runtime/Tracing.ts"
import { Admission, requireNetwork } from "../admission/Admission.ts"
import { Corridors } from "../ports/Corridors.ts"
import type { PayoutOperations, PayoutQuote, Provider, QuoteRefused } from "../ports/Provider.ts"
import { Tenants } from "../ports/Tenants.ts"
import { BankAccounts, bankCodesOf, needsBranch } from "../reference/BankAccounts.ts"
import { requireWithinNetworkLimits } from "../routing/NetworkLimits.ts"
import { firstToSucceed, type PaymentRoute, type RoutedProvider, Routes, reaching } from "../routing/Routes.ts"
import { type HolderLookup, holderLookups } from "./HolderLookups.ts"
import { orderedByPrice } from "./PriceRanking.ts"
import { goesToNextProvider, outside, uncountable, withoutRecipient } from "./QuoteRefusals.ts"

/**
 * Prices payouts with the providers' own quotes: it decides which providers are asked, in which order, and when the next one
 * is. The functions at the end ask one provider.
 */
export class PayoutPricing extends Context.Service<
  PayoutPricing,
  {
    readonly route: (caller: Caller, terms: PayoutTerms) => Effect.Effect<PayoutRoute, CorridorUnsupported | ValidationFailed>
    /**
     * Confirms the bank account and requests a quote from the providers in turn. A refused quote is an error (`unquoted`
     * translates it): without a price nothing is reserved. An amount outside the limits of every provider is refused with those
     * of the first. A mobile-money holder is looked up last, and only if the payout would be opened at that price.
     */
    readonly price: (
      caller: Caller,
      route: PayoutRoute,
      terms: PayoutTerms & { readonly destination: Destination },
      wouldOpen: (priced: PricedPayout) => Effect.Effect<boolean>
    ) => Effect.Effect<Offer, ProviderError | QuoteRefused | BankAccountUnresolvable | LimitRefusal>
    /** Another provider's quote for a payout that was priced before. `principal`: the amount to send. */
    readonly requote: (
      route: PayoutRoute,
      payoutProvider: PayoutProvider,
      terms: PayoutTerms & { readonly destination: Destination },
      principal: MinorUnits
    ) => Effect.Effect<PayoutQuote, ProviderError | QuoteRefused | LimitRefusal>
    /** Here a refused quote is a result. */
    readonly tryPrice: (route: PayoutRoute, terms: PayoutTerms) => Effect.Effect<PricedPayout | QuoteRefused, ProviderError>
    /** The cheapest other method to the country for which the float suffices. Advisory: undefined when it cannot be computed. */
    readonly cheaperMethod: (
      caller: Caller,
      terms: PayoutTerms,
      available: MinorUnits
    ) => Effect.Effect<{ method: Method; total: MinorUnits } | undefined>
  }
>()("gateway/services/PayoutPricing") {
  static readonly layer = layerOf(PayoutPricing)(function* () {
    const admission = yield* Admission
    const routes = yield* Routes
    const accounts = yield* BankAccounts
    const corridors = yield* Corridors
    const tenants = yield* Tenants
    const lookUpHolder = yield* holderLookups
    const scope = yield* Effect.scope

    /** Read once, when the route is chosen: the payout is sent with this payer, whatever an operator changes in the meantime. */
    const senderFor = (caller: Caller, corridor: Corridor, providers: ReadonlyArray<PayoutProvider>) =>
      providers.some(({ operations }) => operations.sender?.(corridor) !== undefined)
        ? Effect.filterOrElse(
            tenants.sender(caller.appId),
            (sender) => sender !== "unreadable",
            () => Effect.die(new Error("the tenant's sender stopped opening while its route was chosen"))
          )
        : Effect.succeed(null)

    /** For another country or currency, the destination's own corridor must be active; it also lists the networks. */
    const destinationCorridor = (terms: PayoutTerms, destination: Destination) =>
      admission.corridor({
        country: destination.country,
        currency: terms.destinationCurrency,
        direction: "payout",
        method: terms.method
      })

    const ordered = (payoutRoute: PayoutRoute, terms: PayoutTerms) =>
      orderedByPrice(payoutRoute, {
        scope,
        ready: ({ provider }) => routes.requireReady(provider, "send"),
        ask: (one) => askPrice(payoutRoute, one, terms).pipe(orPassOver(one.provider.name, noPrice))
      })

    const totalBy = Effect.fnUntraced(function* (caller: Caller, corridor: Corridor, terms: PayoutTerms) {
      const providers = yield* routes.forCorridor(caller, corridor, payoutsOf)
      const payoutRoute = { corridor, providers, compared: [], keptUntil: null, destination: null, network: null, sender: null }
      const quoted = yield* Effect.option(
        firstToSucceed(
          providers,
          (payoutProvider) =>
            Effect.andThen(
              routes.requireSwitchedOn(payoutProvider.provider),
              askPrice(payoutRoute, payoutProvider, { ...terms, destination: null })
            ),
          goesToNextProvider
        )
      )
      return Option.getOrUndefined(
        Option.map(quoted, ({ quote }) => ({ method: corridor.method, total: add(quote.principal, quote.fee) }))
      )
    })

    return {
      route: Effect.fnUntraced(function* (caller, terms) {
        const key: CorridorKey = { country: terms.country, currency: terms.currency, direction: "payout", method: terms.method }
        const corridor = yield* admission.corridor(key)
        if (!corridor.destinationCurrencies.includes(terms.destinationCurrency)) return yield* new CorridorUnsupported(key)
        const destination = terms.destination
        const reached =
          destination === null || (destination.country === terms.country && terms.destinationCurrency === terms.currency)
            ? corridor
            : yield* destinationCorridor(terms, destination)
        const network =
          destination?._tag === "momo"
            ? yield* requireNetwork(reached, destination.country, destination.network, "destination.network")
            : null
        if ((corridor.requiresMsisdn || reached.requiresMsisdn) && destination?._tag === "bank" && destination.msisdn === null) {
          return yield* invalid("destination.msisdn", "is required in this corridor")
        }
        if ((corridor.requiresName || reached.requiresName) && destination?._tag === "momo" && destination.name === undefined) {
          return yield* invalid("destination.name", "is required in this corridor")
        }
        // A bank code and a wallet belong to one provider, so such payouts keep the row's order.
        const preferred = destination?._tag === "momo" ? network : null
        const party = destination?._tag === "momo" && network !== null ? { ...destination, network } : destination
        const { compared, keptUntil, providers } = yield* reaching(
          yield* routes.forPayment(caller, corridor, payoutsOf, preferred),
          ({ reachesNetwork }) => party?._tag !== "momo" || (reachesNetwork?.(party) ?? true)
        )
        if (providers.length === 0)
          return yield* new CorridorUnsupported({
            ...key,
            ...((yield* routes.lacksSender(caller, corridor)) && { requires_sender: true })
          })
        const codes = bankCodesOf(providers.map(({ provider }) => provider))
        if (destination?._tag === "bank" && destination.branchCode === undefined && needsBranch(codes, destination.country)) {
          return yield* invalid("destination.branch_code", "is required in this corridor")
        }
        return {
          corridor,
          providers,
          compared,
          keptUntil,
          destination: party,
          network,
          sender: yield* senderFor(caller, corridor, providers)
        } satisfies PayoutRoute
      }),

      price: Effect.fnUntraced(function* (caller, payoutRoute, terms, wouldOpen) {
        const { priceOf, providers } = yield* ordered(payoutRoute, terms)
        const offerFrom = Effect.fnUntraced(function* (payoutProvider: PayoutProvider, index: number) {
          const { operations, provider } = payoutProvider
          yield* routes.requireReady(provider, "send")
          // The bank code is from one provider's list. Any other has to find the recipient's name under the account.
          const knowsBankCode = provider === bankCodesOf(payoutRoute.providers.map((one) => one.provider))
          const bankHolder = yield* (
            knowsBankCode
              ? accounts.bankHolder(provider, terms.destination)
              : Effect.as(accounts.requireAccountNameMatch(provider, terms.destination), null)
          ).pipe(orPassOver(provider.name, bankUnknown))
          const priced = yield* priceOf(payoutProvider)
          // Below the corridor's minimum, that is the refusal.
          if (priced.reachesMinimum) yield* withinLimits(payoutRoute, payoutProvider, priced)
          const destination = payoutRoute.destination ?? terms.destination
          const { holder, opened } = yield* lookUpHolder(caller, { destination, operations }, wouldOpen(priced)).pipe(
            orPassOver(provider.name, noPrice)
          )
          // Checked last, because the pace keeps the place only as long as the commit that follows takes.
          yield* routes.requireTurn(provider, terms.country)
          yield* noteChosen(provider.name, "priced")
          const others = providers.slice(index + 1)
          return { ...priced, payoutProvider, others, holder: bankHolder ?? holder, opened } satisfies Offer
        })
        return yield* firstToSucceed(providers, offerFrom, goesToNextProvider)
      }, inSpan("PayoutPricing.price")),

      tryPrice: Effect.fn("PayoutPricing.tryPrice")(function* (payoutRoute, terms) {
        if (dependsOnRecipient(payoutRoute)) return withoutRecipient
        const { priceOf, providers } = yield* ordered(payoutRoute, terms)
        const ask = (payoutProvider: PayoutProvider) =>
          Effect.andThen(routes.requireReady(payoutProvider.provider, "send"), priceOf(payoutProvider)).pipe(
            Effect.tap((priced) => (priced.reachesMinimum ? withinLimits(payoutRoute, payoutProvider, priced) : Effect.void)),
            Effect.tap(() => noteChosen(payoutProvider.provider.name, "priced"))
          )
        return yield* firstToSucceed(providers, ask, goesToNextProvider).pipe(
          Effect.catchTags({
            QuoteRefused: (refused) => Effect.succeed(refused),
            amount_below_minimum: () => Effect.succeed(outside("too_little")),
            amount_above_maximum: () => Effect.succeed(outside("too_much")),
            validation_failed: () => Effect.succeed(outside("amount"))
          })
        )
      }),

      requote: Effect.fn("PayoutPricing.requote")(function* (payoutRoute, payoutProvider, terms, principal) {
        const { operations, provider } = payoutProvider
        const destination = payoutRoute.destination ?? terms.destination
        yield* routes.requireReady(provider, "send")
        yield* accounts.requireAccountNameMatch(provider, terms.destination).pipe(orPassOver(provider.name, bankUnknown))
        yield* requireWithinNetworkLimits(operations, destination, payoutRoute.corridor, principal).pipe(
          orPassOver(provider.name, outsideLimits)
        )
        const amount = terms.deductFeeFromAmount ? principal : terms.amount
        const quote = yield* quoteFor(payoutRoute, payoutProvider, terms, amount).pipe(orPassOver(provider.name, noPrice))
        yield* accounts.mobileHolder(operations, destination).pipe(orPassOver(provider.name, noPrice))
        yield* routes.requireTurn(provider, terms.country)
        return quote
      }),

      cheaperMethod: Effect.fn("PayoutPricing.cheaperMethod")(function* (caller, terms, available) {
        if (terms.deductFeeFromAmount || terms.destinationCurrency !== terms.currency) return undefined
        const rows = yield* corridors.list
        const others = rows.filter(
          (row) =>
            row.active &&
            row.direction === "payout" &&
            row.country === terms.country &&
            row.currency === terms.currency &&
            row.method !== terms.method &&
            (row.minimum === null || row.minimum <= terms.amount) &&
            (row.maximum === null || row.maximum >= terms.amount)
        )
        const totals = yield* Effect.forEach(others, (corridor) => totalBy(caller, corridor, terms), {
          concurrency: "unbounded"
        })
        return totals
          .filter((candidate) => candidate !== undefined && candidate.total <= available)
          .sort((a, b) => (a && b && a.total < b.total ? -1 : 1))[0]
      })
    }
  })
}

type LimitRefusal = AmountBelowMinimum | AmountAboveMaximum | ValidationFailed

const payoutsOf = ({ payouts }: Provider): PayoutOperations | undefined => payouts

/** A network outside the row's order has its own, so the provider that quotes is known only with the recipient. */
const dependsOnRecipient = ({ corridor: { method, preference }, destination, providers }: PayoutRoute): boolean =>
  destination === null && method === "momo" && preference !== "order" && providers.length > 1

/** The terms on which the price of a payout depends. */
export interface PayoutTerms {
  readonly amount: MinorUnits
  readonly currency: Currency
  readonly destinationCurrency: Currency
  readonly country: string
  readonly method: "momo" | "bank" | "wallet"
  /** Null when a tenant only asks for a quote. */
  readonly destination: Destination | null
  readonly amountType: AmountType | null
  readonly deductFeeFromAmount: boolean
}

/** The currency of a payout's `amount`: the recipient's for a fixed destination, otherwise the float's. */
export const amountCurrencyOf = (terms: PayoutTerms) =>
  terms.amountType === "DESTINATION" ? terms.destinationCurrency : terms.currency

/** A lower bound of the source amount without the fee: for a fixed destination or a deducted fee only the quote gives it. */
export const leastMoved = ({ amount, amountType, currency, deductFeeFromAmount }: PayoutTerms): MovedAmount => ({
  currency,
  amount: deductFeeFromAmount || amountType === "DESTINATION" ? 1n : amount
})

/** A lower bound of what an unquoted payout would take from the float. A source beyond all amounts counts as the largest. */
export const leastSent = ({ amount, amountType, deductFeeFromAmount }: PayoutTerms, { fee, kind }: QuoteRefused): MinorUnits => {
  if (amountType === "DESTINATION") return kind === "too_much" ? minor(LARGEST_AMOUNT) : ZERO
  return deductFeeFromAmount ? minusOrZero(amount, fee ?? ZERO) : amount
}

/** A payout's route: its corridor, at least one provider, in order, and the destination with the network's own code. */
export interface PayoutRoute extends PaymentRoute<PayoutOperations> {
  readonly corridor: Corridor
  readonly destination: Destination | null
  readonly network: string | null
  /** The payer, for providers that accept one. */
  readonly sender: Sender | null
}

export type PayoutProvider = RoutedProvider<PayoutOperations>

/** `reachesMinimum` is false when a deducted fee leaves less than the corridor's minimum; the figures then show how much. */
export interface PricedPayout {
  readonly quote: PayoutQuote
  readonly reachesMinimum: boolean
}

/** A price, the provider that quoted it and will send the payout, and the `others` that follow in the route's order. */
export interface Offer extends PricedPayout, HolderLookup {
  readonly payoutProvider: PayoutProvider
  readonly others: ReadonlyArray<PayoutProvider>
}

/** A closed network is a ProviderError here, as it is for a payout. */
const withinLimits = (
  { corridor, destination }: PayoutRoute,
  { operations, provider }: PayoutProvider,
  { quote }: PricedPayout
) =>
  destination === null
    ? Effect.void
    : requireWithinNetworkLimits(operations, destination, corridor, quote.principal).pipe(
        orPassOver(provider.name, outsideLimits)
      )

/** Requests the price from one provider: one call, or up to `QUOTES_AT_MOST` (in `DeductedFee`) for a deducted fee. */
const askPrice = (
  route: PayoutRoute,
  payoutProvider: PayoutProvider,
  terms: PayoutTerms
): Effect.Effect<PricedPayout, ProviderError | QuoteRefused> => {
  const quoteOf = (amount: MinorUnits) => quoteFor(route, payoutProvider, terms, amount)
  if (!terms.deductFeeFromAmount)
    return Effect.flatMap(quoteOf(terms.amount), (quote) =>
      quote.principal + quote.fee > LARGEST_AMOUNT
        ? Effect.fail(uncountable(quote.fee))
        : Effect.succeed({ quote, reachesMinimum: reachesMinimum(route, quote) })
    )
  return Effect.map(
    largestAmountWithin(terms.amount, route.corridor.minimum ?? ZERO, quoteOf),
    ({ amount, quote, reachesMinimum: reaches }) => ({
      quote: reaches ? quote : leftOf(quote, amount),
      reachesMinimum: reaches
    })
  )
}

/** Below the minimum, the figures show what is left of the whole amount after its fee, at the rate of its quote. */
const leftOf = (whole: PayoutQuote, left: MinorUnits): PayoutQuote => ({
  ...whole,
  principal: left,
  destinationAmount: whole.principal === ZERO ? ZERO : minor((whole.destinationAmount * left) / whole.principal)
})

const reachesMinimum = ({ corridor }: PayoutRoute, quote: PayoutQuote): boolean =>
  corridor.minimum === null || quote.principal >= corridor.minimum

const quoteFor = (route: PayoutRoute, { operations: payouts }: PayoutProvider, terms: PayoutTerms, amount: MinorUnits) =>
  payouts
    .quote({
      corridor: route.corridor,
      amount,
      amountType: terms.amountType ?? "SOURCE",
      destinationCurrency: terms.destinationCurrency,
      destinationCountry: route.destination?.country ?? terms.country,
      destination: route.destination
    })
    .pipe(Effect.flatMap((answer) => ("_tag" in answer ? Effect.fail(answer) : Effect.succeed(answer))))
