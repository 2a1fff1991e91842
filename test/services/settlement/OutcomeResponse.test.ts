import { Result } from "effect"
import { expect, it } from "vitest"
import { ProviderBadResponse, ProviderTimeout, ProviderUnavailable } from "../../../src/domain/errors/Ambiguous.ts"
import { OtpIncorrect } from "../../../src/domain/errors/Retriable.ts"
import {
  ChargeRejectedByProvider,
  InsufficientWalletFloat,
  PayoutRejectedByProvider
} from "../../../src/domain/errors/Terminal.ts"
import type { Fact } from "../../../src/domain/Fact.ts"
import type { Transaction } from "../../../src/domain/Transaction.ts"
import { outcomeResponse } from "../../../src/services/settlement/OutcomeResponse.ts"
import { cases } from "../../support/ReviewCases.ts"
import { facts } from "../../support/SampleFacts.ts"
import { collection, payout } from "../../support/SampleTransactions.ts"

const said = facts(10_000n)
const timeout = said.Unknown
const pool: Fact = { ...said.Refused, kind: "pool" }
const failure = { code: "limit_exceeded", message: "too much" } as const
const { reference } = payout()

const failedPayout = payout({ status: "failed", failure })
const failedCharge = collection({ status: "failed", failure })
const expired = collection({ status: "expired", failure: { code: "timed_out", message: "too late" } })
const waiting = collection({ status: "requires_action" })

type Row = readonly [title: string, record: Transaction, fact: Fact | null, response: unknown]

const refusals: ReadonlyArray<Row> = [
  ["a failed payout", failedPayout, null, new PayoutRejectedByProvider({ reference, failure_code: "limit_exceeded" })],
  [
    "a payout that just failed",
    failedPayout,
    said.Refused,
    new PayoutRejectedByProvider({ reference, failure_code: "limit_exceeded" })
  ],
  ["a payout that the provider's wallet did not cover", failedPayout, pool, new InsufficientWalletFloat({ reference })],
  ["a failed charge", failedCharge, null, new ChargeRejectedByProvider({ reference, failure_code: "limit_exceeded" })],
  ["an expired charge", expired, null, new ChargeRejectedByProvider({ reference, failure_code: "timed_out" })],
  [
    "an expired charge whose provider is silent",
    expired,
    timeout,
    new ChargeRejectedByProvider({ reference, failure_code: "timed_out" })
  ],
  [
    "a failed exchange",
    { ...cases["failed exchange"], needsReview: false },
    null,
    new PayoutRejectedByProvider({ reference, failure_code: "unknown" })
  ],
  [
    "a failed payout without a reason",
    payout({ status: "failed" }),
    null,
    new PayoutRejectedByProvider({ reference, failure_code: "unknown" })
  ],
  [
    "a charge that waits for its code, and heard a wrong one",
    waiting,
    said.WrongCode,
    new OtpIncorrect({ reference, attempts_remaining: 4 })
  ]
]

const ambiguous: ReadonlyArray<Row> = [
  ["a pending payout without an answer in time", payout(), timeout, new ProviderTimeout({ reference })],
  [
    "a pending payout without a connection",
    payout(),
    { ...timeout, reason: "unavailable" },
    new ProviderUnavailable({ reference })
  ],
  [
    "a pending payout with an unreadable answer",
    payout(),
    { ...timeout, reason: "bad_response" },
    new ProviderBadResponse({ reference })
  ],
  [
    "a payout whose reference the provider has for another number",
    payout({ needsReview: true }),
    said.Mismatched,
    new ProviderBadResponse({ reference })
  ],
  [
    "a charge whose reference the provider has for another number",
    cases["pending collection"],
    said.Mismatched,
    new ProviderBadResponse({ reference })
  ],
  ["a charge that waits for its code, and whose answer was lost", waiting, timeout, new ProviderTimeout({ reference })],
  ["a failed payout of which nothing was sent", failedPayout, said.NotSent, new ProviderUnavailable({ reference })],
  ["a failed payout that its provider has after all", cases["unsent payout"], timeout, new ProviderTimeout({ reference })],
  [
    "a failed payout that its provider refuses now and reported as paid",
    cases["failed payout"],
    said.Refused,
    new ProviderBadResponse({ reference })
  ],
  [
    "a failed payout that its provider reported as paid, when its key is used again",
    cases["failed payout"],
    null,
    new ProviderBadResponse({ reference })
  ],
  ["an expired charge that its provider has after all", cases["expired collection"], timeout, new ProviderTimeout({ reference })]
]

it.each([...refusals, ...ambiguous])("%s is answered with its error", (_, record, fact, error) => {
  expect(outcomeResponse(record, fact)).toStrictEqual(Result.fail(error))
})

it.each<Row>([
  ["a pending payout", payout(), null, null],
  ["a payout that the provider took", payout(), said.Accepted, null],
  ["a successful payout, even where the provider is silent now", payout({ status: "successful" }), timeout, null],
  ["a successful payout, even where the provider speaks of its wallet now", payout({ status: "successful" }), pool, null],
  [
    "a successful payout, even where the provider has its reference for another number now",
    payout({ status: "successful" }),
    said.Mismatched,
    null
  ],
  ["a charge that waits for its payer", waiting, null, null],
  ["a charge that was placed before the wrong code was heard of", collection(), said.WrongCode, null]
])("%s is answered with the record", (_, record, fact) => {
  expect(outcomeResponse(record, fact)).toStrictEqual(Result.succeed(record))
})
