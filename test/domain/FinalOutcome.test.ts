import { describe, expect, it } from "vitest"
import { finalOutcome } from "../../src/domain/FinalOutcome.ts"
import { exchange } from "../support/ReviewCases.ts"
import { collection, payout } from "../support/SampleTransactions.ts"

describe("a final outcome", () => {
  it("is that of the record after the change: its last provider, its corridor, and its failure's code without a word of the provider", () => {
    const before = payout({ provider: "pawapay" })
    const failure = { code: "destination_unavailable", message: "256772123456 of Jane Doe cannot be reached" } as const
    expect(finalOutcome(before, payout({ provider: "eversend", status: "failed", failure }))).toEqual({
      kind: "payout",
      mode: "live",
      provider: "eversend",
      corridor: "UG/UGX/momo",
      status: "failed",
      failure: "destination_unavailable"
    })
    expect(finalOutcome(collection({ status: "requires_action" }), collection({ status: "expired" }))).toMatchObject({
      kind: "collection",
      status: "expired",
      failure: "none"
    })
    expect(
      finalOutcome(
        exchange({ currency: "UGX", destinationCurrency: "KES" }),
        exchange({ currency: "UGX", destinationCurrency: "KES", status: "successful" })
      )
    ).toMatchObject({ kind: "exchange", corridor: "UGX/KES", status: "successful" })
  })

  it("is none while the record is open, and none again when a late fact or a person changes how it had ended", () => {
    expect(finalOutcome(collection({ status: "requires_action" }), collection({ status: "pending" }))).toBeNull()
    expect(finalOutcome(payout(), payout({ needsReview: true }))).toBeNull()
    expect(finalOutcome(collection({ status: "expired" }), collection({ status: "successful" }))).toBeNull()
    expect(finalOutcome(payout({ status: "failed" }), payout({ status: "successful" }))).toBeNull()
  })
})
