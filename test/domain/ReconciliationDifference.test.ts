import { describe, expect, it } from "vitest"
import { iso } from "../../src/domain/Instant.ts"
import { minor, ZERO } from "../../src/domain/Money.ts"
import {
  differenceOf,
  differences,
  isBesideReview,
  isLeftOpen,
  knownBecause,
  missingHere,
  type ProviderRecord,
  type ReconciliationDifference,
  refundDifferences,
  type StatementLine,
  statedRulings,
  unreadableHere,
  unsteadyThere
} from "../../src/domain/ReconciliationDifference.ts"
import type { Transaction } from "../../src/domain/Transaction.ts"
import { cases } from "../support/ReviewCases.ts"
import { collection, NOON, payout } from "../support/SampleTransactions.ts"

const theirs = (status: StatementLine["status"], change: object = {}): ProviderRecord => ({
  status,
  amount: null,
  currency: null,
  fee: null,
  ...change
})
const absent: ProviderRecord = { status: "absent" }

const found = (record: Transaction, line: ProviderRecord) =>
  differences(record, line).map(({ kind, ours, theirs: said }) => [kind, ours, said])

const paid = payout({ status: "successful" })
const returned = payout({ status: "successful", returned: { amount: minor(10_000n), at: NOON, reason: "" } })
const takenBack = collection({ status: "successful", reversed: { amount: minor(50_000n), at: NOON, reason: "" } })
/** A row of theirs that is no payment of ours. */
const row: StatementLine = {
  direction: "payout",
  providerReference: "R1",
  reference: null,
  status: "successful",
  at: NOON,
  amount: minor(50_000n),
  currency: "UGX",
  fee: null
}

describe("reconciliation", () => {
  // Each standing of ours beside each of theirs: what is not in the first list of a row is a difference of the state.
  const rows: ReadonlyArray<readonly [record: Transaction, agrees: ReadonlyArray<ProviderRecord["status"]>]> = [
    [payout({ status: "pending" }), ["pending", "debited"]],
    [paid, ["successful", "debited", "credited"]],
    [returned, ["returned"]],
    [payout({ status: "failed" }), ["failed", "absent"]],
    [collection({ status: "requires_action" }), ["pending", "absent"]],
    [collection({ status: "pending" }), ["pending", "debited"]],
    [collection({ status: "successful" }), ["successful", "debited", "credited"]],
    [takenBack, ["returned", "failed", "credited"]],
    [collection({ status: "failed" }), ["failed", "absent"]],
    [collection({ status: "expired" }), ["failed", "absent"]]
  ]
  it.each(rows)("finds states equal only where both sides say the same: %#", (record, agrees) => {
    const statuses = ["pending", "debited", "credited", "successful", "failed", "returned"] as const
    for (const line of [...statuses.map((status) => theirs(status)), absent]) {
      const expected = agrees.includes(line.status) ? [] : [line.status === "absent" ? "missing_there" : "state"]
      expect(differences(record, line).map(({ kind }) => kind)).toEqual(expected)
    }
  })

  it("compares no figures of a charge that expired here and failed there", () => {
    const other = { amount: minor(1n), currency: "KES", fee: minor(1n) }
    expect(found(collection({ status: "expired" }), theirs("failed", other))).toStrictEqual([])
  })

  it("compares amount, currency and fee to the minor unit, and only where money moved", () => {
    const same = { amount: minor(10_000n), currency: "UGX", fee: minor(1_000n) }
    expect(found(paid, theirs("successful", same))).toEqual([])
    expect(found(paid, theirs("successful", { ...same, fee: minor(1_001n) }))).toEqual([["fee", "1000", "1001"]])
    expect(found(paid, theirs("successful", { amount: minor(9_999n), currency: "KES", fee: minor(1_000n) }))).toEqual([
      ["currency", "UGX", "KES"],
      ["amount", "10000", "9999"]
    ])
    expect(found(payout({ status: "failed" }), theirs("failed", { ...same, amount: minor(1n) }))).toEqual([])
  })

  it("compares a charge by the amount that was booked, which a person may have found to be another than asked for", () => {
    const booked = { amount: minor(10_000n), observedAmount: minor(7_500n), observedCurrency: "UGX", fees: ZERO } as const
    const same = { amount: minor(7_500n), currency: "UGX", fee: ZERO }
    expect(found(collection({ ...booked, status: "successful" }), theirs("successful", same))).toEqual([])
    expect(
      found(collection({ ...booked, status: "successful" }), theirs("successful", { ...same, amount: minor(10_000n) }))
    ).toEqual([["amount", "7500", "10000"]])
  })

  it("knows a fee whose excess the ledger booked, to the minor unit, and what is in review but for money that moved twice", () => {
    const [fee] = differences(paid, theirs("successful", { fee: minor(1_200n) }))
    const because = (change: object, bookedDrift: bigint, needsReview: boolean) =>
      fee === undefined ? "nothing" : knownBecause({ ...fee, ...change }, { bookedDrift, needsReview, isOpen: false })
    expect([because({}, 200n, false), because({}, 199n, false), because({}, 0n, false)]).toEqual(["drift_booked", null, null])
    expect([because({}, 0n, true), because({ kind: "state" }, 0n, true)]).toEqual(["in_review", "in_review"])
    expect([because({ kind: "doubled" }, 0n, true), because({ kind: "missing_here" }, 0n, true)]).toEqual([null, null])
  })

  it("knows an outcome that we still ask for, and neither another amount nor money that moved twice of what is open", () => {
    const [state] = differences(payout(), theirs("successful", {}))
    const because = (kind: ReconciliationDifference["kind"], isOpen: boolean) =>
      state === undefined ? "nothing" : knownBecause({ ...state, kind }, { bookedDrift: 0n, needsReview: false, isOpen })
    const kinds = ["state", "missing_there", "unanswered"] as const
    expect(kinds.map((kind) => because(kind, true))).toEqual(["pending", "pending", "pending"])
    expect(kinds.map((kind) => because(kind, false))).toEqual([null, null, null])
    const others = ["missing_here", "doubled", "amount", "currency", "fee", "unreadable", "unsteady"] as const
    expect(others.map((kind) => because(kind, true))).toEqual(others.map(() => null))
  })

  it("states a ruling only on what is in review, and of which one line of theirs says all that it needs", () => {
    const line = (change: object = {}) => ({ amount: minor(10_000n), currency: "UGX", fee: minor(1_200n), at: NOON, ...change })
    const ruled = (record: Transaction, said: ProviderRecord, because: "in_review" | "pending" = "in_review") =>
      statedRulings(differences(record, said).map((one) => ({ ...one, because })))
    const { reference } = payout()
    const succeeded = { reference, outcome: "successful", fee: 1_200n, currency: "UGX" }
    expect(ruled(payout(), theirs("successful", line()))).toStrictEqual([succeeded])
    expect(ruled(paid, theirs("successful", line()))).toStrictEqual([succeeded])
    expect(ruled(payout(), theirs("successful", line({ fee: null })))).toMatchObject([{ outcome: "successful", fee: null }])
    const unnamed = line({ fee: null, currency: null })
    expect(ruled(payout(), theirs("successful", unnamed))).toMatchObject([{ fee: null, currency: null }])
    expect(ruled(paid, theirs("failed", line()))).toStrictEqual([{ reference, outcome: "failed", fee: null, currency: null }])
    const [state] = differences(payout(), theirs("successful", line())).map((one) => ({ ...one, because: "in_review" as const }))
    if (state === undefined) return expect.unreachable("there is no difference")
    const notPlain = [
      // Two lines of theirs may be two movements, and a line that is not about ours rules on nothing.
      statedRulings([{ ...state, lines: [...state.lines, ...state.lines] }]),
      statedRulings([{ ...state, reference: null }]),
      statedRulings([state, { ...state, kind: "fee", takes_a_look: true }]),
      ruled(payout(), theirs("successful", line()), "pending"),
      ruled(paid, theirs("successful", line({ amount: minor(9n) }))),
      ruled(payout(), theirs("successful", line({ amount: minor(9n) }))),
      ruled(payout(), theirs("successful", line({ currency: "KES" }))),
      ruled(payout(), theirs("successful", line({ currency: null }))),
      ruled(cases["pending exchange"], theirs("successful", line({ amount: minor(9n), fee: null }))),
      // The source is ours, but no line says what it brought.
      ruled(cases["pending exchange"], theirs("successful", line({ fee: null }))),
      statedRulings(
        refundDifferences(collection({ status: "successful", needsReview: true }), row).map((one) => ({
          ...one,
          because: "in_review" as const
        }))
      ),
      ruled(paid, theirs("returned", line())),
      ruled(paid, theirs("pending", line())),
      ruled(payout(), absent),
      statedRulings([{ ...differenceOf(paid, "doubled", "P1, P2"), because: "in_review" }])
    ]
    expect(notPlain).toStrictEqual(notPlain.map(() => []))
  })

  it("explains by a review no row that could not be read or is shown only sometimes: it may be any movement", () => {
    const because = (kind: ReconciliationDifference["kind"]) =>
      knownBecause({ ...unsteadyThere(row), kind }, { bookedDrift: 0n, needsReview: true, isOpen: false })
    expect([because("unreadable"), because("unsteady"), because("state")]).toEqual([null, null, "in_review"])
  })

  it("lets a review explain a fee only where that fee opened it, and nothing of another request under our reference", () => {
    const fee = (theirs: string) => ({ ...differenceOf(paid, "fee", theirs) })
    const inReview = (...saidAtOpening: ReadonlyArray<string>) =>
      payout({ status: "successful", needsReview: true, saidAtOpening })
    const opened = inReview("fee 800")
    expect([isBesideReview(fee("800"), opened), isBesideReview(fee("801"), opened)]).toEqual([false, true])
    expect(isBesideReview(fee("800"), inReview("failed"))).toBe(true)
    const state = differenceOf(paid, "state", "failed")
    expect([isBesideReview(state, opened), isBesideReview(state, { ...opened, ofAnother: true })]).toEqual([false, true])
  })

  it.each<readonly [string, Transaction, StatementLine["status"], boolean]>([
    ["a payout that failed here and left the account there", payout({ status: "failed" }), "debited", true],
    ["a payout that is open on both sides", payout(), "debited", false],
    ["a payout that was paid here", paid, "debited", false],
    [
      "a payout that failed here and was paid there, which a person sees at once",
      payout({ status: "failed" }),
      "successful",
      false
    ]
  ])("asks the provider about what the statement leaves open, where ours is another state: %s", (_, record, status, asks) => {
    expect(isLeftOpen(record, { ...row, status })).toBe(asks)
  })

  it("finds no difference in a refund that failed or that a person knew of, and else shows its row to a person", () => {
    const sold = collection({ status: "successful" })
    expect(refundDifferences(sold, row)).toStrictEqual([])
    expect(refundDifferences({ ...sold, needsReview: true }, { ...row, status: "failed" })).toStrictEqual([])
    for (const record of [{ ...sold, needsReview: true }, collection({ status: "failed" })])
      expect(refundDifferences(record, row)).toMatchObject([
        {
          kind: "state",
          direction: "collection",
          reference: record.reference,
          theirs: "refunded 50000 UGX",
          lines: [{ provider_reference: "R1", status: "successful", amount_minor: 50_000n }],
          takes_a_look: true
        }
      ])
  })

  it("lets another state alone rule where theirs has our amount, or names none", () => {
    const looks = (said: ProviderRecord) => differences(payout(), said).map((one) => one.takes_a_look ?? false)
    const same = { amount: minor(10_000n), currency: "UGX" }
    expect([looks(absent), looks(theirs("failed")), looks(theirs("failed", same))]).toEqual([[false], [false], [false]])
    expect([looks(theirs("failed", { ...same, currency: null })), looks(theirs("failed", { ...same, amount: null }))]).toEqual([
      [false],
      [false]
    ])
    expect([
      looks(theirs("failed", { ...same, amount: minor(9n) })),
      looks(theirs("failed", { ...same, currency: "KES" }))
    ]).toEqual([[true], [true]])
  })

  it("reports a charge that failed by the amount that was asked for, whatever the provider had observed", () => {
    const failed = collection({ status: "failed", observedAmount: minor(7_500n), observedCurrency: "UGX" })
    expect(found(failed, theirs("successful"))).toEqual([["state", "failed 50000 UGX", "successful"]])
    expect(found(takenBack, theirs("successful"))).toEqual([["state", "reversed 50000 UGX", "successful"]])
  })

  it("reports both states where they differ", () => {
    const line = theirs("successful", { amount: minor(10_000n), currency: "UGX" })
    expect(found(payout(), line)).toEqual([["state", "pending 10000 UGX", "successful 10000 UGX"]])
    expect(found(payout(), absent)).toEqual([["missing_there", "pending 10000 UGX", "absent"]])
  })

  it("names the currency only where the provider did", () => {
    expect(found(payout(), theirs("failed"))).toEqual([["state", "pending 10000 UGX", "failed"]])
    expect(found(payout(), theirs("failed", { amount: minor(1n) }))).toEqual([["state", "pending 10000 UGX", "failed 1"]])
    expect(found(payout(), theirs("failed", { currency: "UGX" }))).toEqual([["state", "pending 10000 UGX", "failed"]])
  })

  it("compares what was sent without the fee, in the currency of the float", () => {
    const dearer = payout({ status: "successful", amount: minor(7n), amountCurrency: "KES" })
    expect(found(dearer, theirs("successful", { amount: minor(10_000n), currency: "UGX" }))).toEqual([])
    const credited = collection({ status: "successful" })
    expect(found(credited, theirs("successful", { amount: minor(50_000n), currency: "UGX" }))).toEqual([])
    expect(found(credited, theirs("successful", { amount: minor(1n) }))).toEqual([["amount", "50000", "1"]])
  })

  it("compares a fee only where it is known on both sides, and any of an exchange, which is booked without one", () => {
    expect(found(payout({ status: "successful", fees: null }), theirs("successful", { fee: minor(1n) }))).toEqual([])
    expect(found(payout(), theirs("pending", { fee: minor(1n) }))).toEqual([])
    expect(found(returned, theirs("returned", { fee: minor(1_001n) }))).toEqual([["fee", "1000", "1001"]])
    const exchanged = cases["successful exchange"]
    const whole = { amount: minor(10_000n), currency: "UGX" } as const
    expect(found(exchanged, theirs("successful", { ...whole, fee: minor(1n) }))).toEqual([["fee", "0", "1"]])
    expect(found(exchanged, theirs("successful", { ...whole, fee: minor(0n) }))).toEqual([])
    expect(found(exchanged, theirs("successful", whole))).toEqual([])
    expect(found(cases["pending exchange"], theirs("pending", { ...whole, fee: minor(1n) }))).toEqual([])
    expect(found(exchanged, theirs("successful", { amount: minor(9n) }))).toEqual([["amount", "10000", "9"]])
  })

  it("says which record of whose it is", () => {
    const record = payout({ providerReference: "P1" })
    const whole = {
      direction: "payout",
      reference: record.reference,
      provider_reference: "P1",
      ours: "pending 10000 UGX",
      theirs: "twice",
      lines: []
    }
    expect(differenceOf(record, "doubled", "twice")).toStrictEqual({ ...whole, kind: "doubled" })
    expect(differenceOf(returned, "unanswered", null)).toMatchObject({ ours: "returned 10000 UGX", theirs: null })
    const line = {
      direction: "collection",
      providerReference: "P2",
      reference: null,
      amount: minor(5n),
      currency: "KES"
    } as const
    expect(missingHere({ ...line, fee: null, status: "successful", at: NOON }, null)).toStrictEqual({
      kind: "missing_here",
      direction: "collection",
      reference: null,
      provider_reference: "P2",
      ours: null,
      theirs: "successful 5 KES",
      lines: [
        {
          provider_reference: "P2",
          status: "successful",
          amount_minor: 5n,
          currency: "KES",
          fee_minor: null,
          at: iso(NOON)
        }
      ]
    })
  })

  it("has fee and time of each line of theirs, and of an answer, which has no time, the fee", () => {
    const answer = { amount: minor(9_000n), currency: "UGX", fee: minor(700n), providerReference: "P3" }
    const linesOf = (line: ProviderRecord) => differences(payout(), line).map(({ lines }) => lines)
    const said = {
      provider_reference: "P3",
      status: "successful",
      amount_minor: 9_000n,
      currency: "UGX",
      fee_minor: 700n,
      at: iso(NOON)
    }
    expect(linesOf(theirs("successful", { ...answer, at: NOON }))).toStrictEqual([[said]])
    expect(linesOf(theirs("successful", answer))).toStrictEqual([[{ ...said, at: null }]])
    expect(linesOf(absent)).toStrictEqual([[]])
    const unread = { direction: null, place: "page 1", reference: null, word: "?" } as const
    const shown = { provider_reference: "P9", status: null, amount_minor: null, currency: null, fee_minor: null }
    expect(unreadableHere({ ...unread, providerReference: "P9", at: NOON })).toStrictEqual({
      kind: "unreadable",
      direction: null,
      reference: null,
      provider_reference: "P9",
      ours: null,
      theirs: "page 1: ?",
      lines: [{ ...shown, at: iso(NOON) }]
    })
    expect(unreadableHere({ ...unread, providerReference: "P9", at: null }).lines).toStrictEqual([{ ...shown, at: null }])
    expect(unsteadyThere(row)).toStrictEqual({ ...missingHere(row, null), kind: "unsteady" })
  })

  it("knows no other difference, and no fee that a side does not name, by what was booked", () => {
    const nobody = { direction: "payout", reference: null, provider_reference: null, lines: [] } as const
    const fee = { ...nobody, kind: "fee", ours: "5", theirs: "7" } as const
    const booked = (change: object, bookedDrift = 2n) =>
      knownBecause({ ...fee, ...change }, { bookedDrift, needsReview: false, isOpen: false })
    expect([booked({}), booked({ kind: "amount" }), booked({ ours: null }), booked({ theirs: null })]).toEqual([
      "drift_booked",
      null,
      null,
      null
    ])
    expect([booked({ theirs: "5" }, 0n), booked({ theirs: "4" }, -1n), booked({ ours: null }, 7n)]).toEqual([null, null, null])
  })
})
