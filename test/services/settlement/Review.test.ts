import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { encodeEvent } from "../../../src/domain/Event.ts"
import { Reference } from "../../../src/domain/Ids.ts"
import { correct, type Entry, release, settle } from "../../../src/domain/Ledger.ts"
import { minor, ZERO } from "../../../src/domain/Money.ts"
import type { Resolution } from "../../../src/domain/Resolution.ts"
import type { Transaction } from "../../../src/domain/Transaction.ts"
import { recordView } from "../../../src/domain/View.ts"
import { rulingDetails } from "../../../src/services/settlement/Review.ts"
import { cases } from "../../support/ReviewCases.ts"
import { TOLD_AT } from "../../support/SampleFacts.ts"
import { NOON, payout } from "../../support/SampleTransactions.ts"
import { audit, given, open, reference, refusalOf, ruling } from "./ReviewFixture.ts"
import { FIRST } from "./StoredRecord.ts"

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
          before: open,
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
          countsAgain: false,
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

  it.effect.each<readonly [keyof typeof cases, boolean]>([
    ["failed payout", true],
    ["pending payout", false],
    ["successful payout", false],
    ["pending collection", false],
    ["failed collection", false]
  ])("on a %s, that money moved, counts it again only where it had failed", ([name, countsAgain]) =>
    Effect.gen(function* () {
      const { resolve, steps } = given(cases[name])
      yield* resolve(ruling("successful", cases[name].kind === "collection" ? { fee: minor(150n) } : {}))
      expect(steps.map((step) => step.countsAgain)).toStrictEqual([countsAgain])
    })
  )

  it.effect("on a failed payout, that it had failed, counts it in no limit", () =>
    Effect.gen(function* () {
      const { resolve, steps } = given(cases["failed payout"])
      yield* resolve(ruling("failed"))
      expect(steps.map((step) => step.countsAgain)).toStrictEqual([false])
    })
  )

  // Only a payout that was open gives its windows back.
  it.effect.each<readonly [keyof typeof cases, Resolution["outcome"], string | null, string]>([
    ["successful payout", "failed", "correct", "payout.returned"],
    ["failed payout", "successful", "correct", "payout.successful"],
    ["failed payout", "failed", null, "payout.updated"],
    ["pending collection", "successful", "collect", "collection.successful"],
    ["pending collection", "failed", null, "collection.failed"],
    ["pending exchange", "failed", "release", "fx.failed"],
    ["successful exchange", "successful", null, "fx.updated"]
  ])("on a %s, as %s, restores no limit", ([name, outcome, phase, event]) =>
    Effect.gen(function* () {
      const { resolve, steps } = given(cases[name])
      yield* resolve(ruling(outcome, name === "pending collection" && outcome === "successful" ? { fee: minor(150n) } : {}))
      const [step] = steps
      expect([step?.entry?.phase ?? null, step?.event === null ? "none" : step?.event?.type, step?.restoreLimits]).toStrictEqual([
        phase,
        event,
        false
      ])
    })
  )

  it.effect.each<readonly [string, Transaction, Resolution, bigint | null, string]>([
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
      ruling("failed", { amount: minor(1n) }),
      FIRST,
      "what failed moved nothing: an amount goes with the outcome successful"
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
  it.effect("is refused where the float cannot hold its amount, and nothing is written", () =>
    Effect.gen(function* () {
      const { audits, resolve, steps } = given(open, ["full float"])
      const message = "the float cannot hold that much: its largest amount is 9007199254740991"
      expect(yield* refusalOf(resolve(ruling("successful")))).toStrictEqual(["NotResolved", message])
      expect([steps, audits]).toStrictEqual([[], []])
    })
  )

  it.each<readonly [string, Resolution, Readonly<Record<string, string>>]>([
    [
      "with the figures that it states",
      ruling("successful", { amount: minor(9_999n), fee: ZERO }),
      { amount_minor: "9999", fee_minor: "0" }
    ],
    ["without figures where it states none", ruling("successful"), {}]
  ])("stands in its audit row and its proposal %s, and shows no person's number", (_, resolution, figures) => {
    expect(rulingDetails({ ...resolution, evidence: "they told +256772123456" })).toStrictEqual({
      outcome: "successful",
      evidence: "they told ••••3456",
      ...figures
    })
  })
})

describe("a ruling that states the fee of what has ended", () => {
  const settled = settle("UGX", minor(10_000n), minor(1_000n), minor(1_500n))

  it.effect.each<readonly [string, bigint, Entry | null]>([
    ["books nothing where the gateway bears that excess already", 1_500n, null],
    ["books what is more than the gateway bears already", 1_800n, correct("UGX", { fees: 0n, drift: 300n })]
  ])("%s", ([, fee, entry]) =>
    Effect.gen(function* () {
      const paid = { ...cases["successful payout"], fees: minor(1_000n) }
      const { resolve, steps } = given(paid, [], { entries: () => Effect.succeed([{ ...settled, at: NOON }]) })
      yield* resolve(ruling("successful", { fee: minor(fee) }))
      expect(steps.map((step) => step.entry)).toStrictEqual([entry])
    })
  )

  it.effect("books the excess over another amount's known fee less what the gateway bears already", () =>
    Effect.gen(function* () {
      const reported = { amount: minor(10_200n), fee: minor(1_500n) }
      const paid = { ...cases["successful payout"], fees: minor(1_000n), reported }
      const { resolve, steps } = given(paid, [], { entries: () => Effect.succeed([{ ...settled, at: NOON }]) })
      yield* resolve(ruling("successful", { amount: minor(10_200n) }))
      expect(steps.map((step) => step.entry)).toStrictEqual([correct("UGX", { paidOut: 200n, fees: -200n, drift: 200n })])
    })
  )

  it.effect("corrects a collection's fee, of which the gateway bears nothing", () =>
    Effect.gen(function* () {
      const { resolve, steps } = given(cases["successful collection"])
      yield* resolve(ruling("successful", { fee: minor(150n) }))
      expect(steps.map((step) => step.entry)).toStrictEqual([correct("UGX", { fees: 150n })])
    })
  )
})

describe("after a ruling the refunds of a collection", () => {
  const sold = { ...cases["successful collection"], reference: Reference.make("00000000000000000000000005") }
  const refund = { ...cases["failed payout"], refundOf: sold.reference }

  /** What is logged after this ruling, where its collection brought 10,000 UGX and so much of it was refunded. */
  const logged = (record: Transaction, outcome: Resolution["outcome"], refunded: bigint) =>
    Effect.gen(function* () {
      const compared: Array<Reference> = []
      const { lines, resolve } = given(record, [], {
        refundable: (_appId, _mode, collection) => {
          compared.push(collection)
          return Effect.succeedSome({ collection: sold, partyHash: null, refunded, refunds: 1n, decided: 1n })
        }
      })
      yield* resolve(ruling(outcome), null, record.reference)
      return { compared, lines }
    })

  it.effect.each<readonly [string, Transaction, Resolution["outcome"]]>([
    ["a refund of it", refund, "successful"],
    ["the collection itself", sold, "failed"]
  ])("are reported to the operator where they are more than it brought: on %s", ([, record, outcome]) =>
    Effect.gen(function* () {
      const of = { reference: sold.reference, refunded_minor: "10001", app_id: sold.appId }
      expect(yield* logged(record, outcome, 10_001n)).toStrictEqual({
        compared: [sold.reference],
        lines: [["Error", "a collection was refunded by more than it brought", of]]
      })
      expect((yield* logged(record, outcome, 10_000n)).lines).toStrictEqual([])
    })
  )

  it.effect.each<readonly [string, Transaction]>([
    ["a payout that refunds nothing", open],
    ["an exchange", cases["pending exchange"]]
  ])("are not looked for on %s", ([, record]) =>
    Effect.gen(function* () {
      expect(yield* logged(record, "failed", 10_001n)).toStrictEqual({ compared: [], lines: [] })
    })
  )
})
