import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { consoleOf } from "../../../src/ConfigConsole.ts"
import { reader } from "../../../src/ConfigRules.ts"
import { type Entry, settle } from "../../../src/domain/Ledger.ts"
import { minor } from "../../../src/domain/Money.ts"
import type { Transaction } from "../../../src/domain/Transaction.ts"
import { FeeBooking } from "../../../src/services/settlement/FeeBooking.ts"
import type { ModeDifference, ReconciliationReport } from "../../../src/services/settlement/Reconciliation.ts"
import { Review } from "../../../src/services/settlement/Review.ts"
import { Settlement } from "../../../src/services/settlement/Settlement.ts"
import { textOf } from "../../support/EntryLines.ts"
import { cases } from "../../support/ReviewCases.ts"
import { collection, NOON, payout } from "../../support/SampleTransactions.ts"
import { storedRecord } from "./StoredRecord.ts"

const { approvalFrom } = consoleOf(reader({}, []), [], [])
const paid = payout({ status: "successful", fees: minor(1_000n), completedAt: NOON })
const sold = collection({ status: "successful", amount: minor(10_000n), fees: minor(150n), completedAt: NOON })
const exchanged = cases["successful exchange"]
const by = { at: NOON, actor: "jane" }

const differing = (record: Transaction, change: Partial<ModeDifference> = {}): ModeDifference => ({
  kind: "fee",
  mode: "live",
  account: "current",
  direction: record.kind,
  reference: record.reference,
  provider_reference: "P1",
  ours: "1000",
  theirs: "800",
  lines: [],
  row: "P1",
  ...change
})

const report = (...differences: ReadonlyArray<ModeDifference>): ReconciliationReport => ({
  ok: false,
  provider: "eversend",
  day: "2026-01-31",
  compared_by: { live: "statement" },
  checked: { ours: 1, theirs: 1, unreadable: 0 },
  differences,
  known: []
})

const given = (record: Transaction, overtakenBy: ReadonlyArray<Transaction> = [], posted: ReadonlyArray<Entry> = []) => {
  const entries = () => Effect.succeed(posted.map((entry) => ({ ...entry, at: NOON })))
  const kept = storedRecord(record, overtakenBy, { entries })
  const layer = FeeBooking.layer(approvalFrom).pipe(
    Layer.provide(Layer.merge(Settlement.layer, Review.layer)),
    Layer.provide(kept.ports)
  )
  const use = <A>(run: (booking: FeeBooking["Service"]) => Effect.Effect<A>) =>
    FeeBooking.pipe(Effect.flatMap(run), Effect.provide(layer))
  return { ...kept, use }
}

describe("a fee of a statement", () => {
  it.effect.each<readonly [string, Transaction, ReadonlyArray<ModeDifference>, RegExp]>([
    [
      "that an answer named and no row",
      paid,
      [{ ...differing(paid), row: undefined } as never],
      /^no row of the statement names its fee/
    ],
    ["of no record of ours", paid, [differing(paid, { reference: "somebody-else" })], /^no row/],
    [
      "of a row whose amount differs too",
      paid,
      [differing(paid), differing(paid, { kind: "amount", ours: "10000", theirs: "9000" })],
      /^the statement differs in more than the fee: amount$/
    ],
    [
      "beside a row of that number which cannot be read",
      paid,
      [differing(paid), differing(paid, { kind: "unreadable", reference: null })],
      /more than the fee: unreadable$/
    ],
    ["that is a few digits too many", paid, [differing(paid, { theirs: "80000" })], /a ruling books at most 10000/],
    ["that is more than what came in", sold, [differing(sold, { theirs: "10001" })], /^the fee is larger than what came in$/],
    [
      "of what came back",
      { ...paid, returned: { amount: minor(10_000n), at: NOON, reason: "" } },
      [differing(paid)],
      /^its money came back/
    ],
    [
      "of a charge that was reversed",
      { ...sold, reversed: { amount: minor(9_850n), at: NOON, reason: "" } },
      [differing(sold)],
      /^its money came back/
    ],
    ["of what is in review already", { ...paid, needsReview: true }, [differing(paid)], /^it is in review for another reason/],
    [
      "of an exchange",
      exchanged,
      [differing(exchanged, { ours: "0" })],
      /^an exchange has no fee beside its rate: book what it cost with float debit$/
    ],
    [
      "that a person knew and did not book",
      { ...paid, ruling: { outcome: "successful", known: ["fee 800"] } },
      [differing(paid)],
      /^a person ruled when this fee was known$/
    ]
  ])("%s is not booked", ([, record, rows, why]) =>
    Effect.gen(function* () {
      const { steps, use } = given(record)
      const plan = yield* use((booking) => booking.plan(report(...rows)))
      expect(plan).toMatchObject({ booked: [], left: [{ why: expect.stringMatching(why) }] })
      expect(yield* use((booking) => booking.book(plan, by, true))).toEqual(plan)
      expect(steps).toEqual([])
    })
  )

  it.effect("beyond the held one is the gateway's, less what was its already", () =>
    Effect.gen(function* () {
      const { audits, steps, use } = given(paid, [], [settle("UGX", minor(10_000n), minor(1_000n), minor(1_200n))])
      const plan = yield* use((booking) => booking.plan(report(differing(paid, { theirs: "1300" }))))
      expect(plan.booked).toMatchObject([{ bookedFee: 1_000n, realFee: 1_300n, floatEffect: 0n, driftEffect: 100n }])
      expect(yield* use((booking) => booking.book(plan, by, false))).toEqual(plan)
      expect(steps.map(({ entry, line }) => [line.actor, line.fact, textOf(entry)])).toEqual([
        ["operator", "FeeStated", null],
        ["review", "Resolved", ["correct", "UGX drift 100", "UGX pool -100"]]
      ])
      const evidence = "statement of eversend of 2026-01-31, row P1: fee 1300 UGX"
      expect(audits).toEqual([
        {
          ...by,
          action: "review resolve",
          subject: paid.reference,
          details: { outcome: "successful", evidence, fee_minor: "1300" }
        }
      ])
      expect(yield* use((booking) => booking.plan(report(differing(paid, { theirs: "1300" }))))).toMatchObject({ booked: [] })
    })
  )

  it.effect("is left to a person where the provider said something else meanwhile", () =>
    Effect.gen(function* () {
      const { steps, use } = given(paid, [
        { ...paid, needsReview: true, said: ["failed"], saidAtOpening: ["failed"], version: 2 }
      ])
      const plan = yield* use((booking) => booking.plan(report(differing(paid))))
      expect(plan.booked).toMatchObject([
        { bookedFee: 1_000n, realFee: 800n, floatEffect: 200n, driftEffect: 0n, takesTwo: false }
      ])
      expect(yield* use((booking) => booking.book(plan, by, true))).toEqual({
        booked: [],
        left: [{ reference: paid.reference, why: "a person has to look at it: see gateway review list" }]
      })
      expect(steps.filter(({ entry }) => entry !== null)).toEqual([])
    })
  )
})
