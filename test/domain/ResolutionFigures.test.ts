import { describe, expect, it } from "vitest"
import { LARGEST_AMOUNT, minor, ZERO } from "../../src/domain/Money.ts"
import { type Resolution, resolvePayout, rulingOn } from "../../src/domain/Resolution.ts"
import { textOf } from "../support/EntryLines.ts"
import { type Any, cases, decided, say, told } from "../support/ReviewCases.ts"
import { facts, TOLD_AT } from "../support/SampleFacts.ts"
import { collection, NOON, payout } from "../support/SampleTransactions.ts"

const noFee = (amount: bigint) =>
  `the provider named no fee for ${amount} minor UGX: say with --fee-minor what it took, 0 where it took nothing`

describe("the figures of a ruling", () => {
  const posted = (record: Any, resolution: Resolution) => {
    const ruling = rulingOn(record, resolution, TOLD_AT)
    return typeof ruling === "string" ? ruling : textOf(ruling.entry)
  }
  const shown = (record: Any, resolution: Resolution) => decided(rulingOn(record, resolution, TOLD_AT)).next
  const returned = (amount: bigint) => ({ returned: { amount: minor(amount), at: NOON, reason: "" } })
  const settled = { status: "successful", needsReview: true, fees: minor(700n), completedAt: NOON } as const

  it("may be the fee that the provider kept of what failed or came back, up to the one that is there", () => {
    const kept = (record: Any, fee: bigint) => posted(record, say("failed", null, fee))
    expect(kept(payout(), 300n)).toStrictEqual(["release", "UGX reserved -11000", "UGX available 10700", "UGX provider_fees 300"])
    expect(shown(payout(), say("failed", null, 300n))).toMatchObject({ status: "failed", fees: 300n })
    expect(kept(payout(), 1_001n)).toMatch(/^a fee of 1000 minor UGX was held: no more than that can be kept/)
    expect(kept(payout(settled), 700n)).toStrictEqual(["correct", "UGX available 10000", "UGX returned -10000"])
    expect(kept(payout(settled), 701n)).toMatch(/^a fee of 700 minor UGX was booked/)
    const sale = collection({ amount: minor(10_000n), status: "successful", fees: minor(150n), completedAt: NOON })
    expect(kept(sale, 100n)).toStrictEqual(["correct", "UGX available -9950", "UGX collected 10000", "UGX provider_fees -50"])
    expect(shown(sale, say("failed", null, 100n))).toMatchObject({ reversed: { amount: 9_950n } })
    expect(kept(sale, 151n)).toMatch(/^a fee of 150 minor UGX was booked/)
    const closed = "this ruling books no fee: book what it cost with float debit"
    const failed = [payout({ status: "failed", fees: ZERO }), collection({ status: "failed" }), collection()]
    expect(failed.map((record) => kept(record, 1n))).toStrictEqual([closed, closed, closed])
  })

  it("take back a fee that came back by the contract, where the provider kept it after all, and give it again with the next one", () => {
    const back = payout({ ...settled, feeReturns: true, ...returned(10_700n) })
    const kept = say("failed", null, 700n)
    expect(posted(back, kept)).toStrictEqual(["correct", "UGX available -700", "UGX returned 700"])
    expect(decided(rulingOn(back, kept, TOLD_AT))).toMatchObject({
      event: "payout.corrected",
      next: { returned: { amount: 10_000n } }
    })
    const again = { ...shown(back, kept), needsReview: true }
    expect(posted(again, say("failed"))).toStrictEqual(["correct", "UGX available 700", "UGX returned -700"])
    expect(posted(payout({ ...settled, ...returned(10_000n) }), kept)).toBeNull()
  })

  it("hold what was sent against what came back of it, and its fee against the fee that came back", () => {
    const back = payout({ ...settled, returned: { amount: minor(10_700n), at: NOON, reason: "", fee: minor(700n) } })
    expect(posted(back, say("successful", 10_000n))).not.toBeTypeOf("string")
    expect(posted(back, say("successful", 9_999n))).toBe("10000 minor UGX of it came back: it cannot have sent less than that")
    expect(posted(back, say("successful", null, 699n))).toBe(
      "700 minor UGX of its fee came back: it cannot have cost less than that"
    )
  })

  it("start from the fee that was kept, where the next ruling says that the money moved after all", () => {
    const failed = { ...shown(payout(), say("failed", null, 300n)), needsReview: true }
    expect(posted(failed, say("successful", null, 1_000n))).toStrictEqual([
      "correct",
      "UGX available -10700",
      "UGX paid_out 10000",
      "UGX provider_fees 700"
    ])
    const sale = collection({ amount: minor(10_000n), status: "successful", fees: minor(150n), completedAt: NOON })
    const reversed = { ...shown(sale, say("failed", null, 100n)), needsReview: true }
    expect(posted(reversed, say("successful", null, 150n))).toStrictEqual([
      "correct",
      "UGX available 9950",
      "UGX collected -10000",
      "UGX provider_fees 50"
    ])
  })

  it("have the fee of a payout that succeeded up to the held one, and what is beyond that as drift, once", () => {
    const paid = payout(settled)
    const ruling = (fee: bigint | null, drift: bigint | null) => {
      const made = decided(resolvePayout(paid, say("successful", null, fee), TOLD_AT, drift))
      return [made.next.fees, ...(textOf(made.entry) ?? []), made.event]
    }
    expect(ruling(600n, 0n)).toEqual([600n, "correct", "UGX available 100", "UGX provider_fees -100", "payout.corrected"])
    expect(ruling(700n, 0n)).toEqual([700n, null])
    expect(ruling(1_200n, 0n)).toEqual([
      1_000n,
      "correct",
      "UGX available -300",
      "UGX provider_fees 300",
      "UGX drift 200",
      "UGX pool -200",
      "payout.corrected"
    ])
    const drifted = payout({ ...settled, fees: minor(1_000n) })
    const more = (drift: bigint | null) => decided(rulingOn(drifted, say("successful", null, 1_200n), TOLD_AT, drift))
    expect([textOf(more(50n).entry), more(50n).event]).toEqual([["correct", "UGX drift 150", "UGX pool -150"], null])
    expect([textOf(more(200n).entry), textOf(more(null).entry)]).toEqual([null, null])
    expect(ruling(null, 200n)).toEqual([700n, null])
  })

  it("book as drift what the provider says that another amount cost beyond the held fee, as if the person had named it", () => {
    const sent = { amount: minor(10_500n), fee: minor(900n) }
    const paid = payout({ ...settled, reported: sent })
    const ruling = (fee: bigint | null, drift: bigint) =>
      textOf(decided(resolvePayout(paid, say("successful", 10_500n, fee), TOLD_AT, drift)).entry)
    expect(ruling(null, 0n)).toEqual([
      "correct",
      "UGX available -300",
      "UGX paid_out 500",
      "UGX provider_fees -200",
      "UGX drift 400",
      "UGX pool -400"
    ])
    expect([ruling(null, 0n), ruling(null, 150n)]).toEqual([ruling(900n, 0n), ruling(900n, 150n)])
  })

  it("are never a success of nothing: no entry would stand behind it", () => {
    const nothing = "an amount of 0 moved nothing: rule it failed, or say with --amount-minor what moved"
    const open = ["pending payout", "pending collection", "pending exchange"] as const
    expect(open.map((name) => posted(cases[name], { ...say("successful"), amount: ZERO }))).toStrictEqual(open.map(() => nothing))
    const paid = { ...facts(10_000n).Succeeded, amount: ZERO, fee: ZERO }
    const { next } = told({ ...cases["pending collection"], needsReview: false }, paid)
    expect([next.needsReview, posted(next, say("successful"))]).toStrictEqual([true, nothing])
    expect(posted(next, say("successful", 10_000n, 0n))).toStrictEqual(["collect", "UGX available 10000", "UGX collected -10000"])
    expect(shown(next, say("failed")).status).toBe("failed")
  })

  it("may be all that a payout was opened with, and no more", () => {
    expect(posted(payout(), say("successful", 11_000n))).toStrictEqual(["settle", "UGX reserved -11000", "UGX paid_out 11000"])
    expect(posted(payout(), say("successful", 11_001n))).toBe(
      "it was opened with 11000 minor UGX: no more than that can have been sent"
    )
  })

  it("are bounded in the fee of a payout, too: a few digits too many are nobody's fee", () => {
    const refused = (record: Any, fee: bigint) => posted(record, say("successful", null, fee))
    const failed = payout({ status: "failed", fees: ZERO })
    for (const record of [payout(), failed, payout(settled)]) {
      expect(refused(record, 10_000n)).toBeInstanceOf(Array)
      expect(refused(record, 10_001n)).toBe(
        "a fee of 1000 minor UGX was held: a ruling books at most 10000; book what is beyond that with float debit"
      )
    }
    const small = payout({ principal: minor(500n), reported: { amount: minor(500n), fee: minor(1_500n) } })
    expect([refused(small, 3_000n), refused(small, 3_001n)]).toStrictEqual([
      expect.any(Array),
      expect.stringContaining("a ruling books at most 3000")
    ])
    expect(refused(payout(), LARGEST_AMOUNT)).toContain("a ruling books at most 10000")
  })

  it("are at least what came back of a payout", () => {
    const part = payout({ ...settled, ...returned(4_000n) })
    expect(posted(part, say("successful", 4_000n))).toStrictEqual(["correct", "UGX available 6000", "UGX paid_out -6000"])
    expect(posted(part, say("successful", 3_999n))).toBe("4000 minor UGX of it came back: it cannot have sent less than that")
  })

  it("keep the fee that was booked, where the person names none", () => {
    expect(posted(payout(settled), say("successful"))).toBeNull()
    expect(shown(payout(settled), say("successful"))).toMatchObject({ principal: 10_000n, fees: 700n })
  })

  it("charge at most what was held; what the provider took beyond it is drift, where no fee was booked before", () => {
    expect(posted(payout({ status: "failed", fees: ZERO }), say("successful", null, 1_500n))).toStrictEqual([
      "correct",
      "UGX available -11000",
      "UGX paid_out 10000",
      "UGX provider_fees 1000",
      "UGX drift 500",
      "UGX pool -500"
    ])
    expect(posted(payout(settled), say("successful", null, 1_500n))).toStrictEqual([
      "correct",
      "UGX available -300",
      "UGX provider_fees 300"
    ])
  })

  it.each([
    ["all but the fee came back before", 10_000n, ["correct", "UGX available 700", "UGX returned -700"], 10_700n],
    ["everything came back before", 10_700n, null, 10_700n]
  ])("return what is missing of a payout that came to nothing: %s", (_, back, entry, whole) => {
    const given = payout({ ...settled, ...returned(back) })
    const decision = decided(rulingOn(given, say("failed"), TOLD_AT))
    expect([textOf(decision.entry), decision.event]).toStrictEqual([entry, entry === null ? null : "payout.returned"])
    expect(decision.next).toMatchObject({ returned: { amount: whole, at: entry === null ? NOON : TOLD_AT } })
  })

  it("correct a collection by the difference to what was booked", () => {
    const booked = collection({
      status: "successful",
      observedAmount: minor(40_000n),
      observedCurrency: "UGX",
      fees: minor(600n)
    })
    expect(posted(booked, say("successful", 39_000n, 500n))).toStrictEqual([
      "correct",
      "UGX available -900",
      "UGX collected 1000",
      "UGX provider_fees -100"
    ])
    expect(posted(booked, say("successful"))).toBeNull()
    expect(posted(booked, say("successful", 39_000n))).toBe(noFee(39_000n))
    expect(shown(booked, say("successful", 39_000n, 500n))).toMatchObject({
      observedAmount: 39_000n,
      fees: 500n,
      lateSuccess: false
    })
  })

  it("leave a collection late that was credited late", () => {
    const late = collection({ status: "successful", observedAmount: minor(50_000n), lateSuccess: true })
    expect(shown(late, say("successful"))).toMatchObject({ lateSuccess: true })
  })

  it("credit nothing where the fee takes all that came in, and refuse a larger fee", () => {
    expect(posted(collection(), say("successful", 500n, 500n))).toStrictEqual([
      "collect",
      "UGX collected -500",
      "UGX provider_fees 500"
    ])
    expect(posted(collection(), say("successful", 500n, 501n))).toBe("the fee is larger than what came in")
  })

  it("have to name the amount where the provider spoke of another currency", () => {
    const foreign = collection({ observedAmount: minor(13n), observedCurrency: "USD" })
    expect(posted(foreign, say("successful"))).toBe("the provider spoke of USD: say with --amount-minor how much UGX came in")
    expect(posted(foreign, say("successful", 50_000n, 0n))).toStrictEqual([
      "collect",
      "UGX available 50000",
      "UGX collected -50000"
    ])
    expect(shown(foreign, say("successful", 50_000n, 0n))).toMatchObject({ observedAmount: 50_000n, observedCurrency: "UGX" })
  })

  it("have the fee that the provider named with them, and are refused without one that nobody knows", () => {
    const succeeded = { _tag: "Succeeded", providerReference: "P1", currency: "UGX", note: "" } as const
    const paid = { ...succeeded, amount: minor(40_000n), fee: minor(600n) }
    for (const status of ["pending", "failed", "expired"] as const) {
      const { next } = told(collection({ status }), paid)
      expect(next.needsReview).toBe(true)
      expect(posted(next, say("successful"))).toStrictEqual([
        "collect",
        "UGX available 39400",
        "UGX collected -40000",
        "UGX provider_fees 600"
      ])
      // The fee of another amount is another fee.
      expect(posted(next, say("successful", 41_000n))).toBe(noFee(41_000n))
      expect(posted(next, say("successful", 41_000n, 0n))).toStrictEqual([
        "collect",
        "UGX available 41000",
        "UGX collected -41000"
      ])
      // A later answer without a fee takes nothing away.
      expect(posted(told(next, { ...paid, fee: null }).next, say("successful"))).toContain("UGX provider_fees 600")
      expect(posted(told(next, { ...paid, currency: "USD" }).next, say("successful", 40_000n))).toContain("UGX provider_fees 600")
    }
    expect(posted(collection(), say("successful"))).toBe(noFee(50_000n))
    const { next } = told(payout(), { ...succeeded, amount: minor(9_000n), fee: minor(800n) })
    expect(posted(next, say("successful", 9_000n))).toContain("UGX provider_fees 800")
    expect(posted(next, say("successful"))).toContain("UGX provider_fees 1000")
  })

  it("are bounded: what is more than twice of what was asked for or reported is a digit too many", () => {
    const most = "it was opened with 50000 minor UGX: a ruling books at most"
    expect(posted(collection(), say("successful", 100_000n, 0n))).toContain("UGX collected -100000")
    expect(posted(collection(), say("successful", 100_001n, 0n))).toContain(`${most} 100000;`)
    expect(posted(collection(), say("successful", LARGEST_AMOUNT, 0n))).toContain(most)
    const overpaid = collection({ observedAmount: minor(90_000n), observedCurrency: "UGX" })
    expect(posted(overpaid, say("successful", 180_000n, 0n))).toContain("UGX collected -180000")
    expect(posted(overpaid, say("successful", 180_001n, 0n))).toContain(`${most} 180000;`)
    expect(posted(cases["pending exchange"], say("successful", 69_728n))).toContain("KES fx_in -69728")
    expect(posted(cases["failed exchange"], say("successful", 69_729n))).toBe(
      "it was to bring 34864 minor KES: a ruling books at most 69728; book what is beyond that with float credit"
    )
  })

  it("are none of an exchange that stays booked, and have no fee", () => {
    expect(posted(cases["successful exchange"], say("successful", 34_000n))).toBe(
      "it is booked as it is: leave --amount-minor out, and put a difference right with float credit or float debit"
    )
    expect(posted(cases["pending exchange"], say("successful", null, 1n))).toBe("an exchange has no fee beside its rate")
  })
})
