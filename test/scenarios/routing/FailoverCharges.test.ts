import { it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { CodeFlow } from "../../../src/services/collections/CodeFlow.ts"
import { Circuits } from "../../../src/services/routing/Circuits.ts"
import { policy } from "../../fakes/FakePolicy.ts"
import { fakeProvider } from "../../fakes/FakeProvider.ts"
import { caller, charge, historyOf, jane } from "../../support/PaymentRequests.ts"
import { onlyRecord, routedTo } from "../../support/RoutedGateway.ts"

const neverLeft = { sending: "never sent" } as const
const [opened, notSent] = ["Opened", "NotSent: connection refused"] as const
const moved = "Rerouted: never sent to alpha, goes to beta: connection refused"

describe("a charge", () => {
  it.effect("that provably never left goes to the next provider, which alone places it", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [fakeProvider("alpha", neverLeft), fakeProvider("beta")]
      const { node } = yield* routedTo([alpha, fakeProvider("unable", {}, ["collections"]), beta])
      yield* Effect.gen(function* () {
        expect(yield* charge("one")).toBe("pending")
        const { transaction } = yield* onlyRecord
        expect(transaction).toMatchObject({ provider: "beta", version: 2, fees: null })
        expect(yield* historyOf(transaction.reference)).toStrictEqual([opened, moved, "Accepted"])
        expect([alpha.executed, beta.executed]).toStrictEqual([[], [transaction.reference]])
        expect(yield* charge("two", jane)).toBe("duplicate_charge_in_flight")
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect(
    "2. that the pace of the first provider would hold back is placed by the next one, and by none where all are held",
    () =>
      Effect.gen(function* () {
        const [alpha, beta] = [fakeProvider("alpha", { heldMs: 5_000 }), fakeProvider("beta")]
        const { node } = yield* routedTo([alpha, beta])
        yield* Effect.gen(function* () {
          expect(yield* charge("one")).toBe("pending")
          const { transaction } = yield* onlyRecord
          expect(transaction).toMatchObject({ provider: "beta", version: 1 })
          expect([alpha.calls, beta.executed]).toStrictEqual([[], [transaction.reference]])
          beta.script.heldMs = 4_000
          expect(yield* charge("two", "+256772123457")).toBe("provider_error")
          expect((yield* onlyRecord).transaction.reference).toBe(transaction.reference)
        }).pipe(Effect.provideContext(node))
      }).pipe(Effect.scoped)
  )

  it.effect("for which no provider could be reached fails at once", () =>
    Effect.gen(function* () {
      const { node } = yield* routedTo([fakeProvider("alpha", neverLeft), fakeProvider("beta", neverLeft)])
      yield* Effect.gen(function* () {
        expect(yield* charge("one")).toBe("provider_unavailable")
        const { transaction } = yield* onlyRecord
        expect(transaction).toMatchObject({ status: "failed", provider: "beta" })
        expect(yield* historyOf(transaction.reference)).toStrictEqual([opened, moved, notSent])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("that may have been placed never goes to another provider", () =>
    Effect.gen(function* () {
      const beta = fakeProvider("beta")
      const { node } = yield* routedTo([fakeProvider("alpha", { sending: "silent" }), beta])
      expect(yield* Effect.provideContext(charge("one"), node)).toBe("provider_timeout")
      expect(beta.calls).toStrictEqual([])
    }).pipe(Effect.scoped)
  )
})

describe("a charge that needs a code", () => {
  const otp = { pinId: "alpha-pin", pin: Redacted.make("123456") }
  const source = { msisdn: Redacted.make(jane), network: "MTN", country: null }
  const waiting = Effect.gen(function* () {
    yield* (yield* SqlClient.SqlClient)`UPDATE corridors SET customer_action = 'otp' WHERE direction = 'collection'`
    expect(yield* charge("one")).toBe("requires_action")
    const { reference } = (yield* onlyRecord).transaction
    return Effect.flatMap(CodeFlow, ({ authorize }) => authorize(caller, { reference, otp, source }, null)).pipe(
      Effect.match({ onSuccess: ({ status }): string => status, onFailure: ({ _tag }): string => _tag })
    )
  })

  it.effect("stays with the provider that sent the code", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [fakeProvider("alpha", neverLeft), fakeProvider("beta")]
      const { node } = yield* routedTo([alpha, beta])
      yield* Effect.gen(function* () {
        expect(yield* yield* waiting).toBe("provider_unavailable")
        expect((yield* onlyRecord).transaction).toMatchObject({ status: "failed", provider: "alpha" })
        expect([alpha.calls, beta.calls]).toStrictEqual([["code", "charge"], []])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("uses up no code on a provider whose circuit is open, and continues with the same code later", () =>
    Effect.gen(function* () {
      const alpha = fakeProvider("alpha")
      const { node } = yield* routedTo([alpha])
      yield* Effect.gen(function* () {
        const authorize = yield* waiting
        const line = { provider: "alpha", mode: "live", operation: "charge" } as const
        const failing = { call: Effect.fail("down"), verdict: () => "failed" as const, instead: Effect.fail("held") }
        const circuits = yield* Circuits
        yield* Effect.forEach(Array.from({ length: policy.circuit.failures }), () => Effect.exit(circuits.through(line, failing)))
        expect(yield* authorize).toBe("provider_error")
        expect((yield* onlyRecord).transaction).toMatchObject({ status: "requires_action" })
        yield* TestClock.adjust("1 second")
        expect(yield* authorize).toBe("pending")
        expect(alpha.calls).toStrictEqual(["code", "charge"])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )
})
