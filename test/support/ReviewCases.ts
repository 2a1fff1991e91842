import type { Exchange } from "../../src/domain/Exchange.ts"
import type { Fact } from "../../src/domain/Fact.ts"
import { Reference } from "../../src/domain/Ids.ts"
import { minor, ZERO } from "../../src/domain/Money.ts"
import { decide } from "../../src/domain/Moves.ts"
import type { Payment } from "../../src/domain/Payment.ts"
import { type Resolution, type Ruling, rulingOn } from "../../src/domain/Resolution.ts"
import { TOLD_AT } from "./SampleFacts.ts"
import { collection, NOON, payout } from "./SampleTransactions.ts"

/** 10,000 UGX for a quoted 348.64 KES. */
export const exchange = (overrides: Partial<Exchange>): Exchange => {
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

export type Any = Payment | Exchange

export const told = (record: Any, fact: Fact) => decide(record, fact, "callback", TOLD_AT)

/** What a person found out: the figures are those of the record, where none are said. */
export const say = (outcome: Resolution["outcome"], amount: bigint | null = null, fee: bigint | null = null): Resolution => ({
  outcome,
  amount: amount === null ? null : minor(amount),
  fee: fee === null ? null : minor(fee),
  evidence: "a statement"
})

/** A ruling that was not refused. */
export const decided = <R>(ruling: Ruling<R>) => {
  if (typeof ruling === "string") throw new Error(ruling)
  return ruling
}

export const ruled = (record: Any, outcome: Resolution["outcome"], at = TOLD_AT): Any =>
  decided(rulingOn(record, say(outcome, null, outcome === "successful" && record.kind === "collection" ? 0n : null), at)).next

// Every case that a person can be asked about, before anything was said of it.
const booked = { completedAt: NOON, needsReview: true } as const
const debitedNothing = { fees: ZERO } as const
const credited = { observedAmount: minor(10_000n), observedCurrency: "UGX" } as const
const amount = minor(10_000n)
export const cases = {
  "pending payout": payout({ needsReview: true }),
  "successful payout": payout({ ...booked, status: "successful" }),
  "failed payout": payout({ ...booked, ...debitedNothing, status: "failed", failedBy: "provider" }),
  "unsent payout": payout({ ...booked, ...debitedNothing, status: "failed", failedBy: "gateway" }),
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
