import { describe, expect, it } from "vitest"
import { FailureCode } from "../../src/domain/Payment.ts"
import { routeOutcomes } from "../../src/domain/RouteResult.ts"
import { collection, NOON, payout } from "../support/SampleTransactions.ts"

const line = (fact: string, actor: "request" | "reconciler" | "callback" = "request") => ({ actor, fact, at: NOON })
const route = { direction: "payout", corridor: "UG/UGX/momo", network: "MTN", provider: "eversend" } as const

describe("the result of a payment at a provider", () => {
  it("of its sending is what the request heard, at the provider that it was sent to", () => {
    const sent = (fact: string, next = payout()) =>
      routeOutcomes({ before: payout(), next, line: line(fact) }).map(({ provider, result }) => `${provider} ${result}`)
    expect(sent("Accepted")).toEqual(["eversend answered"])
    expect(sent("Unknown")).toEqual(["eversend silent"])
    expect(sent("Rerouted", payout({ provider: "mtn" }))).toEqual(["eversend not_sent"])
    const failed = payout({ status: "failed", failure: { code: "unknown", message: "" }, completedAt: NOON })
    expect(sent("NotSent", failed)).toEqual(["eversend not_sent"])
    expect(routeOutcomes({ before: payout(), next: payout(), line: line("Unknown", "reconciler") })).toEqual([])
    expect(sent("WrongCode")).toEqual([])
  })

  it("of its end is the provider's or the customer's, with the time that it took", () => {
    const end = (code: FailureCode) =>
      routeOutcomes({
        before: payout(),
        next: payout({ status: "failed", failure: { code, message: "" }, completedAt: NOON + 7_000, createdAt: NOON }),
        line: line("Refused", "callback")
      })
    expect(end("provider_rejected")).toEqual([{ ...route, result: "failed", tookMs: 7_000 }])
    const customers = FailureCode.literals.filter((code) => end(code)[0]?.result === "customer")
    expect(customers).toEqual([
      "insufficient_funds",
      "declined_by_payer",
      "payer_not_found",
      "limit_exceeded",
      "invalid_destination"
    ])
    const paid = payout({ status: "successful", completedAt: NOON })
    expect(routeOutcomes({ before: payout(), next: paid, line: line("Succeeded") }).map(({ result }) => result)).toEqual([
      "answered",
      "successful"
    ])
    expect(routeOutcomes({ before: paid, next: paid, line: line("Succeeded", "callback") })).toEqual([])
  })

  it("of a charge that ran out of time is the provider's: a prompt that never came looks the same", () => {
    const expired = collection({ status: "expired", completedAt: NOON })
    expect(routeOutcomes({ before: collection(), next: expired, line: line("Expired", "reconciler") })).toMatchObject([
      { direction: "collection", result: "failed" }
    ])
  })
})
