import { Context, Effect, Layer, Option } from "effect"
import type { Corridor, CorridorKey, Method } from "../domain/Corridor.ts"
import type { Currency } from "../domain/Currency.ts"
import { ProviderError } from "../domain/errors/Retriable.ts"
import { CorridorUnsupported, type Issue, ValidationFailed } from "../domain/errors/Terminal.ts"
import { largestWithin } from "../domain/Fee.ts"
import { add, type MinorUnits, ZERO } from "../domain/Money.ts"
import type { Destination } from "../domain/Party.ts"
import type { Caller } from "../domain/Tenant.ts"
import type { AmountType } from "../domain/Transaction.ts"
import { Admission, knownNetwork } from "./Admission.ts"
import { Corridors } from "./ports/Corridors.ts"
import type { PayoutQuote, Payouts, QuoteRefused } from "./ports/Provider.ts"
import { ProviderRegistry } from "./ports/ProviderRegistry.ts"

/** What decides the price of a payout. */
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

/** Where a payout goes: its corridor, the provider's payouts, and the destination with its network's own code. */
export interface Route {
  readonly corridor: Corridor
  readonly payouts: Payouts
  readonly destination: Destination | null
  readonly network: string | null
}

/** `reachesFloor` is false when a deducted payout would fall below the corridor's minimum; the figures then say what it would be. */
export interface Priced {
  readonly quote: PayoutQuote
  readonly reachesFloor: boolean
}

/** Routes and prices payouts by the provider's own quotes. */
export class PayoutPricing extends Context.Service<
  PayoutPricing,
  {
    readonly route: (
      caller: Caller,
      terms: PayoutTerms
    ) => Effect.Effect<Route, CorridorUnsupported | ValidationFailed | ProviderError>
    /** A refused quote is an error: without a price nothing is reserved. */
    readonly price: (route: Route, terms: PayoutTerms) => Effect.Effect<Priced, ProviderError | ValidationFailed>
    /** Undefined where the provider will not quote such an amount. */
    readonly tryPrice: (route: Route, terms: PayoutTerms) => Effect.Effect<Priced | undefined, ProviderError>
    /** The cheapest other method to the same country by which the same amount and its fee fit; advice, hence silent when it cannot be had. */
    readonly cheaper: (
      caller: Caller,
      terms: PayoutTerms,
      available: MinorUnits
    ) => Effect.Effect<{ method: Method; total: MinorUnits } | undefined>
  }
>()("gateway/services/PayoutPricing") {
  static readonly layer = Layer.effect(
    PayoutPricing,
    Effect.gen(function* () {
      const admission = yield* Admission
      const registry = yield* ProviderRegistry
      const corridors = yield* Corridors

      const route = Effect.fn("PayoutPricing.route")(function* (caller: Caller, terms: PayoutTerms) {
        const key: CorridorKey = { country: terms.country, currency: terms.currency, direction: "payout", method: terms.method }
        const corridor = yield* admission.corridor(key)
        if (!corridor.destinationCurrencies.includes(terms.destinationCurrency)) return yield* new CorridorUnsupported(key)
        const destination = terms.destination
        const reached =
          destination === null || (destination.country === terms.country && terms.destinationCurrency === terms.currency)
            ? corridor
            : yield* reach(terms, destination)
        const network =
          destination?._tag === "momo"
            ? yield* knownNetwork(reached, destination.country, destination.network, "destination.network")
            : null
        if (corridor.requiresMsisdn && destination?._tag === "bank" && destination.msisdn === null) {
          return yield* new ValidationFailed({
            issues: [{ path: "destination.msisdn", message: "is required in this corridor" }]
          })
        }
        const provider = registry.find(corridor.provider, caller.mode)
        if (Option.isNone(provider)) return yield* new ProviderError({})
        const { payouts } = provider.value
        if (payouts === undefined) return yield* new CorridorUnsupported(key)
        return {
          corridor,
          payouts,
          destination: destination?._tag === "momo" && network !== null ? { ...destination, network } : destination,
          network
        } satisfies Route
      })

      /** Across a border or a currency the destination's own corridor has to be open, and says which networks there are. */
      const reach = (terms: PayoutTerms, destination: Destination) =>
        admission.corridor({
          country: destination.country,
          currency: terms.destinationCurrency,
          direction: "payout",
          method: terms.method
        })

      const price = Effect.fn("PayoutPricing.price")(function* (where: Route, terms: PayoutTerms) {
        return yield* priceOf(where, terms).pipe(
          // A definite refusal to quote: asking again would not change it.
          Effect.catchTag("QuoteRefused", ({ kind }) => new ValidationFailed({ issues: [quoteIssues[kind]] }))
        )
      })

      const tryPrice = Effect.fn("PayoutPricing.tryPrice")(function* (where: Route, terms: PayoutTerms) {
        const priced = yield* Effect.catchTag(priceOf(where, terms), "QuoteRefused", () => Effect.succeed(undefined))
        // A budget that its fee would eat buys nothing: there are no figures to show.
        return priced !== undefined && priced.quote.principal === ZERO ? undefined : priced
      })

      const cheaper = Effect.fn("PayoutPricing.cheaper")(function* (caller: Caller, terms: PayoutTerms, available: MinorUnits) {
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
        const totals = yield* Effect.forEach(others, (corridor) => totalBy(caller, corridor, terms), { concurrency: "unbounded" })
        return totals
          .filter((candidate) => candidate !== undefined && candidate.total <= available)
          .sort((a, b) => (a && b && a.total < b.total ? -1 : 1))[0]
      })

      const totalBy = Effect.fnUntraced(function* (caller: Caller, corridor: Corridor, terms: PayoutTerms) {
        const payouts = Option.getOrUndefined(registry.find(corridor.provider, caller.mode))?.payouts
        if (payouts === undefined) return undefined
        const quoted = yield* Effect.option(
          priceOf({ corridor, payouts, destination: null, network: null }, { ...terms, destination: null })
        )
        return Option.getOrUndefined(
          Option.map(quoted, ({ quote }) => ({ method: corridor.method, total: add(quote.principal, quote.fee) }))
        )
      })

      return PayoutPricing.of({ route, price, tryPrice, cheaper })
    })
  )
}

const quoteIssues = {
  party: { path: "destination", message: "is not known to the provider" },
  amount: { path: "amount_minor", message: "is not an amount that the provider quotes" },
  other: { path: "", message: "the provider refuses to quote this payout" }
} as const satisfies Record<QuoteRefused["kind"], Issue>

const priceOf = (route: Route, terms: PayoutTerms): Effect.Effect<Priced, ProviderError | QuoteRefused> => {
  const quoteOf = (amount: MinorUnits) => quoteFor(route, terms, amount)
  if (!terms.deductFeeFromAmount)
    return Effect.map(quoteOf(terms.amount), (quote) => ({ quote, reachesFloor: reachesFloor(route, quote) }))
  return Effect.map(
    largestWithin(terms.amount, route.corridor.minimum ?? ZERO, quoteOf),
    ({ amount, quote, reachesFloor: reaches }) => ({
      // Below the floor the figures are what the fee of the whole budget leaves.
      quote: reaches ? quote : { ...quote, principal: amount, destinationAmount: amount },
      reachesFloor: reaches
    })
  )
}

const reachesFloor = ({ corridor }: Route, quote: PayoutQuote): boolean =>
  corridor.minimum === null || quote.principal >= corridor.minimum

const quoteFor = (route: Route, terms: PayoutTerms, amount: MinorUnits) =>
  route.payouts
    .quote({
      corridor: route.corridor,
      amount,
      amountType: terms.amountType ?? "SOURCE",
      destinationCurrency: terms.destinationCurrency,
      destinationCountry: route.destination?.country ?? terms.country,
      destination: route.destination
    })
    .pipe(Effect.flatMap((answer) => ("_tag" in answer ? Effect.fail(answer) : Effect.succeed(answer))))
