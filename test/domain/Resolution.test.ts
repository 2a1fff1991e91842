import { describe, expect, it } from "vitest"
import type { Exchange } from "../../src/domain/Exchange.ts"
import { Reference } from "../../src/domain/Ids.ts"
import { coveringReceivable, type Entry } from "../../src/domain/Ledger.ts"
import { LARGEST_AMOUNT, minor } from "../../src/domain/Money.ts"
import {
  type Resolution,
  type Ruling,
  resolutionActions,
  resolveCollection,
  resolveExchange,
  resolvePayout
} from "../../src/domain/Resolution.ts"
import { collection, NOON, payout } from "../support/SampleTransactions.ts"

const say = (outcome: Resolution["outcome"], amount?: bigint, fee?: bigint): Resolution => ({
  outcome,
  amount: amount === undefined ? null : minor(amount),
  fee: fee === undefined ? null : minor(fee),
  evidence: "statement"
})

const lines = (entry: Entry | null): object =>
  entry === null ? {} : Object.fromEntries(entry.postings.map(({ account, amount }) => [account, amount]))

const what = <R extends { readonly status: string; readonly needsReview: boolean }>(ruling: Ruling<R>) =>
  typeof ruling === "string"
    ? ruling
    : [ruling.next.status, ruling.next.needsReview, ruling.entry?.phase ?? null, lines(ruling.entry), ruling.event]

const review = { needsReview: true } as const
const exchange: Exchange = {
  kind: "exchange",
  status: "failed",
  reference: Reference.make("00000000000000000000000001"),
  appId: payout().appId,
  mode: "live",
  provider: "eversend",
  providerReference: null,
  needsReview: true,
  quoteId: Reference.make("00000000000000000000000002"),
  amount: minor(1_000n),
  currency: "UGX",
  destinationAmount: minor(35n),
  destinationCurrency: "KES",
  rawDestinationAmount: "0.35",
  rate: "0.00035",
  metadata: "{}",
  version: 1,
  failure: null,
  createdAt: NOON,
  updatedAt: NOON,
  completedAt: NOON,
  asked: 0,
  notFound: 0
}

describe("a person's ruling on a payout", () => {
  it("settles or releases an open payout", () => {
    expect(what(resolvePayout(payout(review), say("successful", undefined, 700n), NOON))).toEqual([
      "successful",
      false,
      "settle",
      { reserved: -11_000n, paid_out: 10_000n, provider_fees: 700n, available: 300n },
      "payout.successful"
    ])
    expect(what(resolvePayout(payout(review), say("failed"), NOON))).toEqual([
      "failed",
      false,
      "release",
      { reserved: -11_000n, available: 11_000n },
      "payout.failed"
    ])
  })

  it("books what was really sent, never more than was reserved", () => {
    const sent = resolvePayout(payout(review), say("successful", 10_500n, 900n), NOON)
    expect(what(sent)).toMatchObject({
      3: { reserved: -11_000n, paid_out: 10_500n, provider_fees: 500n, drift: 400n, pool: -400n }
    })
    expect(sent).toMatchObject({ next: { principal: 10_500n, heldFee: 500n, fees: 500n } })
    expect(resolvePayout(payout(review), say("successful", 11_001n), NOON)).toContain("no more than that")
  })

  it("never gives back more than was sent, earlier returns included", () => {
    const returned = { amount: minor(10_000n), at: NOON, reason: "account closed" }
    const paid = payout({ ...review, status: "successful", returned })
    expect(resolvePayout(paid, say("successful", 5_000n), NOON)).toContain("came back")
  })

  it("corrects a failed payout that was delivered, and returns a successful one that was not", () => {
    const failed = payout({ ...review, status: "failed", fees: minor(0n), completedAt: NOON - 1 })
    expect(what(resolvePayout(failed, say("successful"), NOON))).toEqual([
      "successful",
      false,
      "correct",
      { available: -11_000n, paid_out: 10_000n, provider_fees: 1_000n },
      "payout.successful"
    ])
    const returned = { amount: minor(4_000n), at: NOON, reason: "" }
    const back = resolvePayout(payout({ ...review, status: "successful", returned }), say("failed"), NOON)
    expect(what(back)).toEqual(["successful", false, "correct", { available: 7_000n, returned: -7_000n }, "payout.returned"])
    expect(back).toMatchObject({ next: { returned: { amount: 11_000n } } })
  })

  it("ends the case and moves nothing where the record was right", () => {
    const right = ["failed", false, null, {}, null]
    expect(what(resolvePayout(payout({ ...review, status: "failed" }), say("failed"), NOON))).toEqual(right)
    const successful = payout({ ...review, status: "successful" })
    expect(what(resolvePayout(successful, say("successful"), NOON))).toEqual(["successful", ...right.slice(1)])
  })
})

describe("a person's ruling on a collection", () => {
  it("credits the amount that came in, also where it is not the requested one", () => {
    const short = collection({ ...review, observedAmount: minor(40_000n), observedCurrency: "UGX" })
    const ruling = resolveCollection(short, say("successful", undefined, 600n), NOON)
    expect(what(ruling)).toEqual([
      "successful",
      false,
      "collect",
      { available: 39_400n, collected: -40_000n, provider_fees: 600n },
      "collection.successful"
    ])
    expect(resolveCollection(short, say("successful", 100n, 101n), NOON)).toContain("larger than what came in")
    expect(resolveCollection({ ...short, observedCurrency: "KES" }, say("successful"), NOON)).toContain("--amount-minor")
  })

  it("marks a success after the end as late, and fails a collection that never happened", () => {
    expect(resolveCollection(collection({ ...review, status: "expired" }), say("successful", undefined, 0n), NOON)).toMatchObject(
      {
        next: { lateSuccess: true }
      }
    )
    expect(what(resolveCollection(collection(review), say("failed"), NOON))).toEqual([
      "failed",
      false,
      null,
      {},
      "collection.failed"
    ])
  })

  it("debits a reversed collection by a correction; what the float cannot cover becomes a receivable", () => {
    const booked = collection({ ...review, status: "successful", observedAmount: minor(50_000n), fees: minor(750n) })
    const ruling = resolveCollection(booked, say("failed"), NOON)
    expect(what(ruling)).toEqual([
      "successful",
      false,
      "correct",
      { available: -49_250n, collected: 50_000n, provider_fees: -750n },
      "collection.reversed"
    ])
    expect(ruling).toMatchObject({
      next: { observedAmount: 50_000n, fees: 750n, failure: null, reversed: { amount: 49_250n, at: NOON } }
    })
    if (typeof ruling === "string" || ruling.entry === null) throw new Error("no entry")
    expect(lines(coveringReceivable(ruling.entry, () => ({ available: 9_250n, receivable: 0n })))).toEqual({
      available: -9_250n,
      receivable: -40_000n,
      collected: 50_000n,
      provider_fees: -750n
    })
  })
})

describe("a person's ruling on a payout whose provider named a fee that nobody can believe", () => {
  it("is possible, with the fee that the person found", () => {
    const absurd = payout({ ...review, reported: { amount: minor(9_999n), fee: minor(LARGEST_AMOUNT) } })
    for (const fee of [700n, undefined])
      expect(resolvePayout(absurd, say("successful", undefined, fee), NOON)).toMatchObject({ entry: { phase: "settle" } })
  })
})

describe("a person's ruling on an exchange", () => {
  it("books a late exchange against the available float, and takes back one that was not made", () => {
    expect(resolveExchange(exchange, say("successful"), NOON)).toMatchObject({
      next: { status: "successful", needsReview: false },
      entry: {
        phase: "correct",
        postings: [
          { currency: "UGX", account: "available", amount: -1_000n },
          { currency: "UGX", account: "fx_out", amount: 1_000n },
          { currency: "KES", account: "available", amount: 35n },
          { currency: "KES", account: "fx_in", amount: -35n }
        ]
      },
      event: "fx.successful"
    })
    expect(resolveExchange({ ...exchange, status: "pending" }, say("failed"), NOON)).toMatchObject({
      entry: { phase: "release" }
    })
    expect(resolveExchange(exchange, say("successful", undefined, 1n), NOON)).toContain("no fee")
    expect(resolveExchange({ ...exchange, status: "successful" }, say("successful", 1n), NOON)).toContain(
      "leave --amount-minor out"
    )
  })

  it("replaces the amount that was only quoted by the one that the person found", () => {
    const pending: Exchange = { ...exchange, status: "pending" }
    const figures = ({ destinationAmount, rawDestinationAmount }: Exchange) => [destinationAmount, rawDestinationAmount]
    const found = resolveExchange(pending, say("successful", 70n), NOON)
    expect(typeof found === "string" ? found : figures(found.next)).toStrictEqual([70n, "0.70"])
    const asQuoted = resolveExchange(pending, say("successful"), NOON)
    expect(typeof asQuoted === "string" ? asQuoted : figures(asQuoted.next)).toStrictEqual(figures(exchange))
  })
})

it("has a rule for every status and outcome, and every entry balances", () => {
  const outcomes = ["successful", "failed"] as const
  const rulings = outcomes.flatMap((outcome) => [
    ...Object.keys(resolutionActions.payout).map((status) =>
      resolvePayout(payout({ ...review, status: status as never }), say(outcome), NOON)
    ),
    ...Object.keys(resolutionActions.collection).map((status) =>
      resolveCollection(
        collection({ ...review, status: status as never }),
        say(outcome, undefined, outcome === "successful" ? 0n : undefined),
        NOON
      )
    ),
    ...Object.keys(resolutionActions.exchange).map((status) =>
      resolveExchange({ ...exchange, status: status as never }, say(outcome), NOON)
    )
  ])
  expect(rulings.length).toBe(22)
  for (const ruling of rulings) {
    if (typeof ruling === "string") throw new Error(ruling)
    const sums = new Map<string, bigint>()
    for (const { amount, currency } of ruling.entry?.postings ?? []) sums.set(currency, (sums.get(currency) ?? 0n) + amount)
    expect([...sums.values()].every((sum) => sum === 0n)).toBe(true)
    expect(ruling.next.needsReview).toBe(false)
  }
})
