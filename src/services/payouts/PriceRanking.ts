import { Clock, Effect, Option } from "effect"
import type { ProviderError } from "../../domain/errors/Retriable.ts"
import { cheapestFirst } from "../../domain/RoutePreference.ts"
import { rankByPrices } from "../../runtime/RouteTrail.ts"
import type { PayoutQuote } from "../ports/Provider.ts"
import type { PaymentRoute, RoutedProvider } from "../routing/Routes.ts"

/** How a provider of a payout is asked for a price. */
interface Asking<Operations, Priced, E> {
  /** Fails where it is held back: it is not asked then. */
  readonly ready: (one: RoutedProvider<Operations>) => Effect.Effect<void, ProviderError>
  readonly ask: (one: RoutedProvider<Operations>) => Effect.Effect<Priced, E>
}

/** The providers of a payout in their order. */
interface PricedOrder<Operations, Priced, E> {
  readonly providers: ReadonlyArray<RoutedProvider<Operations>>
  /** The price that it gave on the way, or else it is asked now. */
  readonly priceOf: (one: RoutedProvider<Operations>) => Effect.Effect<Priced, E>
}

/** A price that is only compared holds a payment up no longer than this. */
const COMPARED_WITHIN_MS = 3_000

/**
 * Puts the cheapest of those first that are to be compared. One that has no price in time keeps its place, and is asked again when its turn comes. A price of
 * the order before this one expires when that order ends.
 */
export const orderedByPrice = Effect.fnUntraced(function* <Operations, Priced extends { readonly quote: PayoutQuote }, E>(
  { compared, keptUntil, providers }: PaymentRoute<Operations>,
  { ask, ready }: Asking<Operations, Priced, E>
): Effect.fn.Return<PricedOrder<Operations, Priced, E>> {
  const [leader] = compared
  if (compared.length < 2 || leader === undefined) return { providers, priceOf: ask }
  const prices = new Map<RoutedProvider<Operations>, Priced>()
  const asked = yield* Effect.forEach(
    compared,
    (one) =>
      Effect.map(Effect.timeoutOption(Effect.option(Effect.andThen(ready(one), ask(one))), COMPARED_WITHIN_MS), Option.flatten),
    { concurrency: "unbounded" }
  )
  const leftMs = keptUntil === null ? Number.POSITIVE_INFINITY : Math.max(0, keptUntil - (yield* Clock.currentTimeMillis))
  for (const [place, one] of compared.entries()) {
    const priced = asked[place] ?? Option.none<Priced>()
    if (Option.isSome(priced)) prices.set(one, one === leader ? priced.value : expiringWithin(priced.value, leftMs))
  }
  const ranked = cheapestFirst(providers, (one) => comparedPrice(prices.get(one)))
  yield* rankByPrices(ranked.map((one) => [one.provider.name, comparedPrice(prices.get(one))?.total ?? null] as const))
  const priceOf = (one: RoutedProvider<Operations>) => {
    const known = prices.get(one)
    return known === undefined ? ask(one) : Effect.succeed(known)
  }
  return { providers: ranked, priceOf }
})

const comparedPrice = (priced: { readonly quote: PayoutQuote } | undefined): { total: bigint; arrives: bigint } | null =>
  priced === undefined ? null : { total: priced.quote.principal + priced.quote.fee, arrives: priced.quote.destinationAmount }

const expiringWithin = <Priced extends { readonly quote: PayoutQuote }>(priced: Priced, leftMs: number): Priced => ({
  ...priced,
  quote: { ...priced.quote, expiresInMs: Math.min(priced.quote.expiresInMs, leftMs) }
})
