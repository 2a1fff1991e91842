import type { Exchange } from "../../src/domain/Exchange.ts"
import type { Fact } from "../../src/domain/Fact.ts"
import { Reference } from "../../src/domain/Ids.ts"
import { minor } from "../../src/domain/Money.ts"
import { decide } from "../../src/domain/Moves.ts"
import { type Resolution, resolveCollection, resolveExchange, resolvePayout } from "../../src/domain/Resolution.ts"
import type { Transaction } from "../../src/domain/Transaction.ts"
import { TOLD_AT } from "./SampleFacts.ts"
import { collection, NOON, payout } from "./SampleTransactions.ts"

/** 10,000 UGX for a quoted 348.64 KES. */
const exchange = (overrides: Partial<Exchange>): Exchange => {
  const { appId, createdAt, reference } = payout()
  return {
    kind: "exchange",
    status: "pending",
    reference,
    appId,
    mode: "live",
    provider: "eversend",
    providerReference: null,
    needsReview: false,
    quoteId: Reference.make("00000000000000000000000002"),
    amount: minor(10_000n),
    currency: "UGX",
    destinationAmount: minor(34_864n),
    destinationCurrency: "KES",
    rawDestinationAmount: "348.6486",
    rate: "0.03486486486486",
    metadata: "{}",
    version: 1,
    failure: null,
    createdAt,
    updatedAt: createdAt,
    completedAt: null,
    asked: 0,
    notFound: 0,
    ...overrides
  }
}

export type Any = Transaction | Exchange

export const told = (record: Any, fact: Fact) => decide(record, fact, "callback", TOLD_AT)

const ruling = (outcome: Resolution["outcome"]): Resolution => ({ outcome, amount: null, fee: null, evidence: "a statement" })
export const ruled = (record: Any, outcome: Resolution["outcome"], at = TOLD_AT): Any => {
  const made =
    record.kind === "payout"
      ? resolvePayout(record, ruling(outcome), at)
      : record.kind === "collection"
        ? resolveCollection(record, ruling(outcome), at)
        : resolveExchange(record, ruling(outcome), at)
  if (typeof made === "string") throw new Error(made)
  return made.next
}

// Every case that a person can be asked about, before anything was said of it.
const booked = { completedAt: NOON, needsReview: true } as const
const credited = { observedAmount: minor(10_000n), observedCurrency: "UGX" } as const
const amount = minor(10_000n)
export const cases = {
  "pending payout": payout({ needsReview: true }),
  "successful payout": payout({ ...booked, status: "successful" }),
  "failed payout": payout({ ...booked, status: "failed", failedBy: "provider" }),
  "unsent payout": payout({ ...booked, status: "failed", failedBy: "gateway" }),
  "pending collection": collection({ amount, needsReview: true }),
  "successful collection": collection({ amount, ...booked, ...credited, status: "successful" }),
  "failed collection": collection({ amount, ...booked, status: "failed", failedBy: "provider" }),
  "unsent collection": collection({ amount, ...booked, status: "failed", failedBy: "gateway" }),
  "expired collection": collection({ amount, ...booked, status: "expired" }),
  "pending exchange": exchange({ needsReview: true }),
  "successful exchange": exchange({ ...booked, status: "successful" }),
  "failed exchange": exchange({ ...booked, status: "failed", failedBy: "provider" }),
  "unsent exchange": exchange({ ...booked, status: "failed", failedBy: "gateway" })
} as const satisfies Record<string, Any>
