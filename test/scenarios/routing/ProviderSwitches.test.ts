import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { candidatesText } from "../../../src/domain/Candidates.ts"
import { emptyTrail, RouteTrail } from "../../../src/runtime/RouteTrail.ts"
import { ProviderSwitches, switchOf } from "../../../src/services/ports/ProviderSwitches.ts"
import { Tenants } from "../../../src/services/ports/Tenants.ts"
import { Capabilities } from "../../../src/services/reference/Capabilities.ts"
import { OutcomePoller } from "../../../src/services/settlement/OutcomePoller.ts"
import { fakeProvider } from "../../fakes/FakeProvider.ts"
import { appId, caller, charge, pay } from "../../support/PaymentRequests.ts"
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
