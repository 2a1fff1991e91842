import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Layer, Metric } from "effect"
import type { Transaction } from "../../src/domain/Transaction.ts"
import { countedOutcomes } from "../../src/observability/FinalOutcomes.ts"
import { type ApplyOutcome, type ApplyStep, FloatLedger } from "../../src/services/ports/FloatLedger.ts"
import { type Counted, PeriodCounts } from "../../src/services/ports/PeriodCounts.ts"
import { fake } from "../fakes/Fake.ts"
import { fakeRouteCounts } from "../fakes/FakePorts.ts"
import { NOON, payout } from "../support/SampleTransactions.ts"
import { auditEntry } from "../support/TestDatabase.ts"

const step = (before: Transaction, next: Transaction): ApplyStep => ({
  expectedRevision: 1n,
  before,
  next,
  entry: null,
  line: { at: NOON, actor: "callback", fact: "Succeeded", note: "", status: next.status },
  event: null,
  nextPollAt: null,
  response: null,
  savesBeneficiary: false,
  restoreLimits: false,
  wipeDestination: false,
  raw: null
})

/** A node whose ledger answers each step as it is told. */
const givenNode = Effect.fnUntraced(function* (answers: (step: ApplyStep) => ApplyOutcome) {
  const counted: Array<Counted> = []
  const routed: Array<string> = []
  const ledger = fake(FloatLedger, {
    apply: (one) => Effect.sync(() => answers(one)),
    resolve: (one) => Effect.sync(() => answers(one))
  })
  const periods = fake(PeriodCounts, { add: (one) => Effect.sync(() => void counted.push(one)) })
  const routes = fakeRouteCounts({
    add: (mode, { provider, result }) => Effect.sync(() => void routed.push(`${mode} ${provider} ${result}`))
  })
  const built = yield* Layer.build(Layer.fresh(Layer.provide(countedOutcomes, Layer.mergeAll(ledger, periods, routes))))
  return { ledger: Context.get(built, FloatLedger), counted, routed }
})

const ended = (override: Partial<Parameters<typeof payout>[0]> = {}) =>
  payout({ status: "successful", completedAt: NOON + 42_000, ...override })

/** What is counted of a provider: the counters that are above zero, how many are not, and the histogram. Metrics outlive a test, so each has its own. */
const metricsOf = (provider: string) =>
  Effect.map(Metric.snapshot, (every) => {
    const own = every.filter(({ attributes }) => attributes?.["provider"] === provider)
    const ends = own
      .filter(({ id }) => id === "gateway_transactions_total")
      .map(({ attributes, state }) => [attributes, "count" in state ? state.count : null] as const)
    return {
      ends: ends.filter(([, count]) => count !== 0),
      zeros: ends.filter(([, count]) => count === 0).length,
      durations: own
        .filter(({ id }) => id === "gateway_transaction_duration_seconds")
        .map(({ attributes, state }) => [attributes, state])
    }
  })

const ownRegistry = Effect.provideService(Metric.MetricRegistry, new Map())

describe("transactions that end", () => {
  it.effect("are counted once, by the node whose commit made the status final, where two bring the same news", () =>
    Effect.gen(function* () {
      let isOpen = true
      const answers = (): ApplyOutcome => {
        const applied: ApplyOutcome = isOpen ? { _tag: "Applied" } : { _tag: "Stale" }
        isOpen = false
        return applied
      }
      const [one, other] = [yield* givenNode(answers), yield* givenNode(answers)]
      yield* one.ledger.apply(step(payout(), ended()))
      yield* other.ledger.apply(step(payout(), ended()))
      // What it is decided anew from has ended.
      isOpen = true
      yield* other.ledger.apply(step(ended(), ended()))
      const labels = {
        kind: "payout",
        mode: "live",
        provider: "eversend",
        corridor: "UG/UGX/momo",
        status: "successful",
        failure: "none"
      }
      expect((yield* metricsOf("eversend")).ends).toEqual([[labels, 1]])
      expect([one.counted, other.counted]).toEqual([
        [
          {
            what: "payout",
            mode: "live",
            provider: "eversend",
            corridor: "UG/UGX/momo",
            outcome: "successful",
            failure: "none"
          }
        ],
        []
      ])
    }).pipe(ownRegistry)
  )

  it.effect("have their time from the creation to the final status, and every way to fail is there from 0 on", () =>
    Effect.gen(function* () {
      const { ledger } = yield* givenNode(() => ({ _tag: "Applied" }))
      yield* ledger.apply(step(payout(), ended({ provider: "mtn" })))
      const { durations, zeros } = yield* metricsOf("mtn")
      expect(durations).toMatchObject([
        [
          { kind: "payout", mode: "live", provider: "mtn", status: "successful" },
          { count: 1, sum: 42 }
        ]
      ])
      expect(zeros).toBe(9)
    }).pipe(ownRegistry)
  )

  it.effect("say what became of them at their provider, where its own word ended them and not a person's", () =>
    Effect.gen(function* () {
      const { ledger, routed } = yield* givenNode(() => ({ _tag: "Applied" }))
      const failed = ended({ provider: "mtn", status: "failed", failure: { code: "provider_rejected", message: "" } })
      const line = { at: NOON, actor: "request", fact: "Unknown", note: "", status: "pending" } as const
      yield* ledger.apply({ ...step(payout({ provider: "mtn" }), payout({ provider: "mtn" })), line })
      yield* ledger.apply(step(payout({ provider: "mtn" }), failed))
      yield* ledger.resolve(step(payout({ provider: "mtn" }), failed), auditEntry())
      expect(routed).toEqual(["live mtn silent", "live mtn failed"])
      const stale = yield* givenNode(() => ({ _tag: "Stale" }))
      yield* stale.ledger.apply(step(payout(), ended()))
      expect(stale.routed).toEqual([])
    }).pipe(ownRegistry)
  )

  it.effect(
    "have a word of their own in the periods where our wallet at the provider was too small, and the failure's code in the metrics",
    () =>
      Effect.gen(function* () {
        const failed = ended({ provider: "wave", status: "failed", failure: { code: "provider_rejected", message: "" } })
        const { counted, ledger } = yield* givenNode(() => ({ _tag: "Applied" }))
        yield* ledger.apply({ ...step(payout({ provider: "wave" }), failed), walletTooSmall: true })
        expect(counted.map(({ failure, outcome }) => [outcome, failure])).toEqual([["failed", "insufficient_wallet_float"]])
        expect((yield* metricsOf("wave")).ends.map(([labels]) => labels?.["failure"])).toEqual(["provider_rejected"])
        const refusals = (yield* Metric.snapshot).filter(({ id }) => id === "gateway_wallet_refusals_total")
        expect(refusals.map(({ attributes, state }) => [attributes, state])).toMatchObject([
          [{ provider: "wave", mode: "live" }, { count: 1 }]
        ])
      }).pipe(ownRegistry)
  )

  it.effect("count also where a person's ruling ended them, and not where nothing was written", () =>
    Effect.gen(function* () {
      const failed = ended({ provider: "paystack", status: "failed", failure: { code: "unknown", message: "" } })
      const refused = yield* givenNode(() => ({ _tag: "FullFloat" }))
      yield* refused.ledger.apply(step(payout(), failed))
      expect((yield* metricsOf("paystack")).ends).toEqual([])
      const { counted, ledger } = yield* givenNode(() => ({ _tag: "Applied" }))
      yield* ledger.resolve(step(payout({ needsReview: true }), failed), auditEntry())
      yield* ledger.resolve(step(failed, ended()), auditEntry())
      expect(counted.map(({ failure, outcome }) => [outcome, failure])).toEqual([["failed", "unknown"]])
    }).pipe(ownRegistry)
  )
})
