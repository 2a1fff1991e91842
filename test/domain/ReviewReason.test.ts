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

  const other =
    "the provider says that it succeeded, with another amount, currency or fee than this record has, or with a fee that nobody knows"
  const unasked = "the provider says that it was sent back, and never said that it succeeded"
  const refused = "it is booked as successful, and later the provider said that it failed"
  const unfitting = "it is booked as successful, and what the provider says came back does not fit it"
  const late = "it is closed as failed, and later the provider said that it succeeded"
  const otherLate =
    "it expired, and later the provider said that it succeeded, with another amount or currency, or with a fee that nobody knows"
  const again = "the provider said again that it succeeded, with other figures, or after a person ruled that it did not"
  const underWay = "it is closed as failed, which no provider said for certain, and later one said that it has it under way"
  const reversed = "it was credited, and later the provider said that it was reversed"
  const silence = "it was asked for to the end of the schedule, and nobody could say what became of it"

  it.each([
    [payout(), "pending", { Succeeded: other, Returned: unasked, Refused: silence, Accepted: silence }],
    [collection(), "pending", { Succeeded: other, Returned: unasked, NeedsRedirect: silence }],
    [
      payout({ status: "successful" }),
      "successful",
      { Refused: refused, Returned: unfitting, Succeeded: again, Accepted: silence }
    ],
    [collection({ status: "successful" }), "successful", { Refused: refused, Returned: reversed, Succeeded: again }],
    [
      payout({ status: "failed" }),
      "failed",
      {
        Succeeded: late,
        Accepted: underWay,
        StillPending: underWay,
        NeedsRedirect: underWay,
        Refused: silence,
        Returned: silence
      }
    ],
    [collection({ status: "expired" }), "expired", { Succeeded: otherLate, Accepted: silence, Returned: silence }]
  ] as const)("is said in words by the news after the record was closed: %#", (record, status, said) => {
    const closed = [...opened, line("Any", "", "callback", status)]
    for (const [fact, words] of Object.entries(said)) {
      expect([fact, reviewReason(record, [...closed, line(fact, "", "callback", status)])]).toEqual([fact, words])
      expect(reviewReason(record, [...closed, line(fact, "", "review", status)])).toBe(silence)
      // What closed it is no news, and nothing before that is.
      if (status !== "pending")
        expect(reviewReason(record, [...opened, line(fact), line(fact, "", "callback", status)])).toBe(silence)
    }
  })

  it("names the row of the statement, where that has another fee", () => {
    const stated = line("FeeStated", "statement of 31 January, row 7: fee 800 UGX", "operator", "successful")
    const closed = [...opened, line("Succeeded", "", "callback", "successful")]
    for (const record of [payout({ status: "successful" }), collection({ status: "successful" })])
      expect(reviewReason(record, [...closed, stated])).toBe(
        "it is booked, and the provider's statement names another fee: statement of 31 January, row 7: fee 800 UGX"
      )
  })

  it("is the last of several, and what stands between open states is news", () => {
    const failed = payout({ status: "failed" })
    const closed = [...opened, line("Refused", "", "callback", "failed")]
    const news = (...facts: ReadonlyArray<string>) => [...closed, ...facts.map((fact) => line(fact, "", "callback", "failed"))]
    expect(reviewReason(failed, news("Succeeded", "StillPending"))).toBe(late)
    const asked = [line("Opened", "", "request", "requires_action"), line("Succeeded", "", "callback", "pending")]
    expect(reviewReason(collection(), asked)).toBe(other)
    expect(reviewReason(payout(), [line("Returned"), line("Succeeded")])).toBe(other)
    expect(reviewReason(payout(), [line("Succeeded"), line("Returned")])).toBe(unasked)
    expect(reviewReason(payout(), [])).toBe(silence)
  })

  it("is the news that opened this case, and none that an earlier ruling knew", () => {
    const paid = (...lines: ReadonlyArray<readonly [fact: string, actor?: string]>) =>
      lines.map(([fact, actor]) => line(fact, "", actor, "successful"))
    const won = [...opened, ...paid(["Succeeded"], ["Returned"], ["Resolved", "review"], ["Succeeded"])]
    expect(reviewReason(collection({ status: "successful" }), won)).toBe(again)
    const lost = [...opened, ...paid(["Succeeded"], ["Refused"], ["Resolved", "review"], ["Returned"])]
    expect(reviewReason(collection({ status: "successful" }), lost)).toBe(reversed)
  })

  it("is silence where no answer contradicted the record, whatever a person ruled before", () => {
    const asked = [...opened, line("NotFound", "", "reconciler"), line("Succeeded", "", "review")]
    expect(reviewReason(payout(), asked)).toMatch(/^it was asked for to the end of the schedule/)
  })

  it("is shown with the last answer from outside", () => {
    expect(lastReport([...opened, line("Unknown"), line("Resolved", "successful; a statement", "review")])).toBe("status pending")
    expect(lastReport([line("Opened", "", "request")])).toBe(null)
    expect(lastReport([line("Accepted", "one"), line("Unknown", "two"), line("Unknown")])).toBe("two")
  })
})
