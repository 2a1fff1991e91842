import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { clawback } from "../../../src/domain/Clawback.ts"
import type { Fact } from "../../../src/domain/Fact.ts"
import { minor } from "../../../src/domain/Money.ts"
import { decide } from "../../../src/domain/Moves.ts"
import type { Collection } from "../../../src/domain/Payment.ts"
import { type Statement, type StatementLine, statedRulings } from "../../../src/domain/ReconciliationDifference.ts"
import { resolveCollection } from "../../../src/domain/Resolution.ts"
import { reviewReason } from "../../../src/domain/ReviewReason.ts"
import { AccountSweeps } from "../../../src/services/ports/AccountSweeps.ts"
import type { Provider } from "../../../src/services/ports/Provider.ts"
import { ProviderRegistry } from "../../../src/services/ports/ProviderRegistry.ts"
import { makeClawbackSweeps } from "../../../src/services/settlement/ClawbackSweeps.ts"
import { Clawbacks } from "../../../src/services/settlement/Clawbacks.ts"
import { OutcomePoller } from "../../../src/services/settlement/OutcomePoller.ts"
import { Reconciliation } from "../../../src/services/settlement/Reconciliation.ts"
import { Settlement } from "../../../src/services/settlement/Settlement.ts"
import { fake } from "../../fakes/Fake.ts"
import { TOLD_AT } from "../../support/SampleFacts.ts"
import { collection, NOON } from "../../support/SampleTransactions.ts"
import { storedRecord } from "./StoredRecord.ts"

// A refund that a person makes at the provider is a movement of its own in the account's statement, and no list has it.

const DAY = "2026-11-20"
const CHARGE = "0f3a8e0e-58c7-4a57-8a0a-5a1df0a2b3c4"
const paid = collection({
  status: "successful",
  providerReference: CHARGE,
  observedAmount: minor(50_000n),
  observedCurrency: "UGX",
  fees: minor(750n),
  completedAt: NOON
})

const refund = (change: Partial<StatementLine> = {}): StatementLine => ({
  direction: "payout",
  providerReference: "refund-1",
  reference: null,
  amount: minor(50_000n),
  currency: "UGX",
  fee: null,
  status: "debited",
  at: NOON,
  refundOf: ["refund-1", CHARGE],
  ...change
})

/** One collection that was sent weeks ago, and an account whose statements have these lines. */
const given = (record: Collection, lines: ReadonlyArray<StatementLine>, part: Partial<Statement> = {}) => {
  const done: Array<number> = []
  const kept = storedRecord(record, [], {
    byProviderReference: (_name, _mode, handle) => Effect.sync(() => (handle === CHARGE ? [kept.read()] : [])),
    createdBetween: () => Effect.succeed([]),
    entries: () => Effect.succeed([])
  })
  const unused = () => Effect.die("unused")
  const provider: Provider = {
    name: "eversend",
    mode: "live",
    fingerprints: () => [],
    guarantees: {
      clientReference: "none",
      lookup: "none",
      callbackAuth: "none",
      quoteTtlMs: 1,
      notFoundGraceMs: 1,
      clawbacksUnstated: true
    },
    callbacks: { verify: unused as never },
    collections: { charge: unused, fetchStatus: unused },
    statement: () => Effect.succeed({ lines, unreadable: [], unsteady: [], ...part })
  }
  const registry = Layer.succeed(ProviderRegistry, {
    known: ["eversend"],
    find: unused as never,
    accounts: (_, mode) => (mode === "live" ? [provider] : []),
    claimed: () => [],
    byRouteKey: unused as never,
    routeKey: unused as never,
    keptRouteKeys: () => []
  })
  const sweeps = fake(AccountSweeps, {
    claim: () => Effect.succeed(true),
    done: (_name, _mode, at) => Effect.sync(() => void done.push(at))
  })
  const layer = Reconciliation.layer.pipe(
    Layer.provideMerge(Clawbacks.layer),
    Layer.provideMerge(Settlement.layer),
    Layer.provideMerge(Layer.mergeAll(kept.ports, registry, sweeps, fake(OutcomePoller, {})))
  )
  const report = Effect.flatMap(Reconciliation, ({ reconcile }) => reconcile("eversend", NOON, DAY)).pipe(Effect.provide(layer))
  const reconciled = report.pipe(
    Effect.map(({ differences, known, ok }) => ({
      ok,
      differences: differences.map(({ direction, kind, reference, theirs }) => [kind, direction, reference, theirs]),
      known: known.map(({ because, kind, theirs }) => [because, kind, theirs])
    }))
  )
  const rulings = Effect.map(report, ({ differences, known }) => statedRulings([...differences, ...known]))
  return { ...kept, done, reconciled, rulings, swept: Effect.flatten(makeClawbackSweeps).pipe(Effect.provide(layer)) }
}

it.effect("a refund in a statement that names a collection opens a review once, with what is to be booked (38)", () =>
  Effect.gen(function* () {
    yield* TestClock.setTime(TOLD_AT)
    const world = given(paid, [refund()])
    const inReview = { ok: true, differences: [], known: [["in_review", "state", "refunded 50000 UGX"]] }
    expect(yield* world.reconciled).toEqual(inReview)
    // Again by a person, and by the sweep of past days.
    expect(yield* world.reconciled).toEqual(inReview)
    yield* world.swept
    expect(world.steps).toMatchObject([
      { next: { status: "successful", needsReview: true, version: 2 }, entry: null, event: { type: "collection.updated" } }
    ])
    const said = world.steps.map(({ line }) => line)
    expect(reviewReason(world.read().transaction, said)).toBe(
      "it was credited, and the provider lists a refund refund-1 of 50000 UGX: it was taken back"
    )
    // A person rules that it came back: the float loses what it was credited, and the statement agrees from then on.
    const ruling = resolveCollection(
      world.read().transaction as Collection,
      { outcome: "failed", evidence: "e", amount: null, fee: null },
      TOLD_AT
    )
    if (typeof ruling === "string") return expect.unreachable(ruling)
    expect([ruling.event, ruling.next.reversed?.amount]).toEqual(["collection.reversed", 49_250n])
    expect(yield* given(ruling.next, [refund()]).reconciled).toEqual({ ok: true, differences: [], known: [] })
  })
)

it.effect("the sweep of past days finds such a refund by itself, also where our reference names the collection", () =>
  Effect.gen(function* () {
    yield* TestClock.setTime(TOLD_AT)
    const world = given({ ...paid, providerReference: null }, [refund({ refundOf: ["refund-1", paid.reference] })])
    yield* world.swept
    yield* world.swept
    expect(world.steps.map(({ next }) => next.needsReview)).toEqual([true])
  })
)

it.effect("a refund that names nothing of ours stays a difference, and one that failed opens no review", () =>
  Effect.gen(function* () {
    yield* TestClock.setTime(TOLD_AT)
    const foreign = given(paid, [refund({ refundOf: ["refund-1"] })])
    expect(yield* foreign.reconciled).toEqual({
      ok: false,
      differences: [["missing_here", "payout", null, "debited 50000 UGX"]],
      known: []
    })
    const failed = given(paid, [refund({ status: "failed" })])
    expect(yield* failed.reconciled).toEqual({ ok: true, differences: [], known: [] })
    yield* foreign.swept
    expect([...foreign.steps, ...failed.steps].filter(({ next }) => next.needsReview)).toEqual([])
  })
)

it.effect("a refund of a collection that failed here is a difference that nothing explains", () =>
  Effect.gen(function* () {
    yield* TestClock.setTime(TOLD_AT)
    const world = given({ ...paid, status: "failed" }, [refund()])
    expect(yield* world.reconciled).toMatchObject({
      ok: false,
      differences: [["state", "collection", paid.reference, "refunded 50000 UGX"]]
    })
    expect(world.steps).toEqual([])
  })
)

it.effect("a wallet that could not be read is a difference, and its statements are looked at again within the hour (38)", () =>
  Effect.gen(function* () {
    yield* TestClock.setTime(TOLD_AT)
    const wallet = {
      direction: null,
      place: "the statement of UGA UGX",
      providerReference: null,
      reference: null,
      at: null,
      word: "its file is HTTP 403"
    }
    const world = given(paid, [refund()], { unreadable: [wallet], isPart: true })
    expect(yield* world.reconciled).toMatchObject({
      ok: false,
      differences: [["unreadable", null, null, "the statement of UGA UGX: its file is HTTP 403"]],
      known: [["in_review", "state", "refunded 50000 UGX"]]
    })
    yield* world.swept
    expect(world.done).toEqual([])
    const whole = given(paid, [refund()])
    yield* whole.swept
    expect(whole.done).toHaveLength(1)
  })
)

const told = (record: Collection, fact: Fact) => decide(record, fact, "reconciler", TOLD_AT).next as Collection
const line = refund({ direction: "collection", providerReference: CHARGE, status: "successful", fee: minor(800n) })
const { refundOf: _none, ...charge } = line
const dispute = clawback({
  by: "dispute",
  id: "D1",
  state: "taken",
  amount: minor(50_000n),
  currency: "UGX",
  reason: null,
  answerBy: null
})
const stated: Fact = { _tag: "FeeStated", fee: minor(800n), note: "row" }
const again: Fact = {
  _tag: "Succeeded",
  providerReference: CHARGE,
  amount: minor(50_000n),
  currency: "UGX",
  fee: null,
  note: "status successful"
}
const foreign: Fact = { _tag: "Mismatched", note: "status successful, for another number" }

it.effect.each<readonly [string, Collection, number]>([
  ["that its fee opened", told(paid, stated), 1],
  ["that its fee opened, after a poll that says nothing new", told(told(told(paid, again), stated), again), 1],
  ["that its fee opened, after a dispute", told(told(paid, stated), dispute), 0],
  ["that a dispute opened, whose money a ruling on the fee would leave credited", told(paid, dispute), 0],
  ["of another request under the same reference", told({ ...paid, status: "pending", fees: null, completedAt: null }, foreign), 0]
])("a statement's row of a charge alone rules on a review %s: %#", ([, record, count]) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(TOLD_AT)
    const world = given(record, [charge])
    expect(record.needsReview).toBe(true)
    expect(yield* world.reconciled).toMatchObject({ ok: true, known: [["in_review", expect.anything(), expect.anything()]] })
    expect(yield* world.rulings).toHaveLength(count)
  })
)
