import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import { Reference } from "../../../src/domain/Ids.ts"
import type { Transaction } from "../../../src/domain/Transaction.ts"
import { Review } from "../../../src/services/settlement/Review.ts"
import { NOON } from "../../support/SampleTransactions.ts"
import { givenTelemetry } from "../../support/Telemetry.ts"
import { audit, given, open, reference, refusalOf, ruling } from "./ReviewFixture.ts"
import { FIRST, storedRecord } from "./StoredRecord.ts"

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

  it.effect.each<readonly [string, Partial<Transaction>, string]>([
    ["the status is another one", { status: "successful" }, changed(FIRST + 1n)],
    ["the case was opened anew with another report", { saidAtOpening: ["failed"] }, changed(FIRST + 1n)],
    ["another person ruled", { ruling: { outcome: "failed", known: [] } }, changed(FIRST + 1n)],
    ["the case was closed", { needsReview: false }, `no review of ${reference} is open`]
  ])("is refused where %s meanwhile, and nothing is written", ([, change, message]) =>
    Effect.gen(function* () {
      const { audits, resolve, steps } = given(open, [{ ...open, ...change } as Transaction])
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
