import { it } from "@effect/vitest"
import { Effect } from "effect"
import { describe, expect } from "vitest"
import type { Provider } from "../../../src/services/ports/Provider.ts"
import { type FakeProvider, fakeProvider } from "../../fakes/FakeProvider.ts"
import { pay } from "../../support/PaymentRequests.ts"
import { records, routedTo } from "../../support/RoutedGateway.ts"

/** Pays no network but one that nobody here is on. */
const elsewhere = (one: FakeProvider): FakeProvider => ({
  ...one,
  provider: (mode): Provider => {
    const { payouts, ...rest } = one.provider(mode)
    return payouts === undefined ? rest : { ...rest, payouts: { ...payouts, reachesNetwork: () => false } }
  }
})

describe("a recipient on a network that a provider does not reach", () => {
  it.effect("is answered as if that provider were not there, whatever it would say", () =>
    Effect.gen(function* () {
      const alpha = fakeProvider("alpha", { down: true })
      const beta = fakeProvider("beta", { refusesQuotes: "amount" })
      const { node } = yield* routedTo([alpha, elsewhere(beta)])
      yield* Effect.gen(function* () {
        expect(yield* pay("outage")).toBe("provider_error")
        Object.assign(alpha.script, { down: false, refusesQuotes: "other" })
        Object.assign(beta.script, { down: true, refusesQuotes: null })
        expect(yield* pay("refusal")).toBe("validation_failed")
        expect(yield* records).toStrictEqual([])
      }).pipe(Effect.provideContext(node))
      expect(beta.calls).toStrictEqual([])
    }).pipe(Effect.scoped)
  )

  it.effect("has no route where no provider reaches it", () =>
    Effect.gen(function* () {
      const { node } = yield* routedTo([elsewhere(fakeProvider("alpha"))])
      expect(yield* Effect.provideContext(pay("one"), node)).toBe("corridor_unsupported")
    }).pipe(Effect.scoped)
  )
})

describe("a refusal behind an outage", () => {
  it.effect("is not final: the provider that could not be read may take the payout next time", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [fakeProvider("alpha", { down: true }), fakeProvider("beta", { refusesQuotes: "amount" })]
      const { node } = yield* routedTo([alpha, beta])
      yield* Effect.gen(function* () {
        expect(yield* pay("one")).toBe("provider_error")
        alpha.script.down = false
        expect(yield* pay("two")).toBe("pending")
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )
})
