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
 * Prices the fee of a payout by asking providers for their own quotes: which, in which order, and when the next one. Below it is the question to one.
 */
export class PayoutPricing extends Context.Service<
  PayoutPricing,
  {
    readonly route: (caller: Caller, terms: PayoutTerms) => Effect.Effect<PayoutRoute, CorridorUnsupported | ValidationFailed>
    /**
     * Confirms a bank's account and asks for the price at the first provider that answers. A refused quote is an error (`unquoted` gives
     * it): without a price nothing is reserved. An amount outside the limits of every provider is refused with those of the first. Whose a
     * mobile-money account is, is asked last, and only where the payout would be opened at that price.
     */
    readonly price: (
      caller: Caller,
      route: PayoutRoute,
      terms: PayoutTerms & { readonly destination: Destination },
      wouldOpen: (priced: PricedPayout) => Effect.Effect<boolean>
    ) => Effect.Effect<Offer, ProviderError | QuoteRefused | BankAccountUnresolvable | LimitRefusal>
    /** The price of another provider for a payout that was priced before; `principal` is what is to be sent. */
    readonly requote: (
      route: PayoutRoute,
      payoutProvider: PayoutProvider,
      terms: PayoutTerms & { readonly destination: Destination },
      principal: MinorUnits
    ) => Effect.Effect<PayoutQuote, ProviderError | QuoteRefused | LimitRefusal>
    /** A refused quote is an answer here. */
    readonly tryPrice: (route: PayoutRoute, terms: PayoutTerms) => Effect.Effect<PricedPayout | QuoteRefused, ProviderError>
    /** The cheapest other method to the same country by which the same amount and its fee fit; advice, hence silent when it cannot be had. */
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

    /** Read once, when the route is chosen: what is reserved is sent with it, whatever an operator changes meanwhile. */
    const senderFor = (caller: Caller, corridor: Corridor, providers: ReadonlyArray<PayoutProvider>) =>
      providers.some(({ operations }) => operations.sender?.(corridor) !== undefined)
        ? Effect.filterOrElse(
            tenants.sender(caller.appId),
            (sender) => sender !== "unreadable",
            () => Effect.die(new Error("the tenant's sender stopped opening while its route was chosen"))
          )
        : Effect.succeed(null)

    /** Across a border or a currency the destination's own corridor has to be open, and says which networks there are. */
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
        // A bank's code is of one provider's list, and a wallet of one provider: they stay in the row's own order.
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
          // The bank code that the tenant sent is of one provider's list. Any other provider has to know the account by the recipient's name.
          const knowsBankCode = provider === bankCodesOf(payoutRoute.providers.map((one) => one.provider))
          const bankHolder = yield* (
            knowsBankCode
              ? accounts.bankHolder(provider, terms.destination)
              : Effect.as(accounts.requireAccountNameMatch(provider, terms.destination), null)
          ).pipe(orPassOver(provider.name, bankUnknown))
          const priced = yield* priceOf(payoutProvider)
          // Below the corridor's own minimum that is the refusal.
          if (priced.reachesMinimum) yield* withinLimits(payoutRoute, payoutProvider, priced)
          const destination = payoutRoute.destination ?? terms.destination
          const { holder, opened } = yield* lookUpHolder(caller, { destination, operations }, wouldOpen(priced)).pipe(
            orPassOver(provider.name, noPrice)
          )
          // Last: the turn is held for no longer than the commit takes that comes next.
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

/** Each network of a preferred corridor has an order of its own: which provider names the price is known with the recipient. */
const dependsOnRecipient = ({ corridor: { method, preference }, destination, providers }: PayoutRoute): boolean =>
  destination === null && method === "momo" && preference !== "order" && providers.length > 1

/** The terms that decide the price of a payout. */
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

/** The currency that a payout's own amount counts: the recipient's for a fixed destination, else the float's. */
export const amountCurrencyOf = (terms: PayoutTerms) =>
  terms.amountType === "DESTINATION" ? terms.destinationCurrency : terms.currency

/** Its source amount without the fee: a reduced amount, and the source of a fixed destination, are known with the quote alone. */
export const leastMoved = ({ amount, amountType, currency, deductFeeFromAmount }: PayoutTerms): MovedAmount => ({
  currency,
  amount: deductFeeFromAmount || amountType === "DESTINATION" ? 1n : amount
})

/**
 * The least that would leave the float for a payout without a quote: a source beyond the range of amounts is at least the largest amount.
 */
export const leastSent = ({ amount, amountType, deductFeeFromAmount }: PayoutTerms, { fee, kind }: QuoteRefused): MinorUnits => {
  if (amountType === "DESTINATION") return kind === "too_much" ? minor(LARGEST_AMOUNT) : ZERO
  return deductFeeFromAmount ? minusOrZero(amount, fee ?? ZERO) : amount
}

/** The route of a payout: its corridor, the providers to try in order (at least one), and the destination with its network's own code. */
export interface PayoutRoute extends PaymentRoute<PayoutOperations> {
  readonly corridor: Corridor
  readonly destination: Destination | null
  readonly network: string | null
  /** The payer, for providers that take one. */
  readonly sender: Sender | null
}

export type PayoutProvider = RoutedProvider<PayoutOperations>

/** `reachesMinimum` is false when a deducted payout would fall below the corridor's minimum; the figures then say what it would be. */
export interface PricedPayout {
  readonly quote: PayoutQuote
  readonly reachesMinimum: boolean
}

/** A price, the provider that quoted it and will send, and the `others` that come after it in the route's order. */
export interface Offer extends PricedPayout, HolderLookup {
  readonly payoutProvider: PayoutProvider
  readonly others: ReadonlyArray<PayoutProvider>
}

/** A closed network is a ProviderError, as it is for a payout. */
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

/** Asks one provider for the price: one call, but up to `QUOTES_AT_MOST` (24, in `DeductedFee`) where the fee is deducted from the amount. */
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
      // Below the floor the figures are what the fee of the whole budget leaves.
      quote: reaches ? quote : { ...quote, principal: amount, destinationAmount: amount },
      reachesMinimum: reaches
    })
  )
}

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
