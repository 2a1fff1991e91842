import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { TestClock } from "effect/testing"
import { encodeEvent } from "../../../src/domain/Event.ts"
import type { LedgerRecord } from "../../../src/domain/Exchange.ts"
import { Reference } from "../../../src/domain/Ids.ts"
import { release, settle } from "../../../src/domain/Ledger.ts"
import { minor } from "../../../src/domain/Money.ts"
import type { Resolution } from "../../../src/domain/Resolution.ts"
import { recordView } from "../../../src/domain/View.ts"
import type { AuditEntry } from "../../../src/services/ports/AuditLog.ts"
import { FloatLedger } from "../../../src/services/ports/FloatLedger.ts"
import { type NotResolved, Review } from "../../../src/services/settlement/Review.ts"
import { fake } from "../../fakes/Fake.ts"
import { cases } from "../../support/ReviewCases.ts"
import { TOLD_AT } from "../../support/SampleFacts.ts"
import { NOON, payout } from "../../support/SampleTransactions.ts"
import { givenTelemetry } from "../../support/Telemetry.ts"
import { FIRST, storedRecord } from "./StoredRecord.ts"

const open = cases["pending payout"]
const { reference } = open
const audit: AuditEntry = { at: TOLD_AT, actor: "jane", action: "review resolve", subject: reference, details: {} }
const ruling = (outcome: Resolution["outcome"], more: Partial<Resolution> = {}): Resolution => ({
  outcome,
  amount: null,
  fee: null,
  evidence: "their statement",
  ...more
})

const refusalOf = (resolved: Effect.Effect<unknown, NotResolved>) =>
  Effect.map(Effect.flip(resolved), ({ _tag, message }) => [_tag, message] as const)

/** A record, and a person who rules on it a minute after it was made. */
const given = (record: LedgerRecord, overtakenBy: ReadonlyArray<LedgerRecord> = []) => {
  const kept = storedRecord(record, overtakenBy)
  const telemetry = givenTelemetry()
  const layer = Layer.merge(Layer.provide(Review.layer, kept.ports), telemetry.layer)
  const resolve = (resolution: Resolution, seen?: bigint | null, about = reference) =>
    Effect.gen(function* () {
      yield* TestClock.setTime(TOLD_AT)
      return yield* (yield* Review).resolve(about, resolution, audit, seen)
    }).pipe(Effect.provide(layer))
  return { ...kept, ...telemetry, resolve }
}

describe("a ruling", () => {
  it.effect("is one commit of the record, its entry, the history and the event, with the audit row", () =>
    Effect.gen(function* () {
      const { audits, read, resolve, spans, steps } = given(open)
      const next = {
        ...payout({ status: "successful", principal: minor(9_999n), heldFee: minor(1_001n), fees: minor(800n) }),
        version: 2,
        updatedAt: TOLD_AT,
        completedAt: TOLD_AT,
        said: [],
        saidAtOpening: [],
        ruling: {
          outcome: "successful",
          known: []
        }
      } as const
      const resolution = ruling("successful", { amount: minor(9_999n), fee: minor(800n), evidence: "they told +256772123456" })
      expect(yield* resolve(resolution)).toStrictEqual(next)
      const { appId, mode } = next
      const id = Reference.make("00000000000000000000000001")
      expect(steps).toStrictEqual([
        {
          expectedRevision: FIRST,
          next,
          entry: settle("UGX", minor(9_999n), minor(1_001n), minor(800n)),
          line: {
            at: TOLD_AT,
            actor: "review",
            fact: "Resolved",
            note: "successful; amount 9999; fee 800; they told ••••3456",
            status: "successful"
          },
          event: encodeEvent({ id, appId, mode, type: "payout.successful", reference, at: TOLD_AT }, recordView(next)),
          nextPollAt: TOLD_AT + 3_600_000,
          response: null,
          savesBeneficiary: false,
          restoreLimits: false,
          wipeDestination: true,
          raw: null
        }
      ])
      expect(audits).toStrictEqual([audit])
      expect(read().transaction).toStrictEqual(next)
      expect(yield* spans).toStrictEqual([["Review.resolve", {}]])
    })
  )

  it.effect("that no money moved gives back what was reserved, and the payout counts in no limit", () =>
    Effect.gen(function* () {
      const { resolve, steps } = given(open)
      yield* resolve(ruling("failed"))
      expect(steps).toMatchObject([
        {
          entry: release("UGX", minor(11_000n)),
          line: { note: "failed; their statement" },
          event: { type: "payout.failed" },
          nextPollAt: null,
          restoreLimits: true
        }
      ])
    })
  )

  // Only a payout that was open counts in windows that have not ended.
  it.effect.each<readonly [keyof typeof cases, Resolution["outcome"], string | null, string]>([
    ["successful payout", "failed", "correct", "payout.returned"],
    ["failed payout", "successful", "correct", "payout.successful"],
    ["failed payout", "failed", null, "none"],
    ["pending collection", "successful", "collect", "collection.successful"],
    ["pending collection", "failed", null, "collection.failed"],
    ["pending exchange", "failed", "release", "fx.failed"],
    ["successful exchange", "successful", null, "none"]
  ])("on a %s, as %s, restores no limit", ([name, outcome, phase, event]) =>
    Effect.gen(function* () {
      const { resolve, steps } = given(cases[name])
      yield* resolve(ruling(outcome))
      const [step] = steps
      expect([step?.entry?.phase ?? null, step?.event === null ? "none" : step?.event?.type, step?.restoreLimits]).toStrictEqual([
        phase,
        event,
        false
      ])
    })
  )

  it.effect.each<readonly [string, LedgerRecord, Resolution, bigint | null, string]>([
    ["where no case is open", payout(), ruling("failed"), null, `no review of ${reference} is open`],
    [
      "where the record is not as the person saw it",
      open,
      ruling("failed"),
      FIRST - 1n,
      `the provider said something of ${reference} since: it is at revision 1 now; look at it again before you rule`
    ],
    [
      "that contradicts itself",
      open,
      ruling("failed", { fee: minor(1n) }),
      FIRST,
      "what failed moved nothing: amount and fee go with the outcome successful"
    ]
  ])("is refused %s, and nothing is written", ([, record, resolution, seen, message]) =>
    Effect.gen(function* () {
      const { audits, resolve, steps } = given(record)
      expect(yield* refusalOf(resolve(resolution, seen))).toStrictEqual(["NotResolved", message])
      expect([steps, audits]).toStrictEqual([[], []])
    })
  )

  it.effect("is made on the revision that the person saw", () =>
    Effect.gen(function* () {
      expect(yield* given(open).resolve(ruling("failed"), FIRST)).toMatchObject({ status: "failed" })
    })
  )

  it.effect("is refused for a transaction that does not exist", () =>
    Effect.gen(function* () {
      const other = Reference.make("00000000000000000000000009")
      const refused = yield* refusalOf(given(open).resolve(ruling("failed"), null, other))
      expect(refused).toStrictEqual(["NotResolved", `there is no transaction ${other}`])
    })
  )

  it.effect("is refused where the record was corrected before", () =>
    Effect.gen(function* () {
      const { ports } = storedRecord(open)
      const corrected = fake(FloatLedger, { resolve: () => Effect.succeed({ _tag: "Corrected" } as const) })
      const refused = yield* Effect.flatMap(Review, ({ resolve }) => refusalOf(resolve(reference, ruling("failed"), audit))).pipe(
        Effect.provide(Layer.provide(Review.layer, Layer.merge(ports, corrected)))
      )
      const message = `${reference} was corrected before, and a record is corrected once: use float credit or float debit`
      expect(refused).toStrictEqual(["NotResolved", message])
    })
  )
})

describe("a ruling while the provider speaks", () => {
  const changed = (revision: bigint) =>
    `the provider said something of ${reference} since: it is at revision ${revision} now; look at it again before you rule`

  it.effect("stands where the case is the same, and is made on the record as it then is", () =>
    Effect.gen(function* () {
      const { audits, resolve, steps } = given(open, [{ ...open, providerReference: "P9", said: ["under way"] }])
      expect(yield* resolve(ruling("failed"))).toMatchObject({ status: "failed", providerReference: "P9" })
      expect(steps.map(({ expectedRevision }) => expectedRevision)).toStrictEqual([FIRST + 1n])
      expect(audits).toStrictEqual([audit])
    })
  )

  it.effect.each<readonly [string, Partial<LedgerRecord>, string]>([
    ["the status is another one", { status: "successful" }, changed(FIRST + 1n)],
    ["the case was opened anew with another report", { saidAtOpening: ["failed"] }, changed(FIRST + 1n)],
    ["another person ruled", { ruling: { outcome: "failed", known: [] } }, changed(FIRST + 1n)],
    ["the case was closed", { needsReview: false }, `no review of ${reference} is open`]
  ])("is refused where %s meanwhile, and nothing is written", ([, change, message]) =>
    Effect.gen(function* () {
      const { audits, resolve, steps } = given(open, [{ ...open, ...change } as LedgerRecord])
      expect(yield* refusalOf(resolve(ruling("failed")))).toStrictEqual(["NotResolved", message])
      expect([steps, audits]).toStrictEqual([[], []])
    })
  )

  it.effect("on the revision that the person saw is refused for whatever was said since", () =>
    Effect.gen(function* () {
      const { resolve } = given(open, [open])
      expect(yield* refusalOf(resolve(ruling("failed"), FIRST))).toStrictEqual(["NotResolved", changed(FIRST + 1n)])
    })
  )

  it.effect("is decided sixteen times at most: that the record never stands still is a defect", () =>
    Effect.gen(function* () {
      const times = (count: number) => Array.from({ length: count }, () => open)
      expect(yield* given(open, times(15)).resolve(ruling("failed"))).toMatchObject({ status: "failed" })
      const restless = given(open, times(16))
      const exit = yield* Effect.exit(restless.resolve(ruling("failed")))
      expect(String(exit)).toContain(`the transaction ${reference} kept moving`)
      expect([restless.steps, restless.seen.reads]).toStrictEqual([[], 16])
    })
  )
})

describe("the open cases", () => {
  it.effect("come with their history and the last call, and each reading of a call is audited for its case", () =>
    Effect.gen(function* () {
      const other = { ...open, reference: Reference.make("00000000000000000000000003") }
      const line = { at: NOON, actor: "request", fact: "Opened", note: "", status: "pending" } as const
      const sent = { rawRequest: "sent", rawResponse: null }
      const telemetry = givenTelemetry()
      const limits: Array<number> = []
      const read: Array<unknown> = []
      const { ports } = storedRecord(open, [], {
        inReview: (limit) => {
          limits.push(limit)
          return Effect.succeed([
            { transaction: open, revision: 4n },
            { transaction: other, revision: 9n }
          ])
        },
        history: (about) => Effect.succeed(about === reference ? [line] : []),
        lastCall: (about, entry) => {
          read.push([about, entry])
          return Effect.succeed(about === reference ? Option.some(sent) : Option.none())
        }
      })
      const { subject: _, ...reading } = { ...audit, action: "review list" }
      const found = yield* Effect.flatMap(Review, ({ cases: list }) => list(25, reading)).pipe(
        Effect.provide(Layer.merge(Layer.provide(Review.layer, ports), telemetry.layer))
      )
      expect(found).toStrictEqual([
        { record: open, revision: 4n, history: [line], call: sent },
        { record: other, revision: 9n, history: [], call: { rawRequest: null, rawResponse: null } }
      ])
      expect(limits).toStrictEqual([25])
      expect(yield* telemetry.spans).toStrictEqual([["Review.cases", {}]])
      expect(read).toStrictEqual([
        [reference, { ...reading, subject: reference }],
        [other.reference, { ...reading, subject: other.reference }]
      ])
    })
  )
})
