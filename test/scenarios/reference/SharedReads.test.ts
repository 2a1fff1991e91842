import { it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Redacted } from "effect"
import { describe, expect } from "vitest"
import { Reference } from "../../../src/services/reference/Reference.ts"
import { fakeProvider } from "../../fakes/FakeProvider.ts"
import { caller } from "../../support/PaymentRequests.ts"
import { routedTo } from "../../support/RoutedGateway.ts"
import { eventually } from "../../support/SignedClient.ts"

const WAITING = 50

const account = { country: "UG", bankCode: "01", accountNumber: Redacted.make("9030001234") }
const uganda = { country: "UG", name: "Uganda", phonePrefix: "+256", methods: ["momo"] } as const
const kenya = { country: "KE", name: "Kenya", phonePrefix: "+254", methods: ["bank"] } as const

const banks = Effect.flatMap(Reference, (reference) => reference.banks(caller, "UG"))
const holder = Effect.flatMap(Reference, (reference) => reference.resolve(caller, account))
const countries = Effect.flatMap(Reference, (reference) => reference.countries(caller))
const balances = Effect.flatMap(Reference, (reference) => reference.balances(caller))

describe("reads of reference data", () => {
  it.effect("go to the first provider of the corridor that supports them, and to no other when that one is down", () =>
    Effect.gen(function* () {
      const unable = fakeProvider("unable", {}, ["reference"])
      const [alpha, beta] = [fakeProvider("alpha"), fakeProvider("beta", { holder: "J. Doe" })]
      const { node } = yield* routedTo([unable, alpha, beta])
      yield* Effect.gen(function* () {
        expect(yield* banks).toMatchObject([{ code: "alpha-01" }])
        expect(Redacted.value(yield* holder)).toBe("Jane Doe")
        alpha.script.down = true
        expect(yield* Effect.flip(banks)).toMatchObject({ _tag: "provider_error" })
        expect(yield* Effect.flip(holder)).toMatchObject({ _tag: "provider_error" })
        expect(beta.calls).toStrictEqual([])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("end with the first provider's answer, also when it says that there is no such account", () =>
    Effect.gen(function* () {
      const beta = fakeProvider("beta")
      const { node } = yield* routedTo([fakeProvider("alpha", { holder: null }), beta])
      expect(yield* Effect.flip(Effect.provideContext(holder, node))).toMatchObject({ _tag: "bank_account_unresolvable" })
      expect(beta.calls).toStrictEqual([])
    }).pipe(Effect.scoped)
  )

  it.effect("are refused as terminal where no provider supports them", () =>
    Effect.gen(function* () {
      const { node } = yield* routedTo([fakeProvider("unable", {}, ["reference"])])
      const reads: ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }, Reference>> = [
        banks,
        holder,
        countries,
        balances
      ]
      for (const read of reads)
        expect(yield* Effect.flip(Effect.provideContext(read, node))).toMatchObject({
          _tag: "provider_capability_unsupported",
          reason: "provider_not_supported"
        })
    }).pipe(Effect.scoped)
  )

  it.effect("join the answers of all providers for countries and pools, and fail where one of them cannot be read", () =>
    Effect.gen(function* () {
      const alpha = fakeProvider("alpha", { countries: [uganda] })
      const beta = fakeProvider("beta", { countries: [kenya, { ...uganda, name: "UGANDA", methods: ["momo", "bank"] }] })
      const { node } = yield* routedTo([alpha, beta])
      yield* Effect.gen(function* () {
        expect(yield* countries).toMatchObject([{ ...uganda, methods: ["momo", "bank"], currencies: ["UGX"] }, kenya])
        expect(yield* balances).toMatchObject([{ provider: "alpha" }, { provider: "beta" }])
        alpha.script.down = true
        expect(yield* Effect.flip(countries)).toMatchObject({ _tag: "provider_error" })
        expect(yield* Effect.flip(balances)).toMatchObject({ _tag: "provider_error" })
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.live("let every provider answer after one has failed, because other requests may wait for the same read", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const interrupted = yield* Deferred.make<void>()
      const waits = Effect.onInterrupt(Deferred.await(gate), () => Deferred.succeed(interrupted, undefined))
      const [alpha, beta] = [fakeProvider("alpha"), fakeProvider("beta", { countries: [kenya], gate: waits })]
      alpha.script.down = true
      const { node } = yield* routedTo([alpha, beta])
      const read = yield* Effect.forkChild(Effect.provideContext(countries, node))
      yield* eventually(
        Effect.sync(() => beta.calls.length),
        (calls) => calls > 0
      )
      yield* Deferred.succeed(gate, undefined)
      expect(yield* Effect.flip(Fiber.join(read))).toMatchObject({ _tag: "provider_error" })
      expect(yield* Deferred.isDone(interrupted)).toBe(false)
    }).pipe(Effect.scoped)
  )

  for (const [call, read, lookUps] of [
    ["banks", banks, 2],
    ["resolve", holder, 2],
    ["countries", countries, 1],
    ["balances", balances, 1]
  ] as const)
    it.live(`make one call of ${call} for fifty requests that wait together, and another one for the next`, () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const alpha = fakeProvider("alpha", { countries: [uganda], gate: Deferred.await(gate) })
        const { node } = yield* routedTo([alpha])
        yield* Effect.gen(function* () {
          const waiting = yield* Effect.forkChild(
            Effect.all(
              Array.from({ length: WAITING }, () => read),
              { concurrency: "unbounded" }
            )
          )
          // Each looks for the provider right before it asks.
          yield* eventually(
            Effect.sync(() => alpha.found.times),
            (times) => times >= WAITING * lookUps
          )
          yield* Deferred.succeed(gate, undefined)
          expect(yield* Fiber.join(waiting)).toHaveLength(WAITING)
          expect(alpha.calls).toStrictEqual([call])
          yield* read
          expect(alpha.calls).toStrictEqual([call, call])
        }).pipe(Effect.provideContext(node))
      }).pipe(Effect.scoped)
    )
})
