import { it } from "@effect/vitest"
import { Effect } from "effect"
import { describe, expect } from "vitest"
import type { Provider } from "../../../src/services/ports/Provider.ts"
import { type FakeProvider, fakeProvider } from "../../fakes/FakeProvider.ts"
import { charge } from "../../support/PaymentRequests.ts"
import { onlyRecord, records, routedTo } from "../../support/RoutedGateway.ts"

/** Charges no network but one that nobody here is on. */
const elsewhere = (one: FakeProvider): FakeProvider => ({
  ...one,
  provider: (mode): Provider => {
    const { collections, ...rest } = one.provider(mode)
    return collections === undefined ? rest : { ...rest, collections: { ...collections, reachesNetwork: () => false } }
  }
})

describe("a payer on a network that a provider does not reach", () => {
  it.effect("is charged by the next provider that reaches it, without a call to the first", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [fakeProvider("alpha"), fakeProvider("beta")]
      const { node } = yield* routedTo([elsewhere(alpha), beta])
      yield* Effect.gen(function* () {
        expect(yield* charge("one")).toBe("pending")
        expect((yield* onlyRecord).transaction).toMatchObject({ provider: "beta", version: 1 })
      }).pipe(Effect.provideContext(node))
      expect([alpha.calls, beta.calls]).toStrictEqual([[], ["charge"]])
    }).pipe(Effect.scoped)
  )

  it.effect("is never passed on to a provider that does not reach it either", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [fakeProvider("alpha", { sending: "never sent" }), fakeProvider("beta")]
      const { node } = yield* routedTo([alpha, elsewhere(beta)])
      expect(yield* Effect.provideContext(charge("one"), node)).toBe("provider_unavailable")
      expect(beta.calls).toStrictEqual([])
    }).pipe(Effect.scoped)
  )

  it.effect("has no route where no provider reaches it, and nothing is recorded", () =>
    Effect.gen(function* () {
      const alpha = fakeProvider("alpha")
      const { node } = yield* routedTo([elsewhere(alpha)])
      yield* Effect.gen(function* () {
        expect(yield* charge("one")).toBe("corridor_unsupported")
        expect(yield* records).toStrictEqual([])
      }).pipe(Effect.provideContext(node))
      expect(alpha.calls).toStrictEqual([])
    }).pipe(Effect.scoped)
  )
})
