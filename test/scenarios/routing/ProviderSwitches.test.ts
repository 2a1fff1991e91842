import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { candidatesText } from "../../../src/domain/Candidates.ts"
import { emptyTrail, RouteTrail } from "../../../src/runtime/RouteTrail.ts"
import { CodeRequests } from "../../../src/services/collections/CodeRequests.ts"
import { ProviderSwitches, switchOf } from "../../../src/services/ports/ProviderSwitches.ts"
import { Tenants } from "../../../src/services/ports/Tenants.ts"
import { Capabilities } from "../../../src/services/reference/Capabilities.ts"
import { Reference } from "../../../src/services/reference/Reference.ts"
import { OutcomePoller } from "../../../src/services/settlement/OutcomePoller.ts"
import { fakeProvider } from "../../fakes/FakeProvider.ts"
import { appId, caller, charge, jane, pay } from "../../support/PaymentRequests.ts"
import { onlyRecord, records, routedTo } from "../../support/RoutedGateway.ts"
import { NOON } from "../../support/SampleTransactions.ts"
import { auditEntry } from "../../support/TestDatabase.ts"

/** As an operator turns it. */
const turn = Effect.fnUntraced(function* (provider: string, to: "off" | "on") {
  const switches = yield* ProviderSwitches
  const seen = switchOf(yield* switches.list, provider)?.changedAt ?? null
  const wish = { provider, isOff: to === "off", reason: "it paid twice", changedAt: (seen ?? NOON) + 1 }
  return yield* switches.set(wish, auditEntry({ action: `provider ${to}`, subject: `provider/${provider}` }), seen)
})

const account = { country: "UG", bankCode: "01", accountNumber: Redacted.make("9030001234") }

const payer = { _tag: "momo", msisdn: Redacted.make(jane), network: "MTN", country: "UG" } as const

const acme = {
  name: Redacted.make("Acme Ltd"),
  country: "UG",
  msisdn: Redacted.make("+256772000001"),
  address: Redacted.make("1 Kampala Road")
}

/** What a tenant reads of payouts in Uganda to mobile money and to wallets, and of payouts as a whole. */
const seen = Effect.gen(function* () {
  const corridors = yield* (yield* Reference).corridors(caller)
  const row = (method: string) =>
    corridors.find((one) => one.country === "UG" && one.direction === "payout" && one.method === method)
  const payouts = (yield* (yield* Capabilities).rows(caller)).find(({ capability }) => capability === "payouts")
  return [row("momo"), row("wallet"), payouts]
})

const trailed = <E, R>(request: Effect.Effect<string, E, R>) =>
  Effect.suspend(() => {
    const trail = emptyTrail()
    return Effect.map(Effect.provideService(request, RouteTrail, trail), (ended) => [ended, candidatesText([...trail.values()])])
  })

describe("a provider that is switched off", () => {
  it.effect("gets nothing new in any corridor, also of a tenant that is pinned to it, until it is switched on again", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [fakeProvider("alpha"), fakeProvider("beta")]
      const { node } = yield* routedTo([alpha, beta])
      yield* Effect.gen(function* () {
        expect(yield* turn("alpha", "off")).toBe(true)
        expect(yield* trailed(pay("one"))).toStrictEqual(["pending", "alpha provider_off; beta used #1"])
        expect(yield* trailed(charge("two"))).toStrictEqual(["pending", "alpha provider_off; beta used #1"])
        const payouts = (yield* (yield* Capabilities).rows(caller)).find(({ capability }) => capability === "payouts")
        expect(payouts).toMatchObject({ provider: "beta", supported: true })
        yield* (yield* Tenants).pin(appId, "alpha", auditEntry())
        expect(yield* pay("three")).toBe("corridor_unsupported")
        yield* (yield* Tenants).pin(appId, null, auditEntry())
        yield* turn("beta", "off")
        expect([yield* pay("four"), yield* charge("five", "+256772000000")]).toStrictEqual([
          "corridor_unsupported",
          "corridor_unsupported"
        ])
        expect(alpha.calls).toStrictEqual([])
        yield* turn("alpha", "on")
        expect(yield* pay("six")).toBe("pending")
        expect((yield* records).map(({ transaction }) => transaction.provider)).toStrictEqual(["beta", "beta", "alpha"])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("is left alone by every node within a second", () =>
    Effect.gen(function* () {
      const providers = [fakeProvider("alpha"), fakeProvider("beta")]
      const one = yield* routedTo(providers)
      const other = yield* routedTo(providers, undefined, one.database)
      yield* Effect.provideContext(pay("one"), other.node)
      yield* Effect.provideContext(turn("alpha", "off"), one.node)
      yield* TestClock.adjust("999 millis")
      yield* Effect.provideContext(pay("two"), other.node)
      const stored = yield* Effect.provideContext(records, other.node)
      expect(stored.map(({ transaction }) => transaction.provider)).toStrictEqual(["alpha", "beta"])
    }).pipe(Effect.scoped)
  )

  it.effect("is asked about what was sent to it before, which settles", () =>
    Effect.gen(function* () {
      const alpha = fakeProvider("alpha")
      const { node } = yield* routedTo([alpha])
      yield* Effect.gen(function* () {
        expect(yield* pay("one")).toBe("pending")
        yield* turn("alpha", "off")
        yield* TestClock.adjust("1 minute")
        yield* (yield* OutcomePoller).round
        expect((yield* onlyRecord).transaction).toMatchObject({ provider: "alpha", status: "successful" })
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("takes over nothing that never left another one, where it was switched off meanwhile", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [fakeProvider("alpha", { sending: "never sent" }), fakeProvider("beta")]
      const { node } = yield* routedTo([alpha, beta])
      yield* Effect.gen(function* () {
        const context = yield* Effect.context<ProviderSwitches>()
        alpha.script.moneyGate = Effect.asVoid(Effect.provideContext(turn("beta", "off"), context))
        expect(yield* pay("one")).toBe("provider_unavailable")
        expect(beta.executed).toStrictEqual([])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("takes no payout whose price was still asked of it then", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [fakeProvider("alpha"), fakeProvider("beta")]
      const { node } = yield* routedTo([alpha, beta])
      yield* Effect.gen(function* () {
        const context = yield* Effect.context<ProviderSwitches>()
        alpha.script.gate = Effect.asVoid(Effect.provideContext(turn("alpha", "off"), context))
        expect(yield* trailed(pay("one"))).toStrictEqual(["pending", "alpha provider_off; beta used #1"])
        expect([alpha.calls, alpha.executed, beta.executed.length]).toStrictEqual([["quote"], [], 1])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("takes over nothing whose price was still asked of it then", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [fakeProvider("alpha", { sending: "never sent" }), fakeProvider("beta")]
      const { node } = yield* routedTo([alpha, beta])
      yield* Effect.gen(function* () {
        const context = yield* Effect.context<ProviderSwitches>()
        beta.script.gate = Effect.asVoid(Effect.provideContext(turn("beta", "off"), context))
        expect(yield* pay("one")).toBe("provider_unavailable")
        expect([beta.calls, beta.executed]).toStrictEqual([["quote"], []])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("closes the corridors that nobody else serves, which say so as payments and capabilities do", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [fakeProvider("alpha"), fakeProvider("beta")]
      const { node } = yield* routedTo([alpha, beta])
      yield* Effect.gen(function* () {
        const open = { active: true, inactiveReason: null }
        expect(yield* seen).toMatchObject([
          { ...open, availability: "operational", provider: "alpha" },
          { ...open, availability: "operational", provider: "alpha" },
          { supported: true }
        ])
        yield* turn("alpha", "off")
        const closed = { active: false, inactiveReason: "its providers are switched off", availability: "down" }
        expect(yield* seen).toMatchObject([
          { ...open, availability: "degraded", provider: "beta" },
          { ...closed, provider: "alpha" },
          { supported: true }
        ])
        expect([yield* pay("one"), yield* pay("two", { method: "wallet" })]).toStrictEqual(["pending", "corridor_unsupported"])
        yield* turn("beta", "off")
        expect(yield* seen).toMatchObject([closed, closed, { supported: false, reason: "provider_not_supported" }])
        expect(yield* pay("three")).toBe("corridor_unsupported")
        yield* turn("alpha", "on")
        expect(yield* seen).toMatchObject([open, open, { supported: true }])
        expect(yield* pay("four", { number: "+256772000001" })).toBe("pending")
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("keeps its wallets: nobody else is paid by their tags", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [fakeProvider("alpha"), fakeProvider("beta")]
      const { node } = yield* routedTo([alpha, beta])
      yield* Effect.gen(function* () {
        yield* turn("alpha", "off")
        expect(yield* trailed(pay("one", { method: "wallet" }))).toStrictEqual([
          "corridor_unsupported",
          "alpha provider_off; beta other_wallet"
        ])
        expect([alpha.calls, beta.calls]).toStrictEqual([[], []])
        yield* turn("alpha", "on")
        expect(yield* pay("two", { method: "wallet" })).toBe("pending")
        expect([alpha.executed.length, beta.executed.length]).toStrictEqual([1, 0])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("keeps its codes of banks: another one is paid only where it knows the account by the recipient's name", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [fakeProvider("alpha"), fakeProvider("beta", { holder: "John Roe" })]
      const { node } = yield* routedTo([alpha, beta])
      yield* Effect.gen(function* () {
        yield* turn("alpha", "off")
        expect(yield* trailed(pay("one", { method: "bank" }))).toStrictEqual([
          "provider_error",
          "alpha provider_off; beta bank_unknown"
        ])
        expect(beta.executed).toStrictEqual([])
        beta.script.holder = "Jane Doe"
        expect(yield* pay("two", { method: "bank" })).toBe("pending")
        expect([alpha.calls, beta.executed.length]).toStrictEqual([[], 1])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("keeps its list of banks, their branches and holders: no other list is shown while it cannot be read", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [fakeProvider("alpha", { branches: ["A-1"] }), fakeProvider("beta", { branches: ["B-1"] })]
      const { node } = yield* routedTo([alpha, beta])
      yield* Effect.gen(function* () {
        const { banks, branches, corridors, resolve } = yield* Reference
        yield* turn("alpha", "off")
        expect(yield* Effect.flip(banks(caller, "UG"))).toMatchObject({ _tag: "provider_error" })
        expect(yield* Effect.flip(branches(caller, account))).toMatchObject({ _tag: "provider_error" })
        expect(yield* Effect.flip(resolve(caller, account))).toMatchObject({ _tag: "provider_error" })
        const bankRow = (yield* corridors(caller)).find(({ country, method }) => country === "UG" && method === "bank")
        expect(bankRow).toMatchObject({ requiresBranch: true })
        expect(beta.calls).toStrictEqual([])
        yield* turn("alpha", "on")
        expect(yield* banks(caller, "UG")).toMatchObject([{ code: "alpha-01" }])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("keeps its codes of payers: a right one is not called wrong, and no other provider texts one by request", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [fakeProvider("alpha"), fakeProvider("beta")]
      const { node } = yield* routedTo([alpha, beta])
      yield* Effect.gen(function* () {
        const request = (yield* CodeRequests).send(caller, { country: "UG", source: payer })
        const { pin_id: pinId } = yield* request
        yield* turn("alpha", "off")
        const otp = { pinId, pin: Redacted.make("123456") }
        expect(yield* charge("one", jane, otp)).toBe("provider_error")
        expect(yield* Effect.flip(request)).toMatchObject({ _tag: "provider_error" })
        expect([alpha.calls, beta.calls, yield* records]).toStrictEqual([["code"], [], []])
        yield* turn("alpha", "on")
        expect(yield* charge("two", jane, otp)).toBe("pending")
        expect([alpha.executed.length, beta.calls]).toStrictEqual([1, []])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("gives way to the next one also where the tenant's sender, which it alone needs, does not open", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [fakeProvider("alpha", { needsSender: true }), fakeProvider("beta")]
      const { node } = yield* routedTo([alpha, beta])
      yield* Effect.gen(function* () {
        yield* (yield* Tenants).setSender(appId, acme, auditEntry())
        yield* (yield* SqlClient.SqlClient)`
          UPDATE tenants SET sender_sealed = overlay(sender_sealed PLACING decode('00000000', 'hex') FROM 20)`
        yield* turn("alpha", "off")
        expect(yield* pay("one")).toBe("pending")
        expect([alpha.calls, beta.executed.length]).toStrictEqual([[], 1])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("is not switched by somebody who looked at another state", () =>
    Effect.gen(function* () {
      const { node } = yield* routedTo([fakeProvider("alpha")])
      yield* Effect.gen(function* () {
        const { list, set } = yield* ProviderSwitches
        yield* turn("alpha", "off")
        const wish = { provider: "alpha", isOff: false, reason: "a mistake", changedAt: NOON + 9 }
        const entry = auditEntry({ action: "provider on", subject: "provider/alpha" })
        expect([yield* set(wish, entry, null), yield* set(wish, entry, NOON)]).toStrictEqual([false, false])
        expect(yield* list).toStrictEqual([{ provider: "alpha", isOff: true, reason: "it paid twice", changedAt: NOON + 1 }])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )
})
