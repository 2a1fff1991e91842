import { Clock, Effect, Exit, Fiber, Option, type Scope } from "effect"
import type { ProviderError } from "../../domain/errors/Retriable.ts"
import type { Instant } from "../../domain/Instant.ts"
import { type ComparedPrice, cheapestFirst } from "../../domain/RoutePreference.ts"
import { rankByPrices } from "../../runtime/RouteTrail.ts"
import type { PayoutQuote } from "../ports/Provider.ts"
import type { PaymentRoute, RoutedProvider } from "../routing/Routes.ts"

/** How a provider of a payout is asked for a price. */
interface Asking<Operations, Priced, E> {
  /** Fails where it is held back: it is not asked then. */
  readonly ready: (one: RoutedProvider<Operations>) => Effect.Effect<void, ProviderError>
  readonly ask: (one: RoutedProvider<Operations>) => Effect.Effect<Priced, E>
  /** A question outlives its payment, and ends here at the latest: only one that ends says something of the provider. */
  readonly scope: Scope.Scope
}

/** The cheapest of several holds a payment up no longer than this; a price that was shown is waited for as long as any. */
const COMPARED_WITHIN_MS = 3_000

/**
 * Puts the cheapest of those first that are to be compared. One that has no price in time keeps its place, and its answer is waited for when its
 * turn comes: none is asked twice. While a price of the order before this one holds, those with a price go first, and it expires when that time ends.
 */
export const orderedByPrice = Effect.fnUntraced(function* <Operations, Priced extends { readonly quote: PayoutQuote }, E>(
  { compared, keptUntil, providers }: PaymentRoute<Operations>,
  { ask, ready, scope }: Asking<Operations, Priced, E>
) {
  const [leader] = compared
  if (compared.length < 2 || leader === undefined) return { providers, priceOf: ask }
  const question = (one: RoutedProvider<Operations>) => {
    const asked = Effect.andThen(ready(one), ask(one))
    const priced = one === leader || keptUntil === null ? asked : Effect.flatMap(asked, expiringAt(keptUntil))
    return Effect.map(Effect.forkIn(priced, scope), (fiber) => [one, fiber] as const)
  }
  const questions = new Map(yield* Effect.forEach(compared, question))
  const waitedMs = keptUntil === null ? COMPARED_WITHIN_MS : Number.POSITIVE_INFINITY
  const prices = new Map<RoutedProvider<Operations>, Priced>()
  yield* Effect.forEach(
    questions,
    ([one, fiber]) =>
      Effect.map(Effect.timeoutOption(Fiber.await(fiber), waitedMs), (ended) => {
        const exit = Option.getOrUndefined(ended)
        if (exit !== undefined && Exit.isSuccess(exit)) prices.set(one, exit.value)
      }),
    { concurrency: "unbounded", discard: true }
  )
  const priceIn = (one: RoutedProvider<Operations>) => comparedPrice(prices.get(one))
  const cheapest = cheapestFirst(providers, priceIn)
  const ranked =
    keptUntil === null ? cheapest : cheapest.toSorted((one, other) => unpriced(priceIn(one)) - unpriced(priceIn(other)))
  yield* rankByPrices(ranked.map((one) => [one.provider.name, priceIn(one)?.total ?? null] as const))
  /** The answer to the question that was asked on the way, or else it is asked now. */
  const priceOf = (one: RoutedProvider<Operations>): Effect.Effect<Priced, E | ProviderError> => {
    const fiber = questions.get(one)
    return fiber === undefined ? ask(one) : Fiber.join(fiber)
  }
  return { providers: ranked, priceOf }
})

const unpriced = (price: ComparedPrice | null): number => (price === null ? 1 : 0)

const comparedPrice = (priced: { readonly quote: PayoutQuote } | undefined): ComparedPrice | null =>
  priced === undefined ? null : { total: priced.quote.principal + priced.quote.fee, arrives: priced.quote.destinationAmount }

const expiringAt =
  (end: Instant) =>
  <Priced extends { readonly quote: PayoutQuote }>(priced: Priced): Effect.Effect<Priced> =>
    Effect.map(Clock.currentTimeMillis, (now) => ({
      ...priced,
      quote: { ...priced.quote, expiresInMs: Math.min(priced.quote.expiresInMs, Math.max(0, end - now)) }
    }))
