import { it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { describe, expect } from "vitest"
import { Reference } from "../../../src/services/reference/Reference.ts"
import { fakeProvider } from "../../fakes/FakeProvider.ts"
import { caller, pay } from "../../support/PaymentRequests.ts"
import { routedTo } from "../../support/RoutedGateway.ts"

const account = { country: "UG", bankCode: "01", accountNumber: Redacted.make("9030001234") }
const banks = Effect.flatMap(Reference, (reference) => reference.banks(caller, "UG"))
const holder = Effect.flatMap(Reference, (reference) => reference.resolve(caller, account))

describe("a bank's code", () => {
  it.effect("is listed only by the provider that a payout to it goes to first", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [fakeProvider("alpha", { down: true }), fakeProvider("beta")]
      const { node } = yield* routedTo([alpha, beta])
      yield* Effect.gen(function* () {
        expect(yield* Effect.flip(banks)).toMatchObject({ _tag: "provider_error" })
        alpha.script.down = false
        expect(yield* banks).toMatchObject([{ code: "alpha-01" }])
        expect(yield* pay("one", { method: "bank" })).toBe("pending")
        expect([alpha.executed.length, beta.calls]).toStrictEqual([1, []])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("is refused as unknown only by the provider whose code it is", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [fakeProvider("alpha", { down: true }), fakeProvider("beta", { holder: null })]
      const { node } = yield* routedTo([alpha, beta])
      expect(yield* Effect.flip(Effect.provideContext(holder, node))).toMatchObject({ _tag: "provider_error" })
      expect(beta.calls).toStrictEqual([])
    }).pipe(Effect.scoped)
  )

  it.effect("is never looked up at another provider, where it may be another bank's, also if its own cannot look up there", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [fakeProvider("alpha", { resolves: false }), fakeProvider("beta", { holder: "Somebody Else" })]
      const { node } = yield* routedTo([alpha, beta])
      yield* Effect.gen(function* () {
        expect(yield* banks).toMatchObject([{ code: "alpha-01" }])
        expect(yield* Effect.flip(holder)).toMatchObject({
          _tag: "provider_capability_unsupported",
          capability: "bank_resolution"
        })
        expect(beta.calls).toStrictEqual([])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("goes with a branch of the same provider's list, and no other provider is paid through it", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [fakeProvider("alpha", { branches: ["A-1", "A-2"] }), fakeProvider("beta", { branches: ["B-1"] })]
      const { node } = yield* routedTo([alpha, beta])
      yield* Effect.gen(function* () {
        const { branches } = yield* Reference
        expect(yield* branches(caller, account)).toMatchObject([{ code: "A-1", bankCode: "01", country: "UG" }, { code: "A-2" }])
        // The list may be a day old; that of another bank is not there yet.
        alpha.script.down = true
        expect(yield* branches(caller, account)).toMatchObject([{ code: "A-1" }, { code: "A-2" }])
        expect(yield* Effect.flip(branches(caller, { ...account, bankCode: "02" }))).toMatchObject({ _tag: "provider_error" })
        alpha.script.down = false
        expect(yield* pay("none", { method: "bank" })).toBe("validation_failed")
        expect(yield* pay("one", { method: "bank", branch: "A-2" })).toBe("pending")
        alpha.script.sending = "never sent"
        expect(yield* pay("two", { method: "bank", branch: "A-2" })).not.toBe("pending")
        expect([alpha.executed.length, beta.calls]).toStrictEqual([1, []])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect(
    "belongs to the first provider that lists it, whichever providers without bank payouts stand before it in the row",
    () =>
      Effect.gen(function* () {
        const phonesOnly = fakeProvider("phones only", { refusesQuotes: "other" }, ["reference"])
        const lister = fakeProvider("lister", { holder: "John Roe" })
        const { node } = yield* routedTo([phonesOnly, lister])
        yield* Effect.gen(function* () {
          expect(yield* banks).toMatchObject([{ code: "lister-01" }])
          expect(yield* pay("one", { method: "bank" })).toBe("pending")
        }).pipe(Effect.provideContext(node))
        expect([phonesOnly.executed.length, lister.executed.length]).toStrictEqual([0, 1])
      }).pipe(Effect.scoped)
  )
})
