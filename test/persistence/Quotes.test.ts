import { it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { describe, expect } from "vitest"
import type { Quote } from "../../src/domain/Exchange.ts"
import { minor } from "../../src/domain/Money.ts"
import { QuotesPg } from "../../src/persistence/QuotesPg.ts"
import type { Claim } from "../../src/services/ports/Idempotency.ts"
import { Quotes } from "../../src/services/ports/Quotes.ts"
import { appId, given } from "../support/LedgerSteps.ts"
import { NOON } from "../support/SampleTransactions.ts"
import { newReference } from "../support/TestDatabase.ts"

describe("a quote of an exchange", () => {
  it.live("is released by the claim that holds it, never by one that slept past its lease", () =>
    Effect.gen(function* () {
      const { node } = yield* given(0n)
      yield* Effect.gen(function* () {
        const quotes = yield* Quotes
        const reference = yield* newReference
        const quote: Quote = {
          id: yield* newReference,
          appId,
          mode: "live",
          provider: "eversend",
          account: "one",
          token: "t",
          currency: "UGX",
          amount: minor(1_000n),
          destinationCurrency: "KES",
          destinationAmount: minor(3_100n),
          rawDestinationAmount: "31.00",
          rate: "0.031",
          createdAt: NOON,
          expiresAt: NOON + 25_000
        }
        const claim = (key: string, fence: bigint): Claim => ({
          scope: { appId, mode: "live", endpoint: "POST /v1/fx/exchange", key },
          fence,
          reference
        })
        yield* quotes.put(quote)
        expect(yield* quotes.take(quote, claim("k:1", 1n))).toBe(true)
        expect(yield* quotes.take(quote, claim("k:1", 2n))).toBe(true)
        yield* quotes.release(quote, claim("k:1", 1n))
        expect(yield* quotes.take(quote, claim("other", 3n))).toBe(false)
        yield* quotes.release(quote, claim("k:1", 2n))
        expect(yield* quotes.take(quote, claim("other", 3n))).toBe(true)
      }).pipe(Effect.provide(Layer.fresh(QuotesPg)), Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )
})
