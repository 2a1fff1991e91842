import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { type Clawback, clawback } from "../../../src/domain/Clawback.ts"
import { ProviderError } from "../../../src/domain/errors/Retriable.ts"
import { minor, ZERO } from "../../../src/domain/Money.ts"
import type { Collection } from "../../../src/domain/Payment.ts"
import { resolveCollection } from "../../../src/domain/Resolution.ts"
import { reviewReason } from "../../../src/domain/ReviewReason.ts"
import { AccountSweeps } from "../../../src/services/ports/AccountSweeps.ts"
import type { Provider } from "../../../src/services/ports/Provider.ts"
import type { ClawbackQuery } from "../../../src/services/ports/ProviderClawbacks.ts"
import { ProviderRegistry } from "../../../src/services/ports/ProviderRegistry.ts"
import { makeClawbackSweeps } from "../../../src/services/settlement/ClawbackSweeps.ts"
import { Clawbacks } from "../../../src/services/settlement/Clawbacks.ts"
import { OutcomePoller } from "../../../src/services/settlement/OutcomePoller.ts"
import { Settlement } from "../../../src/services/settlement/Settlement.ts"
import { fake } from "../../fakes/Fake.ts"
import { TOLD_AT } from "../../support/SampleFacts.ts"
import { collection, NOON } from "../../support/SampleTransactions.ts"
import { storedRecord } from "./StoredRecord.ts"

const DAY = 86_400_000
const paid = collection({
  status: "successful",
  providerReference: "P1",
  observedAmount: minor(50_000n),
  observedCurrency: "UGX",
  fees: minor(750n),
  completedAt: NOON
})
const told = (change: Partial<Omit<Clawback, "_tag" | "note">> = {}): Clawback =>
  clawback({
    by: "dispute",
    id: "771203",
    state: "open",
    amount: minor(50_000n),
    currency: "UGX",
    reason: "chargeback",
    answerBy: Date.parse("2026-12-01T18:00:00Z"),
    ...change
  })

/** One collection, and an account that lists these. */
const given = (record: Collection, facts: () => ReadonlyArray<Clawback>) => {
  const queries: Array<ClawbackQuery> = []
  const kept = storedRecord(record, [], { byProviderReference: () => Effect.sync(() => [kept.read()]) })
  const unused = () => Effect.die("unused")
  const provider: Provider = {
    name: "eversend",
    mode: "live",
    fingerprints: () => [],
    guarantees: { clientReference: "none", lookup: "none", callbackAuth: "none", quoteTtlMs: 1, notFoundGraceMs: 1 },
    callbacks: { verify: unused as never },
    collections: {
      charge: unused,
      fetchStatus: unused,
      clawbacks: (query) =>
        Effect.sync(() => {
          queries.push(query)
          return {
            listed: facts().map((fact) => ({ reference: null, providerReference: "P1", factIn: () => fact })),
            isWhole: true
          }
        })
    }
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
  const layer = Layer.provideMerge(Layer.provideMerge(Clawbacks.layer, Settlement.layer), Layer.merge(kept.ports, registry))
  const hear = Effect.flatMap(Clawbacks, ({ ofAccount }) => ofAccount(provider)).pipe(Effect.provide(layer))
  return { ...kept, hear, provider, queries, layer }
}

describe("what is taken back of a collection", () => {
  it.effect("opens a review that says what is known, once, and moves nothing", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(TOLD_AT)
      const world = given(paid, () => [told()])
      expect([yield* world.hear, yield* world.hear]).toEqual([true, true])
      expect(world.queries[0]).toEqual({ since: TOLD_AT - 90 * DAY, until: TOLD_AT + DAY, providerReference: null })
      expect(world.steps).toMatchObject([
        { next: { status: "successful", needsReview: true, version: 2 }, entry: null, event: { type: "collection.updated" } }
      ])
      const lines = world.steps.map(({ line }) => line)
      expect(reviewReason(world.read().transaction, lines)).toBe(
        "it was credited, and the provider lists a dispute 771203 of 50000 UGX: chargeback: it is open, and nothing was taken yet: answer it by 2026-12-01T18:00:00.000Z"
      )
    })
  )

  it.effect("is booked by a person, and what the person knew opens nothing again", () =>
    Effect.gen(function* () {
      const ruled = (record: Collection, outcome: "successful" | "failed", amount: bigint | null) => {
        const ruling = resolveCollection(
          record,
          { outcome, evidence: "e", amount: amount === null ? null : minor(amount), fee: amount === null ? null : ZERO },
          TOLD_AT
        )
        return typeof ruling === "string" ? expect.unreachable(ruling) : ruling
      }
      const inReview = function* (...facts: ReadonlyArray<Clawback>) {
        const world = given(paid, () => facts)
        yield* world.hear
        return world.read().transaction as Collection
      }
      const again = function* (record: Collection, ...facts: ReadonlyArray<Clawback>) {
        const world = given(record, () => facts)
        yield* world.hear
        return world.steps.map(({ next }) => next.needsReview)
      }
      // The dispute is only open, and the person waits: its loss is news.
      const waiting = ruled(yield* inReview(told()), "successful", null)
      expect([waiting.entry, waiting.next.reversed]).toEqual([null, null])
      expect(yield* again(waiting.next, told())).toEqual([])
      expect(yield* again(waiting.next, told({ state: "taken" }))).toEqual([true])
      expect(yield* again(waiting.next, told({ state: "kept" }))).toEqual([false])
      // Lost: the whole amount goes, with its fee, and the event says so.
      const lost = ruled(yield* inReview(told({ state: "taken" })), "failed", null)
      expect([lost.event, lost.next.reversed?.amount]).toEqual(["collection.reversed", 49_250n])
      expect(yield* again(lost.next, told({ state: "taken" }), told({ by: "refund", id: "9", state: "taken" }))).toEqual([])
      // Another one that came to nothing is no news, and the one that took it is, once it is won after all.
      expect(yield* again(lost.next, told({ by: "refund", id: "9", state: "kept" }))).toEqual([])
      expect(yield* again(lost.next, told({ state: "kept" }), told({ state: "kept" }))).toEqual([true])
      // A part was refunded, and the case was opened while that was under way.
      const refund = told({ by: "refund", id: "9", amount: minor(20_000n) })
      const both = { ...(yield* inReview(refund, { ...refund, ...told({ ...refund, state: "taken" }) })) }
      const part = ruled(both, "successful", 30_000n)
      expect([part.event, part.next.observedAmount]).toEqual(["collection.corrected", 30_000n])
      expect(yield* again(part.next, told({ ...refund, state: "taken" }))).toEqual([])
      expect(yield* again(part.next, told({ ...refund, state: "kept" }))).toEqual([true])
      // A person booked all of it while the dispute was open: that it is won is news, too.
      const early = ruled(yield* inReview(told()), "failed", null)
      expect(yield* again(early.next, told({ state: "taken" }))).toEqual([])
      expect(yield* again(early.next, told({ state: "kept" }))).toEqual([true])
    })
  )

  it.effect("is ruled on once, although the charge itself goes on saying that it succeeded", () =>
    Effect.gen(function* () {
      const succeeded = { _tag: "Succeeded", providerReference: "P1", currency: "UGX", fee: minor(750n), note: "" } as const
      const fact = { ...succeeded, amount: minor(50_000n) }
      const said = { ...paid, said: [`succeeded ${fact.amount} UGX`] }
      /** The charge is polled, and the list is read; then a person rules. */
      const followed = function* (
        record: Collection,
        state: Clawback["state"],
        resolution: "successful" | "failed",
        amount?: bigint
      ) {
        const world = given(record, () => [told({ by: "refund", id: "9", state, amount: minor(20_000n) })])
        const poll = Effect.flatMap(Settlement, ({ applyFromProvider }) =>
          applyFromProvider("eversend", { reference: paid.reference, fact, actor: "reconciler" })
        )
        for (const one of [poll.pipe(Effect.provide(world.layer)), world.hear]) yield* one
        const { needsReview, ...read } = world.read().transaction as Collection
        const figures = amount === undefined ? { amount: null, fee: null } : { amount: minor(amount), fee: minor(750n) }
        const ruling = resolveCollection({ ...read, needsReview }, { outcome: resolution, evidence: "e", ...figures }, TOLD_AT)
        return { needsReview, ruled: typeof ruling === "string" ? expect.unreachable(ruling) : ruling.next }
      }
      const waiting = yield* followed(said, "open", "successful")
      const stillOpen = yield* followed(waiting.ruled, "open", "successful")
      const lost = yield* followed(waiting.ruled, "taken", "failed")
      const stillLost = yield* followed(lost.ruled, "taken", "failed")
      const part = yield* followed(waiting.ruled, "taken", "successful", 30_000n)
      const stillPart = yield* followed(part.ruled, "taken", "successful", 30_000n)
      expect([waiting, stillOpen, lost, stillLost, part, stillPart].map(({ needsReview }) => needsReview)).toEqual([
        true,
        false,
        true,
        false,
        true,
        false
      ])
    })
  )

  it.effect("is nothing of a collection that did not succeed, and a dispute that was won opens no review", () =>
    Effect.gen(function* () {
      const failed = given({ ...paid, status: "failed" }, () => [told({ state: "taken" })])
      const won = given(paid, () => [told({ state: "kept" })])
      yield* failed.hear
      yield* won.hear
      yield* won.hear
      expect(failed.steps).toEqual([])
      expect(won.steps.map(({ next }) => [next.needsReview, next.version])).toEqual([[false, 1]])
    })
  )
})

it.effect("a status that nobody knows is a person's, and says so each time the word changes", () =>
  Effect.gen(function* () {
    yield* TestClock.setTime(TOLD_AT)
    let word = "status escalated"
    const world = given(paid, () => [told({ state: "unknown", reason: word })])
    yield* world.hear
    yield* world.hear
    word = "status second-presentment"
    yield* world.hear
    const lines = world.steps.map(({ line }) => line)
    expect(world.steps.map(({ next }) => next.needsReview)).toEqual([true, true])
    expect(reviewReason(world.read().transaction, lines.slice(0, 1))).toBe(
      "it was credited, and the provider lists a dispute 771203 of 50000 UGX: status escalated: the gateway does not know this status: look at the provider whether money was taken: answer it by 2026-12-01T18:00:00.000Z"
    )
  })
)

describe("the look through an account", () => {
  const polls: Array<string> = []
  const swept = Effect.fnUntraced(function* (world: ReturnType<typeof given>, isTurn = true, isBusy = false) {
    const sweeps: Array<ReadonlyArray<unknown>> = []
    const ports = Layer.mergeAll(
      fake(AccountSweeps, {
        claim: (...claim) => Effect.sync(() => (sweeps.push(claim), isTurn)),
        done: (...done) => Effect.sync(() => void sweeps.push(done))
      }),
      fake(OutcomePoller, {
        poll: ({ transaction }) =>
          Effect.sync(() => {
            polls.push(transaction.reference)
            return { learnt: !isBusy, ...(isBusy && { turnedAway: true }), record: transaction }
          })
      })
    )
    yield* Effect.flatten(makeClawbackSweeps).pipe(Effect.provide(Layer.provideMerge(ports, world.layer)))
    return sweeps
  })

  it.effect("is made by one process every six hours where the account lists disputes and refunds", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(TOLD_AT)
      const world = given(paid, () => [told()])
      expect(yield* swept(world, false)).toEqual([["eversend", "live", TOLD_AT, TOLD_AT + 3_600_000]])
      expect(world.steps).toEqual([])
      expect((yield* swept(world)).at(-1)).toEqual(["eversend", "live", TOLD_AT + 6 * 3_600_000])
      expect(world.read().transaction.needsReview).toBe(true)
    })
  )

  it.effect("reads the statements of past days where it lists none, and asks for the charges that came back", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(TOLD_AT)
      const world = given(paid, () => [])
      const days: Array<string> = []
      const row = {
        direction: "collection",
        providerReference: "P1",
        reference: null,
        amount: minor(50_000n),
        currency: "UGX"
      } as const
      const { clawbacks: _, ...collections } = world.provider.collections ?? expect.unreachable("it has collections")
      Object.assign(world.provider, {
        collections,
        statement: (day: string) =>
          Effect.sync(() => {
            days.push(day)
            const isLast = days.length === 6
            return {
              lines: [{ ...row, fee: null, status: isLast ? "returned" : "successful", at: NOON }],
              unreadable: [],
              unsteady: []
            }
          })
      })
      expect((yield* swept(world)).at(-1)).toEqual(["eversend", "live", TOLD_AT + DAY])
      expect(days).toEqual(["2026-11-20", "2026-11-18", "2026-11-14", "2026-11-07", "2026-10-22", "2026-10-07"])
      expect(polls).toEqual([paid.reference])
      // The account was busy when the charge was asked for: the sweep is not done.
      days.length = 0
      expect(yield* swept(world, true, true)).toHaveLength(1)
      // One day cannot be read: the others are, and the sweep is not done.
      days.length = 0
      const { statement } = world.provider
      const failing = new ProviderError({})
      Object.assign(world.provider, {
        statement: (day: string) =>
          Effect.flatMap(statement?.(day) ?? Effect.die("it has one"), (read) =>
            days.length === 2 ? failing : Effect.succeed(read)
          )
      })
      polls.length = 0
      expect(yield* swept(world)).toHaveLength(1)
      expect([days.length, polls]).toEqual([6, [paid.reference]])
    })
  )

  it.effect("goes on after a record that cannot be read, and is made again", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(TOLD_AT)
      const world = given(paid, () => [told({ id: "broken" }), told()])
      const { clawbacks, ...collections } = world.provider.collections ?? expect.unreachable("it has collections")
      const broken = () => {
        throw new Error("no such currency")
      }
      Object.assign(world.provider, {
        collections: {
          ...collections,
          clawbacks: (query: ClawbackQuery) =>
            Effect.map(clawbacks?.(query) ?? Effect.die("it lists them"), ({ isWhole, listed }) => ({
              isWhole,
              listed: listed.map((one, at) => (at === 0 ? { ...one, factIn: broken } : one))
            }))
        }
      })
      expect(yield* swept(world)).toHaveLength(1)
      expect(world.read().transaction.needsReview).toBe(true)
    })
  )
})
