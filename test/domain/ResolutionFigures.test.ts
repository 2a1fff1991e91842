import { describe, expect, it } from "vitest"
import { minor, ZERO } from "../../src/domain/Money.ts"
import { type Resolution, rulingOn } from "../../src/domain/Resolution.ts"
import { textOf } from "../support/EntryLines.ts"
import { type Any, cases, decided, say } from "../support/ReviewCases.ts"
import { TOLD_AT } from "../support/SampleFacts.ts"
import { collection, NOON, payout } from "../support/SampleTransactions.ts"

describe("the figures of a ruling", () => {
  const posted = (record: Any, resolution: Resolution) => {
    const ruling = rulingOn(record, resolution, TOLD_AT)
    return typeof ruling === "string" ? ruling : textOf(ruling.entry)
  }
  const shown = (record: Any, resolution: Resolution) => decided(rulingOn(record, resolution, TOLD_AT)).next
  const returned = (amount: bigint) => ({ returned: { amount: minor(amount), at: NOON, reason: "" } })
  const settled = { status: "successful", needsReview: true, fees: minor(700n), completedAt: NOON } as const

  it("may be all that a payout was opened with, and no more", () => {
    expect(posted(payout(), say("successful", 11_000n))).toStrictEqual(["settle", "UGX reserved -11000", "UGX paid_out 11000"])
    expect(posted(payout(), say("successful", 11_001n))).toBe(
      "it was opened with 11000 minor UGX: no more than that can have been sent"
    )
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
    expect(posted(foreign, say("successful", 50_000n))).toStrictEqual(["collect", "UGX available 50000", "UGX collected -50000"])
    expect(shown(foreign, say("successful", 50_000n))).toMatchObject({ observedAmount: 50_000n, observedCurrency: "UGX" })
  })

  it("are none of an exchange that stays booked, and have no fee", () => {
    expect(posted(cases["successful exchange"], say("successful", 34_000n))).toBe(
      "it is booked as it is: leave --amount-minor out, and put a difference right with float credit or float debit"
    )
    expect(posted(cases["pending exchange"], say("successful", null, 1n))).toBe("an exchange has no fee beside its rate")
  })
})
