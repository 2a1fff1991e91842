import { it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { PRICE_KEPT_MS, TRIAL_EVERY_MS, TRIAL_MS } from "../../../src/domain/RoutePreference.ts"
import { emptyTrail, RouteTrail } from "../../../src/runtime/RouteTrail.ts"
import { Payouts } from "../../../src/services/payouts/Payouts.ts"
import { RouteCounts } from "../../../src/services/ports/RouteCounts.ts"
import { RouteOrders } from "../../../src/services/ports/RouteOrders.ts"
import { Tenants } from "../../../src/services/ports/Tenants.ts"
import { Reference } from "../../../src/services/reference/Reference.ts"
import { Circuits } from "../../../src/services/routing/Circuits.ts"
import { RoutePreferences } from "../../../src/services/routing/RoutePreferences.ts"
import { fakeProvider } from "../../fakes/FakeProvider.ts"
import { appId, caller, charge, historyOf, pay, payoutCommand } from "../../support/PaymentRequests.ts"
import { differences, records, routedTo } from "../../support/RoutedGateway.ts"
import { NOON } from "../../support/SampleTransactions.ts"
import { auditEntry } from "../../support/TestDatabase.ts"

const preferring = (preference: string) =>
  Effect.flatMap(SqlClient.SqlClient, (sql) => sql`UPDATE corridors SET preference = ${preference}`)

/** What all nodes counted of payouts in the last hour, by provider: of a hundred, so many were successful. */
const given = Effect.fnUntraced(function* (rates: Readonly<Record<string, number>>) {
  const counts = yield* RouteCounts
  const route = { direction: "payout", corridor: "UG/UGX/momo", network: "MTN" } as const
  for (const [provider, successful] of Object.entries(rates)) {
    const add = (result: "successful" | "failed", count: number) =>
      Effect.replicateEffect(counts.add("live", { ...route, provider, result, tookMs: 1_000 }), count)
    yield* add("successful", successful)
    yield* add("failed", 100 - successful)
  }
  yield* counts.write
  yield* (yield* RoutePreferences).look
})

const quoted = Effect.map(
  Effect.flatMap(Payouts, (payouts) => payouts.estimate(caller, payoutCommand())),
  ({ expires_at, fees_minor }) => [fees_minor, expires_at] as const
)
/** As a request does, that notes its candidates. */
const noting = <A, E, R>(request: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => Effect.provideService(request, RouteTrail, emptyTrail()))
const usedBy = Effect.map(records, (all) =>
  all.map(({ transaction: record }) => [record.provider, record.kind === "exchange" ? null : record.fees])
)

describe("a preferred order", () => {
  it.effect("by success is one that all nodes share, and stays as it is for as long as a shown price may hold", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(NOON)
      const providers = [fakeProvider("alpha"), fakeProvider("beta")]
      const one = yield* routedTo(providers)
      const other = yield* routedTo(providers, undefined, one.database)
      yield* Effect.provideContext(preferring("success"), one.node)
      yield* Effect.provideContext(given({ alpha: 80, beta: 99 }), one.node)
      // This node has looked at nothing else since; it takes over what the other one decided.
      yield* TestClock.adjust("5 seconds")
      yield* Effect.provideContext(given({}), other.node)
      yield* TestClock.adjust("1 second")
      const stored = Effect.flatMap(RouteOrders, ({ all }) => all)
      const order = { configured: ["alpha", "beta"], providers: ["beta", "alpha"], previous: ["alpha", "beta"], changedAt: NOON }
      const key = { mode: "live", direction: "payout", corridor: "UG/UGX/momo", network: "MTN" }
      expect(yield* Effect.provideContext(stored, other.node)).toStrictEqual([{ ...key, ...order }])
      expect(yield* Effect.provideContext(pay("one"), other.node)).toBe("pending")
      // Now the other way round, and too early.
      yield* Effect.provideContext(given({ beta: 0, alpha: 100 }), one.node)
      expect(yield* Effect.provideContext(stored, one.node)).toStrictEqual([{ ...key, ...order }])
      yield* TestClock.adjust(PRICE_KEPT_MS)
      yield* Effect.provideContext(given({}), one.node)
      expect(yield* Effect.provideContext(stored, one.node)).toMatchObject([{ providers: ["alpha", "beta"] }])
      expect(yield* Effect.provideContext(usedBy, one.node)).toStrictEqual([["beta", 1_000n]])
    }).pipe(Effect.scoped)
  )

  it.effect("by success lets nobody pay more than the price that was shown before it changed", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(NOON)
      const [alpha, beta] = [fakeProvider("alpha", { fee: 100n }), fakeProvider("beta", { fee: 900n })]
      const { node } = yield* routedTo([alpha, beta])
      yield* Effect.gen(function* () {
        yield* preferring("success")
        const [shown] = yield* quoted
        yield* given({ alpha: 80, beta: 99 })
        yield* TestClock.adjust("29 minutes")
        yield* given({})
        // What is shown meanwhile holds as long as it says.
        const [fee, until] = yield* quoted
        expect([shown, fee]).toStrictEqual([100n, 100n])
        expect(Date.parse(until ?? "")).toBeLessThanOrEqual(NOON + PRICE_KEPT_MS)
        expect(yield* noting(pay("in time"))).toBe("pending")
        yield* TestClock.adjust("2 minutes")
        expect((yield* quoted)[0]).toBe(900n)
        expect(yield* pay("later")).toBe("pending")
        expect(yield* usedBy).toStrictEqual([
          ["alpha", 100n],
          ["beta", 900n]
        ])
        const [first] = yield* records
        expect(first === undefined ? [] : (yield* historyOf(first.transaction.reference))[0]).toBe(
          "Opened: candidates: alpha used #1 (by success 80 % of 100, total 10100); beta not_asked (by success 99 % of 100, total 10900)"
        )
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("names no price without a recipient, whose network decides who is first; the row's own order does", () =>
    Effect.gen(function* () {
      const { node } = yield* routedTo([fakeProvider("alpha", { fee: 100n }), fakeProvider("beta", { fee: 900n })])
      yield* Effect.gen(function* () {
        const shown = Effect.map(
          Effect.flatMap(Payouts, (payouts) => payouts.estimate(caller, { ...payoutCommand(), destination: null })),
          ({ fees_minor, unpriced_reason }) => [fees_minor, unpriced_reason]
        )
        expect(yield* shown).toStrictEqual([100n, undefined])
        for (const preference of ["success", "price"]) {
          yield* preferring(preference)
          yield* TestClock.adjust("1 second")
          expect(yield* shown).toStrictEqual([null, "destination_required"])
        }
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("by success tries an overtaken provider for a minute, where that is no dearer than what was shown", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(NOON)
      const [alpha, beta] = [fakeProvider("alpha", { fee: 900n }), fakeProvider("beta", { fee: 100n })]
      const { node } = yield* routedTo([alpha, beta])
      yield* Effect.gen(function* () {
        yield* preferring("success")
        yield* given({ alpha: 0, beta: 99 })
        yield* TestClock.adjust(PRICE_KEPT_MS + TRIAL_EVERY_MS - TRIAL_MS - 1)
        const [shown] = yield* quoted
        yield* TestClock.adjust(TRIAL_MS / 2)
        expect(yield* pay("dearer")).toBe("pending")
        alpha.script.fee = 100n
        expect(yield* noting(pay("the same"))).toBe("pending")
        alpha.script.fee = 50n
        const [cheaper, until] = yield* quoted
        expect([shown, cheaper]).toStrictEqual([100n, 50n])
        expect(Date.parse(until ?? "")).toBe(NOON + PRICE_KEPT_MS + TRIAL_EVERY_MS)
        yield* TestClock.adjust(TRIAL_MS)
        expect(yield* pay("after it")).toBe("pending")
        expect(yield* usedBy).toStrictEqual([
          ["beta", 100n],
          ["alpha", 100n],
          ["beta", 100n]
        ])
        const second = (yield* records)[1]
        expect(second === undefined ? [] : (yield* historyOf(second.transaction.reference))[0]).toMatch(
          /^Opened: candidates: alpha used #1 \(by success [^)]*, trial, total 10100\); beta not_asked/
        )
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect(
    "by price asks each that is ready, and goes on as ever: only what never left goes to the next, by price as well",
    () =>
      Effect.gen(function* () {
        const alpha = fakeProvider("alpha", { fee: 900n })
        const beta = fakeProvider("beta", { fee: 100n, sending: "never sent" })
        const gamma = fakeProvider("gamma", { fee: 50n, refusesQuotes: "other" })
        const delta = fakeProvider("delta", { fee: 100n })
        const { node } = yield* routedTo([alpha, beta, gamma, delta])
        yield* Effect.gen(function* () {
          yield* preferring("price")
          expect(yield* noting(pay("one"))).toBe("pending")
          beta.script.sending = "refused"
          expect(yield* pay("two")).toBe("payout_rejected_by_provider")
          beta.script.sending = "silent"
          expect(yield* pay("three")).toBe("provider_timeout")
          expect(yield* usedBy).toStrictEqual([
            ["delta", 100n],
            ["beta", 0n],
            ["beta", 100n]
          ])
          const [first] = yield* records
          expect(first === undefined ? [] : (yield* historyOf(first.transaction.reference))[0]).toBe(
            "Opened: candidates: beta used #1 (by price total 10100); delta not_asked (by price total 10100); gamma refused (other, by price unknown); alpha not_asked (by price total 10900)"
          )
          expect(yield* differences).toStrictEqual([])
        }).pipe(Effect.provideContext(node))
      }).pipe(Effect.scoped)
  )

  it.effect("has a provider without an account change nothing of how well a corridor works", () =>
    Effect.gen(function* () {
      const { node } = yield* routedTo([fakeProvider("alpha", { sending: "never sent" })])
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const told = Effect.map(
          Effect.flatMap(Reference, (reference) => reference.corridors(caller)),
          (rows) =>
            rows.flatMap(({ availability, country, direction, method, provider }) =>
              country === "UG" && method === "momo" && direction === "payout" ? [[availability, provider]] : []
            )
        )
        const line = { provider: "alpha", mode: "live", operation: "send" } as const
        const isOpen = Effect.flatMap(Circuits, (circuits) => circuits.isOpen(line))
        let payouts = 0
        const failing = Effect.repeat(
          Effect.andThen(
            Effect.suspend(() => pay(`payout ${payouts++}`)),
            isOpen
          ),
          { until: (open) => open, times: 40 }
        )
        for (const providers of [["alpha"], ["alpha", "airtel"]]) {
          yield* sql`UPDATE corridors SET providers = ${providers}`
          yield* TestClock.adjust("1 minute")
          yield* failing
          expect(yield* told).toStrictEqual([["down", "alpha"]])
        }
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("reorders no pinned tenant, no bank and no wallet, and a charge by what its contracts say", () =>
    Effect.gen(function* () {
      const { node } = yield* routedTo([fakeProvider("alpha", { fee: 900n }), fakeProvider("beta", { fee: 100n })])
      yield* Effect.gen(function* () {
        yield* preferring("price")
        expect([yield* pay("bank", { method: "bank" }), yield* pay("wallet", { method: "wallet" })]).toStrictEqual([
          "pending",
          "pending"
        ])
        expect(yield* charge("charge")).toBe("pending")
        yield* (yield* Tenants).pin(appId, "alpha", auditEntry())
        yield* TestClock.adjust("1 second")
        expect(yield* pay("pinned")).toBe("pending")
        expect((yield* usedBy).map(([provider]) => provider)).toStrictEqual(["alpha", "alpha", "alpha", "alpha"])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )
})
