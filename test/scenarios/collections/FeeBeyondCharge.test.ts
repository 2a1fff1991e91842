import { it } from "@effect/vitest"
import { Effect } from "effect"
import { describe, expect } from "vitest"
import { minor } from "../../../src/domain/Money.ts"
import { requireFeeCovered } from "../../../src/services/collections/ChargeDispatch.ts"
import type { Provider } from "../../../src/services/ports/Provider.ts"
import { type FakeProvider, fakeProvider } from "../../fakes/FakeProvider.ts"
import { charge } from "../../support/PaymentRequests.ts"
import { onlyRecord, records, routedTo } from "../../support/RoutedGateway.ts"

/** Its contract takes a tenth of a charge and this much beside it. */
const costing = (flat: bigint, one: FakeProvider): FakeProvider => ({
  ...one,
  provider: (mode): Provider => {
    const { collections, ...rest } = one.provider(mode)
    const contractFee = ({ amount }: { readonly amount: bigint }) => minor(flat + (amount + 9n) / 10n)
    return collections === undefined ? rest : { ...rest, collections: { ...collections, contractFee } }
  }
})

/** A charge of UGX 50,000 costs exactly as much. */
const WHOLE = 45_000n

/** UGX from a number of MTN in Uganda. */
const priced = (amount: bigint) =>
  ({
    amount: minor(amount),
    currency: "UGX",
    network: "MTN",
    createdAt: 0,
    corridor: { country: "UG", currency: "UGX", direction: "collection", method: "momo" }
  }) as const

describe("a charge that costs more than it brings", () => {
  it.effect("is refused before its payer is asked", () =>
    Effect.gen(function* () {
      const alpha = fakeProvider("alpha")
      const { node } = yield* routedTo([costing(WHOLE + 1n, alpha)])
      yield* Effect.gen(function* () {
        expect(yield* charge("one")).toBe("amount_below_minimum")
        expect(yield* records).toStrictEqual([])
      }).pipe(Effect.provideContext(node))
      expect(alpha.calls).toStrictEqual([])
    }).pipe(Effect.scoped)
  )

  it.effect("is refused with the least amount that covers its own fee", () =>
    Effect.gen(function* () {
      const { collections } = costing(WHOLE + 45n, fakeProvider("alpha")).provider("live")
      if (collections === undefined) throw new Error("it charges nobody")
      // 50,049 would cost 45,045 and 5,005.
      expect(yield* Effect.flip(requireFeeCovered(collections, priced(50_000n)))).toMatchObject({
        _tag: "amount_below_minimum",
        minimum_minor: 50_050n,
        method: "momo"
      })
      yield* requireFeeCovered(collections, priced(50_050n))
    })
  )

  it.effect("is placed by a provider that costs less", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [fakeProvider("alpha"), fakeProvider("beta")]
      const { node } = yield* routedTo([costing(WHOLE + 1n, alpha), costing(WHOLE, beta)])
      yield* Effect.gen(function* () {
        expect(yield* charge("one")).toBe("pending")
        expect((yield* onlyRecord).transaction).toMatchObject({ provider: "beta", contractFee: 50_000n })
      }).pipe(Effect.provideContext(node))
      expect([alpha.calls, beta.calls]).toStrictEqual([[], ["charge"]])
    }).pipe(Effect.scoped)
  )

  it.effect("is never passed on to a provider that costs more", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [fakeProvider("alpha", { sending: "never sent" }), fakeProvider("beta")]
      const { node } = yield* routedTo([alpha, costing(WHOLE + 1n, beta)])
      expect(yield* Effect.provideContext(charge("one"), node)).toBe("provider_unavailable")
      expect(beta.calls).toStrictEqual([])
    }).pipe(Effect.scoped)
  )
})
