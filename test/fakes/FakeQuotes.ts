import { Effect, Option } from "effect"
import type { Quote } from "../../src/domain/Exchange.ts"
import type { Claim } from "../../src/services/ports/Idempotency.ts"
import { Quotes } from "../../src/services/ports/Quotes.ts"
import { fake } from "./Fake.ts"
import { keyName } from "./FakeMemory.ts"

/** Quotes in memory, kept for ever. A quote is taken by one idempotency key, and its newest claim alone gives it back. */
export const fakeQuotes = () => {
  const quotes = new Map<string, { readonly quote: Quote; readonly takenBy: Claim | null }>()
  return fake(Quotes, {
    put: (quote) => Effect.sync(() => void quotes.set(quote.id, { quote, takenBy: null })),
    find: (appId, mode, id) =>
      Effect.sync(() =>
        Option.fromUndefinedOr(quotes.get(id)).pipe(
          Option.map(({ quote }) => quote),
          Option.filter((quote) => quote.appId === appId && quote.mode === mode)
        )
      ),
    take: (quote, claim) =>
      Effect.sync(() => {
        const takenBy = quotes.get(quote.id)?.takenBy ?? null
        if (takenBy !== null && keyName(takenBy.scope) !== keyName(claim.scope)) return false
        quotes.set(quote.id, { quote, takenBy: claim })
        return true
      }),
    release: (quote, claim) =>
      Effect.sync(() => {
        const takenBy = quotes.get(quote.id)?.takenBy
        if (takenBy?.fence === claim.fence) quotes.set(quote.id, { quote, takenBy: null })
      })
  })
}
