import { describe, expect, it } from "vitest"
import { lastReport, reviewReason } from "../../src/domain/ReviewReason.ts"
import { collection, payout } from "../support/SampleTransactions.ts"

const line = (fact: string, note = "", actor = "callback", status = "pending") => ({ actor, fact, note, status })
const opened = [line("Opened", "", "request"), line("Accepted", "status pending", "request")]

describe("the reason of a review", () => {
  it("is the answer that contradicted the record", () => {
    // The first of the news closed the record, where it is closed.
    const told = (record: Parameters<typeof reviewReason>[0], ...facts: ReadonlyArray<string>) =>
      reviewReason(record, [...opened, ...facts.map((fact) => line(fact, "", "callback", record.status))])
    expect(told(payout(), "Succeeded", "StillPending")).toMatch(/^the provider says that it succeeded, with another/)
    expect(told(payout({ status: "failed" }), "Refused", "Succeeded")).toMatch(/^it is closed as failed, and later/)
    expect(told(payout({ status: "successful" }), "Succeeded", "Refused")).toMatch(/^it is booked as successful, and later/)
    expect(told(payout({ status: "successful" }), "Succeeded", "Returned")).toMatch(/what the provider says came back/)
    expect(told(collection({ status: "successful" }), "Succeeded", "Returned")).toMatch(/it was reversed$/)
    expect(told(collection({ status: "expired" }), "Expired", "Succeeded")).toMatch(/^it expired, and later/)
    expect(told(payout({ status: "failed" }), "NotSent", "Succeeded", "StillPending")).toMatch(/that it succeeded$/)
    expect(told(payout({ status: "failed" }), "NotSent", "StillPending")).toMatch(/has it under way$/)
    expect(told(payout({ status: "successful" }), "Succeeded", "Succeeded")).toMatch(/with other figures, or after/)
    expect(told(payout({ status: "successful" }), "Succeeded", "Refused", "Succeeded")).toMatch(/said that it failed$/)
    expect(told(collection({ status: "requires_action" }), "Returned")).toMatch(/never said that it succeeded$/)
  })

  it("is silence where no answer contradicted the record, whatever a person ruled before", () => {
    const asked = [...opened, line("NotFound", "", "reconciler"), line("Succeeded", "", "review")]
    expect(reviewReason(payout(), asked)).toMatch(/^it was asked for to the end of the schedule/)
  })

  it("is shown with the last answer from outside", () => {
    expect(lastReport([...opened, line("Unknown"), line("Resolved", "successful; a statement", "review")])).toBe("status pending")
    expect(lastReport([line("Opened", "", "request")])).toBe(null)
  })
})
