import { it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { describe, expect } from "vitest"
import { Tenants } from "../../../src/services/ports/Tenants.ts"
import { Capabilities } from "../../../src/services/reference/Capabilities.ts"
import { Reference } from "../../../src/services/reference/Reference.ts"
import { fakeProvider } from "../../fakes/FakeProvider.ts"
import { appId, caller, floatNow, pay } from "../../support/PaymentRequests.ts"
import { routedTo } from "../../support/RoutedGateway.ts"
import { auditEntry } from "../../support/TestDatabase.ts"

const sender = {
  name: Redacted.make("Acme Ltd"),
  country: "UG",
  msisdn: Redacted.make("+256772000001"),
  address: Redacted.make("1 Kampala Road")
}

/** What a tenant is told of Uganda's mobile money, and of payouts as a whole. */
const told = Effect.gen(function* () {
  const corridors = yield* Effect.flatMap(Reference, (reference) => reference.corridors(caller))
  const rows = yield* Effect.flatMap(Capabilities, (capabilities) => capabilities.rows(caller))
  const momo = (direction: string) =>
    corridors.find((row) => row.country === "UG" && row.method === "momo" && row.direction === direction)
  // What only waits for a sender is open.
  expect([momo("payout")?.active, momo("collection")?.active]).toStrictEqual([true, true])
  return [
    momo("payout")?.requiresSender,
    momo("collection")?.requiresSender,
    rows.find(({ capability }) => capability === "payouts")?.requires_sender
  ]
})

// Issue 38, line 9.
describe("a provider that has to be told who pays", () => {
  it.effect("is sent nothing of a tenant without a sender, whose corridors say so, and is told the tenant's own", () =>
    Effect.gen(function* () {
      const alpha = fakeProvider("alpha", { needsSender: true })
      const { node } = yield* routedTo([alpha])
      yield* Effect.gen(function* () {
        const tenants = yield* Tenants
        const before = yield* floatNow
        expect(yield* told).toStrictEqual([true, false, true])
        expect(yield* pay("one")).toBe("corridor_unsupported")
        expect([alpha.calls, yield* floatNow]).toStrictEqual([[], before])
        yield* tenants.setSender(appId, sender, auditEntry())
        expect(yield* told).toStrictEqual([false, false, undefined])
        expect(yield* pay("two")).toBe("pending")
        expect(alpha.senders).toStrictEqual(["Acme Ltd"])
        yield* tenants.setSender(appId, null, auditEntry())
        expect(yield* pay("three")).toBe("corridor_unsupported")
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect(
    "is sent nothing of a tenant whose sender does not open, whose corridors ask for one and whose other reads go on",
    () =>
      Effect.gen(function* () {
        const alpha = fakeProvider("alpha", { needsSender: true })
        const { node } = yield* routedTo([alpha])
        yield* Effect.gen(function* () {
          yield* Effect.flatMap(Tenants, (tenants) => tenants.setSender(appId, sender, auditEntry()))
          const sql = yield* SqlClient.SqlClient
          yield* sql`UPDATE tenants SET sender_sealed = overlay(sender_sealed PLACING decode('00000000', 'hex') FROM 20)`
          expect(yield* told).toStrictEqual([true, false, true])
          expect(yield* pay("one")).toBe("corridor_unsupported")
          expect(alpha.calls).toStrictEqual([])
        }).pipe(Effect.provideContext(node))
      }).pipe(Effect.scoped)
  )

  it.effect("gives way to the next provider of the corridor, which need not be told", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [fakeProvider("alpha", { needsSender: true }), fakeProvider("beta")]
      const { node } = yield* routedTo([alpha, beta])
      yield* Effect.gen(function* () {
        expect(yield* told).toStrictEqual([false, false, undefined])
        expect(yield* pay("one")).toBe("pending")
        yield* Effect.flatMap(Tenants, (tenants) => tenants.setSender(appId, sender, auditEntry()))
        expect(yield* pay("two", { amount: 9_000n })).toBe("pending")
      }).pipe(Effect.provideContext(node))
      expect([alpha.executed.length, beta.executed.length, beta.senders]).toStrictEqual([1, 1, []])
    }).pipe(Effect.scoped)
  )
})
