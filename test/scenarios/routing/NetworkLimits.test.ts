import { it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { describe, expect } from "vitest"
import { minor } from "../../../src/domain/Money.ts"
import { CodeFlow } from "../../../src/services/collections/CodeFlow.ts"
import { Payouts } from "../../../src/services/payouts/Payouts.ts"
import type { NetworkLimits } from "../../../src/services/ports/Provider.ts"
import { Reference } from "../../../src/services/reference/Reference.ts"
import { fakeProvider } from "../../fakes/FakeProvider.ts"
import { caller, charge, floatNow, jane, pay, payoutCommand } from "../../support/PaymentRequests.ts"
import { onlyRecord, records, routedTo } from "../../support/RoutedGateway.ts"

// A payout of these tests is of 10,000 UGX, a charge of 50,000.
const open: NetworkLimits = { availability: "operational", minimum: minor(2_000n), maximum: minor(50_000n), step: minor(1n) }
const both = (key: string) => Effect.all([pay(`pay ${key}`), charge(`charge ${key}`)])

const mobileMoney = Effect.gen(function* () {
  const corridors = yield* Effect.flatMap(Reference, (reference) => reference.corridors(caller))
  return corridors.flatMap((row) =>
    row.country === "UG" && row.method === "momo" && row.direction === "payout"
      ? [[row.availability, row.minimum, row.maximum]]
      : []
  )
})

// Issue 38, line 14.
describe("what a provider's account takes for a network", () => {
  it.effect("refuses payouts and charges outside of it before anything is recorded, reserved or sent, and corridors say so", () =>
    Effect.gen(function* () {
      const alpha = fakeProvider("alpha", { limits: open })
      const { node } = yield* routedTo([alpha])
      yield* Effect.gen(function* () {
        const before = yield* floatNow
        expect(yield* mobileMoney).toStrictEqual([["operational", 2_000n, 50_000n]])
        const refused = (change: Partial<NetworkLimits>) => {
          alpha.script.limits = { ...open, ...change }
          return both(JSON.stringify(Object.keys(change)))
        }
        expect(yield* refused({ minimum: minor(50_001n) })).toStrictEqual(["amount_below_minimum", "amount_below_minimum"])
        expect(yield* refused({ maximum: minor(9_999n) })).toStrictEqual(["amount_above_maximum", "amount_above_maximum"])
        expect(yield* refused({ step: minor(3n) })).toStrictEqual(["validation_failed", "validation_failed"])
        for (const availability of ["degraded", "down"] as const) {
          alpha.script.limits = { ...open, availability }
          expect(yield* both(availability)).toStrictEqual(["provider_error", "provider_error"])
          expect(yield* mobileMoney).toStrictEqual([[availability, 2_000n, 50_000n]])
        }
        expect([yield* records, yield* floatNow, alpha.executed]).toStrictEqual([[], before, []])
        alpha.script.limits = open
        expect(yield* both("open")).toStrictEqual(["pending", "pending"])
        // Who repeats a charge hears of the first one, whatever the network does now.
        alpha.script.limits = { ...open, availability: "down", maximum: minor(9_999n) }
        expect(yield* charge("a click again")).toBe("duplicate_charge_in_flight")
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect(
    "sends what one account does not take now to the next that does, at once and after the first could not be reached",
    () =>
      Effect.gen(function* () {
        const names = ["alpha", "beta", "gamma"] as const
        const [alpha, beta, gamma] = names.map((name) => fakeProvider(name, { limits: open }))
        if (!alpha || !beta || !gamma) return yield* Effect.die(new Error("three"))
        const { node } = yield* routedTo([alpha, beta, gamma])
        yield* Effect.gen(function* () {
          alpha.script.limits = { ...open, availability: "down" }
          beta.script.limits = { ...open, maximum: minor(9_999n) }
          expect(yield* both("closed")).toStrictEqual(["pending", "pending"])
          alpha.script.limits = open
          alpha.script.sending = "never sent"
          expect([yield* pay("away", { amount: 10_500n }), yield* charge("away", "+256772000009")]).toStrictEqual([
            "pending",
            "pending"
          ])
        }).pipe(Effect.provideContext(node))
        expect([alpha.executed.length, beta.executed.length, gamma.executed.length]).toStrictEqual([0, 0, 4])
      }).pipe(Effect.scoped)
  )

  it.effect("refuses a charge whose code was said when the network has closed since, and takes the code again later", () =>
    Effect.gen(function* () {
      const alpha = fakeProvider("alpha", { limits: open })
      const { node } = yield* routedTo([alpha])
      yield* Effect.gen(function* () {
        yield* (yield* SqlClient.SqlClient)`UPDATE corridors SET customer_action = 'otp' WHERE direction = 'collection'`
        expect(yield* charge("with a code")).toBe("requires_action")
        const { reference } = (yield* onlyRecord).transaction
        const source = { msisdn: Redacted.make(jane), network: "MTN", country: null }
        const otp = { pinId: "alpha-pin", pin: Redacted.make("123456") }
        const authorized = Effect.flatMap(CodeFlow, (flow) => flow.authorize(caller, { reference, otp, source }, null)).pipe(
          Effect.match({ onFailure: ({ _tag }) => _tag, onSuccess: ({ status }) => status })
        )
        alpha.script.limits = { ...open, availability: "down" }
        expect(yield* authorized).toBe("provider_error")
        alpha.script.limits = { ...open, maximum: minor(9_999n) }
        expect(yield* authorized).toBe("amount_above_maximum")
        expect(alpha.executed).toStrictEqual([])
        expect((yield* onlyRecord).transaction).toMatchObject({ status: "requires_action" })
        alpha.script.limits = open
        expect(yield* authorized).toBe("pending")
        expect(alpha.executed).toHaveLength(1)
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("holds for the one that takes a charge which the pace of the first holds back, too", () =>
    Effect.gen(function* () {
      const alpha = fakeProvider("alpha", { limits: open, heldMs: 5_000 })
      const beta = fakeProvider("beta", { limits: { ...open, availability: "down" } })
      const { node } = yield* routedTo([alpha, beta])
      yield* Effect.gen(function* () {
        expect(yield* charge("held")).toBe("provider_error")
        beta.script.limits = { ...open, maximum: minor(9_999n) }
        expect(yield* charge("held, and too much")).toBe("provider_error")
        expect([yield* records, beta.executed]).toStrictEqual([[], []])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("and of its pace holds for a provider that would take over what the first could not send", () =>
    Effect.gen(function* () {
      const alpha = fakeProvider("alpha", { sending: "never sent" })
      const [beta, gamma] = [fakeProvider("beta", { heldMs: 5_000 }), fakeProvider("gamma")]
      const { node } = yield* routedTo([alpha, beta, gamma])
      const paid = yield* Effect.provideContext(both("held back"), node)
      expect([paid, beta.executed.length, gamma.executed.length]).toStrictEqual([["pending", "pending"], 0, 2])
    }).pipe(Effect.scoped)
  )

  it.effect("is in a quote what it is in a payout: nobody prices what would be refused", () =>
    Effect.gen(function* () {
      const alpha = fakeProvider("alpha", { limits: open })
      const { node } = yield* routedTo([alpha])
      const quoted = (change: Partial<NetworkLimits>, deducted = false) => {
        alpha.script.limits = { ...open, ...change }
        const terms = payoutCommand({ deductFeeFromAmount: deducted })
        return Effect.flatMap(Payouts, (payouts) => payouts.estimate(caller, terms)).pipe(
          Effect.map((estimate) =>
            "unpriced_reason" in estimate ? [estimate.unpriced_reason, estimate.meets_minimum] : "priced"
          ),
          Effect.catchTag("provider_error", () => Effect.succeed("provider_error"))
        )
      }
      yield* Effect.gen(function* () {
        expect(yield* quoted({})).toBe("priced")
        expect(yield* quoted({ minimum: minor(50_001n) })).toStrictEqual(["below_provider_minimum", false])
        expect(yield* quoted({ maximum: minor(9_999n) })).toStrictEqual(["above_provider_maximum", true])
        expect(yield* quoted({ step: minor(3n) })).toStrictEqual(["provider_refused", true])
        expect(yield* quoted({ availability: "down" })).toBe("provider_error")
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )
})
