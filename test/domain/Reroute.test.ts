import { describe, expect, it } from "vitest"
import type { Fact } from "../../src/domain/Fact.ts"
import { feeUnlessSaid } from "../../src/domain/KnownFee.ts"
import { minor } from "../../src/domain/Money.ts"
import { decide } from "../../src/domain/Moves.ts"
import { resolvePayout } from "../../src/domain/Resolution.ts"
import { collection, NOON, payout } from "../support/SampleTransactions.ts"

const LATER = NOON + 60_000
const rerouted = (fee: bigint | null): Fact => ({
  _tag: "Rerouted",
  provider: "other",
  fee: fee === null ? null : minor(fee),
  note: ""
})
const succeeded: Fact = { _tag: "Succeeded", providerReference: "P1", amount: null, currency: null, fee: null, note: "" }

describe("a transaction that fails over to another provider", () => {
  it("keeps its reservation, shows the new provider's fee, and writes no event", () => {
    const given = payout({ asked: 2, notFound: 1 })
    expect(decide(given, rerouted(900n), "request", LATER)).toStrictEqual({
      next: {
        ...given,
        provider: "other",
        fees: 900n,
        quotedFee: 900n,
        version: 2,
        updatedAt: LATER,
        asked: 0,
        notFound: 0
      },
      entry: null,
      event: null
    })
  })

  it("costs the fee that the new provider quoted, also where its answer names none", () => {
    const { next } = decide(payout(), rerouted(900n), "request", LATER)
    const { entry, next: settled } = decide(next, succeeded, "callback", LATER)
    expect(settled).toMatchObject({ status: "successful", provider: "other", fees: 900n })
    expect(entry?.postings).toContainEqual({ account: "available", currency: "UGX", amount: 100n })
  })

  it.each([
    ["is still open", { _tag: "Unknown", reason: "timeout", note: "" }, { reserved: -11_000n, available: 100n }],
    ["was closed as never sent", { _tag: "NotSent", note: "" }, { available: -10_900n }]
  ] as const)("costs that fee, too, where a person rules that it was paid and names none, while it %s", (_, fact, freed) => {
    const moved = decide(payout(), rerouted(900n), "request", LATER).next
    const { next } = decide(moved, fact, "reconciler", LATER)
    if (next.kind !== "payout") return expect.unreachable("it is no payout")
    const inReview = { ...next, needsReview: true }
    const ruling = resolvePayout(inReview, { outcome: "successful", amount: null, fee: null, evidence: "" }, LATER)
    if (typeof ruling === "string") return expect.unreachable(ruling)
    expect(feeUnlessSaid(inReview)).toBe(900n)
    expect(ruling.next.fees).toBe(900n)
    const posted = Object.fromEntries(ruling.entry?.postings.map(({ account, amount }) => [account, amount]) ?? [])
    expect(posted).toStrictEqual({ ...freed, paid_out: 10_000n, provider_fees: 900n })
  })

  it("gets its fee back by the contract of the new provider, and not by that of the first", () => {
    const { next } = decide(payout({ feeReturns: true }), rerouted(900n), "request", LATER)
    expect(next).not.toHaveProperty("feeReturns")
    expect(decide(next, { ...rerouted(900n), feeReturns: true } as Fact, "request", LATER).next).toMatchObject({
      feeReturns: true
    })
  })

  it("never costs more than was reserved", () => {
    expect(decide(payout(), rerouted(1_100n), "request", LATER).next).toMatchObject({ fees: 1_000n })
  })

  it.each([
    ["a payout of which its provider has a handle", payout({ providerReference: "P1" })],
    ["a payout that is delivered", payout({ status: "successful" })],
    ["a payout that failed", payout({ status: "failed" })],
    ["a charge of which its provider has a handle", collection({ providerReference: "P1" })],
    ["a charge that is paid", collection({ status: "successful" })],
    ["a charge that failed", collection({ status: "failed" })],
    ["a charge that expired", collection({ status: "expired" })],
    [
      "a charge that waits for a code",
      collection({ status: "requires_action", nextAction: { _tag: "otp", pinId: "V1", message: "", expiresAt: LATER } })
    ]
  ])("does nothing for %s", (_, given) => {
    expect(decide(given, rerouted(900n), "request", LATER)).toStrictEqual({ next: given, entry: null, event: null })
  })

  it.each(["pending", "requires_action"] as const)(
    "may be a charge that is %s, as long as its payer was told nothing",
    (status) => {
      const given = collection({ status })
      expect(decide(given, rerouted(null), "request", LATER).next).toStrictEqual({
        ...given,
        provider: "other",
        version: 2,
        updatedAt: LATER
      })
    }
  )

  it("is a charge at the fee of the new provider's contract, and not of the first one's", () => {
    const given = collection({ contractFee: minor(300n) })
    expect(decide(given, rerouted(900n), "request", LATER).next).toMatchObject({ contractFee: 900n })
    expect(decide(given, rerouted(null), "request", LATER).next).not.toHaveProperty("contractFee")
  })
})
