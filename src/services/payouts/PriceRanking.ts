import { Clock, Effect, Exit, Fiber, Option, type Scope } from "effect"
import type { ProviderError } from "../../domain/errors/Retriable.ts"
import type { Instant } from "../../domain/Instant.ts"
import { type ComparedPrice, cheapestFirst } from "../../domain/RoutePreference.ts"
import { rankByPrices } from "../../runtime/RouteTrail.ts"
import type { PayoutQuote } from "../ports/Provider.ts"
import type { PaymentRoute, RoutedProvider } from "../routing/Routes.ts"

/** How to request a price from a payout's provider. */
interface Asking<Operations, Priced, E> {
  /** Fails when calls to the provider are held back: it is then not called. */
  readonly ready: (one: RoutedProvider<Operations>) => Effect.Effect<void, ProviderError>
  readonly ask: (one: RoutedProvider<Operations>) => Effect.Effect<Priced, E>
  /** A call may outlive its payment and ends with this scope, because only a completed call counts for the circuit. */
  readonly scope: Scope.Scope
}

/** How long a payment waits for the comparison. A price that was shown to a tenant is waited for as long as any. */
const COMPARED_WITHIN_MS = 3_000

/**
 * Puts the cheapest of the compared providers first. A provider without a price in time keeps its place, and its answer is
 * awaited when its turn comes, so that none is called twice. While a price from the previous order is valid, the providers with
 * a price go first, and it expires when that time ends.
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
  /** The answer to the call that was already made; otherwise calls now. */
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
