import { it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { describe, expect } from "vitest"
import type { Quote } from "../../../src/domain/Exchange.ts"
import { minor } from "../../../src/domain/Money.ts"
import { QuotesPg } from "../../../src/persistence/transactions/QuotesPg.ts"
import { ClockTrust } from "../../../src/services/ports/ClockWatch.ts"
import type { Claim } from "../../../src/services/ports/Idempotency.ts"
import { Quotes } from "../../../src/services/ports/Quotes.ts"
import { appId, given } from "../../support/LedgerSteps.ts"
import { NOON } from "../../support/SampleTransactions.ts"
import { newReference } from "../../support/TestDatabase.ts"

/** At a provider, for 25 s from then on. */
const quoteAt = Effect.fnUntraced(function* (createdAt: number) {
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
    createdAt,
    expiresAt: createdAt + 25_000
  }
  return quote
})

describe("a quote of an exchange", () => {
  it.live("outlives a clock that runs ahead of the time that is trusted, and goes a day after its end by one that is", () =>
    Effect.gen(function* () {
      const { node } = yield* given(0n)
      let trusted = NOON
      const trust = {
        trustedUntil: Effect.sync(() => trusted),
        noncesUntil: Effect.succeed(0),
        leaps: Effect.succeed([]),
        begunAt: 0
      }
      yield* Effect.gen(function* () {
        const quotes = yield* Quotes
        const old = yield* quoteAt(NOON)
        yield* quotes.put(old)
        const isThere = Effect.map(quotes.find(appId, "live", old.id), Option.isSome)
        const later = NOON + 91 * 86_400_000
        yield* quotes.put(yield* quoteAt(later))
        expect(yield* isThere).toBe(true)
        trusted = later
        yield* quotes.put(yield* quoteAt(later))
        expect(yield* isThere).toBe(false)
      }).pipe(Effect.provide(Layer.fresh(Layer.provide(QuotesPg, Layer.succeed(ClockTrust, trust)))), Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.live("is released by the claim that holds it, never by one that slept past its lease", () =>
    Effect.gen(function* () {
      const { node } = yield* given(0n)
      yield* Effect.gen(function* () {
        const quotes = yield* Quotes
        const reference = yield* newReference
        const quote = yield* quoteAt(NOON)
        const claim = (key: string, fence: bigint): Claim => ({
          scope: { appId, mode: "live", endpoint: "POST /v1/fx/exchange", key },
          fence,
          reference,
          leaseUntil: NOON
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
