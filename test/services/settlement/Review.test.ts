import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { encodeEvent } from "../../../src/domain/Event.ts"
import { Reference } from "../../../src/domain/Ids.ts"
import { release, settle } from "../../../src/domain/Ledger.ts"
import { minor } from "../../../src/domain/Money.ts"
import type { Resolution } from "../../../src/domain/Resolution.ts"
import type { Transaction } from "../../../src/domain/Transaction.ts"
import { recordView } from "../../../src/domain/View.ts"
import { cases } from "../../support/ReviewCases.ts"
import { TOLD_AT } from "../../support/SampleFacts.ts"
import { payout } from "../../support/SampleTransactions.ts"
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
    ["pending collection", false]
  ])("on a %s, that money moved, counts it again only where it had failed", ([name, countsAgain]) =>
    Effect.gen(function* () {
      const { resolve, steps } = given(cases[name])
      yield* resolve(ruling("successful", name === "pending collection" ? { fee: minor(150n) } : {}))
      expect(steps.map((step) => step.countsAgain)).toStrictEqual([countsAgain])
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
})
