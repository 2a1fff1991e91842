import { it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import type { Tenant } from "../../../src/domain/Tenant.ts"
import { Corridors } from "../../../src/services/ports/Corridors.ts"
import { Tenants } from "../../../src/services/ports/Tenants.ts"
import { Capabilities } from "../../../src/services/reference/Capabilities.ts"
import { Reference } from "../../../src/services/reference/Reference.ts"
import { fakeProvider } from "../../fakes/FakeProvider.ts"
import { appId, caller, charge, FLOAT, floatNow, pay } from "../../support/PaymentRequests.ts"
import { records, routedTo } from "../../support/RoutedGateway.ts"
import { auditEntry } from "../../support/TestDatabase.ts"

const pin = (provider: Tenant["pinned"]) => Effect.flatMap(Tenants, (tenants) => tenants.pin(appId, provider, auditEntry()))

const usedBy = Effect.map(records, (all) => all.map(({ transaction }) => transaction.provider))

describe("a tenant's route", () => {
  it.effect("is the pinned provider alone where the corridor has it, and the corridor's order elsewhere", () =>
    Effect.gen(function* () {
      const providers = [fakeProvider("alpha"), fakeProvider("beta")]
      const { node } = yield* routedTo(providers)
      yield* Effect.gen(function* () {
        yield* pin("beta")
        expect([yield* pay("one"), yield* charge("two")]).toStrictEqual(["pending", "pending"])
        yield* pin("gamma")
        expect(yield* pay("three")).toBe("pending")
        yield* pin(null)
        expect(yield* pay("four")).toBe("pending")
        expect(yield* usedBy).toStrictEqual(["beta", "beta", "alpha", "alpha"])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("follows a pin on every node within a second", () =>
    Effect.gen(function* () {
      const providers = [fakeProvider("alpha"), fakeProvider("beta")]
      const one = yield* routedTo(providers)
      const other = yield* routedTo(providers, undefined, one.database)
      yield* Effect.provideContext(pay("one"), other.node)
      yield* Effect.provideContext(pin("beta"), one.node)
      yield* TestClock.adjust("999 millis")
      yield* Effect.provideContext(pay("two"), other.node)
      expect(yield* Effect.provideContext(usedBy, other.node)).toStrictEqual(["alpha", "beta"])
    }).pipe(Effect.scoped)
  )

  it.effect("leads to no other provider while the pinned one is down, and nothing is reserved", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [fakeProvider("alpha", { down: true }), fakeProvider("beta")]
      const { node } = yield* routedTo([alpha, beta])
      yield* Effect.gen(function* () {
        yield* pin("alpha")
        expect(yield* pay("one")).toBe("provider_error")
        expect(yield* records).toStrictEqual([])
        expect(beta.calls).toStrictEqual([])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("does not exist where no provider of the corridor can serve it, which is refused before any call", () =>
    Effect.gen(function* () {
      const alpha = fakeProvider("alpha", {}, ["payouts", "collections"])
      const { node } = yield* routedTo([alpha])
      yield* Effect.gen(function* () {
        yield* (yield* SqlClient.SqlClient)`UPDATE corridors SET providers = '{absent,alpha}'`
        expect([yield* pay("one"), yield* charge("two")]).toStrictEqual(["corridor_unsupported", "corridor_unsupported"])
        expect(alpha.calls).toStrictEqual([])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )
})

describe("a payout's price", () => {
  it.effect(
    "is asked of the next provider where one fails or does not quote such payouts, and the one that quoted also sends",
    () =>
      Effect.gen(function* () {
        const providers = [
          fakeProvider("down", { down: true }),
          fakeProvider("unwilling", { refusesQuotes: "other" }),
          fakeProvider("beta", { fee: 700n })
        ]
        const { node } = yield* routedTo(providers)
        yield* Effect.gen(function* () {
          expect(yield* pay("one")).toBe("pending")
          const [stored] = yield* records
          expect(stored?.transaction).toMatchObject({ provider: "beta", heldFee: 700n, version: 1 })
        }).pipe(Effect.provideContext(node))
        expect(providers.map(({ calls }) => calls)).toStrictEqual([["quote"], ["quote"], ["quote", "send"]])
      }).pipe(Effect.scoped)
  )

  for (const refusesQuotes of ["amount", "party"] as const)
    it.effect(`is refused as terminal when the first provider that answers refuses the ${refusesQuotes}`, () =>
      Effect.gen(function* () {
        const beta = fakeProvider("beta")
        const { node } = yield* routedTo([fakeProvider("alpha", { refusesQuotes }), beta])
        expect(yield* Effect.provideContext(pay("one"), node)).toBe("validation_failed")
        expect(yield* Effect.provideContext(floatNow, node)).toStrictEqual([FLOAT, 0n])
        expect(beta.calls).toStrictEqual([])
      }).pipe(Effect.scoped)
    )

  it.effect("is retriable when a provider could not be read, whatever the others refuse", () =>
    Effect.gen(function* () {
      const down = fakeProvider("down", { down: true })
      const unwilling = fakeProvider("unwilling", { refusesQuotes: "other" })
      const { node } = yield* routedTo([down, unwilling])
      expect(yield* Effect.provideContext(pay("one"), node)).toBe("provider_error")
      const { node: willingNever } = yield* routedTo([unwilling])
      expect(yield* Effect.provideContext(pay("one"), willingNever)).toBe("validation_failed")
    }).pipe(Effect.scoped)
  )

  it.effect("of a bank payout is not asked of another provider at which the bank code means another bank", () =>
    Effect.gen(function* () {
      const [down, beta] = [fakeProvider("down", { down: true }), fakeProvider("beta", { holder: "John Roe" })]
      const { node } = yield* routedTo([down, beta])
      yield* Effect.gen(function* () {
        expect(yield* pay("one", { method: "bank" })).toBe("provider_error")
        beta.script.holder = "Jane Doe"
        expect(yield* pay("two", { method: "bank" })).toBe("pending")
        expect(yield* usedBy).toStrictEqual(["beta"])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )
})

describe("the provider that a tenant is shown", () => {
  it.effect("is the first one of its route that supports the operation, in corridors and capabilities", () =>
    Effect.gen(function* () {
      const providers = [
        fakeProvider("alpha", {}, ["collections", "reference"]),
        fakeProvider("beta", {}, ["payouts"]),
        fakeProvider("gamma")
      ]
      const { node } = yield* routedTo(providers)
      const named = Effect.gen(function* () {
        const rows = yield* (yield* Reference).corridors(caller)
        const capabilities = yield* (yield* Capabilities).rows(caller)
        const open = rows.filter(({ active }) => active)
        const corridors = [...new Set(open.map(({ direction, provider }) => `${direction} ${provider}`))].toSorted()
        const able = capabilities.filter(({ supported }) => supported)
        return [corridors, able.map(({ capability, provider }) => `${capability} ${provider}`)]
      })
      yield* Effect.gen(function* () {
        expect(yield* named).toStrictEqual([
          ["collection beta", "payout alpha"],
          ["collections beta", "payouts alpha", "balances beta", "reference_data beta", "bank_resolution beta"]
        ])
        yield* pin("gamma")
        expect(yield* named).toStrictEqual([
          ["collection gamma", "payout gamma"],
          ["collections gamma", "payouts gamma", "balances gamma", "reference_data gamma", "bank_resolution gamma"]
        ])
        expect((yield* (yield* Corridors).list)[0]?.providers).toStrictEqual(["alpha", "beta", "gamma"])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )
})
