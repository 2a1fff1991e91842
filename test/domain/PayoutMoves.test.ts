import { describe, expect, it } from "vitest"
import type { Actor, Fact } from "../../src/domain/Fact.ts"
import { minor } from "../../src/domain/Money.ts"
import { decide } from "../../src/domain/Moves.ts"
import type { Payout } from "../../src/domain/Payment.ts"
import { changesOf } from "../support/Changes.ts"
import { textOf } from "../support/EntryLines.ts"
import { facts, TOLD_AT } from "../support/SampleFacts.ts"
import { NOON, payout } from "../support/SampleTransactions.ts"

/** 10,000 UGX with a held fee of 1,000, about which the provider was asked three times. */
const polled = (overrides: Partial<Payout> = {}) => payout({ asked: 3, notFound: 2, ...overrides })
const { Accepted, Mismatched, NotSent, Refused, Returned, StillPending, Succeeded } = facts(10_000n)

/** What the tenant sees changed, and how often it was asked is counted anew. */
const seen = { version: 2, updatedAt: TOLD_AT, asked: 0, notFound: 0 }
/** It is closed without a word of the provider. */
const ended = { ...seen, completedAt: TOLD_AT }
/** It is closed by the provider's word. */
const closed = { ...ended, saidAtOpening: [], ruling: null }
const released = ["release", "UGX reserved -11000", "UGX available 11000"]
const settled = (fee: number, rest: ReadonlyArray<string> = []) => [
  "settle",
  "UGX reserved -11000",
  "UGX paid_out 10000",
  `UGX provider_fees ${fee}`,
  ...rest
]
const paid = { ...closed, status: "successful", said: ["succeeded 10000 UGX"], providerReference: "P1" }
const notFound = { code: "unknown", message: "The provider was asked again and again, and does not have it." }
const neverSent = { code: "unknown", message: "It never left the gateway: nothing was sent to the provider." }

type Row = readonly [
  what: string,
  given: Payout,
  fact: Fact,
  actor: Actor,
  changes: object,
  entry: ReadonlyArray<string> | null,
  event: string | null
]

const rows: ReadonlyArray<Row> = [
  [
    "accepted: the provider's handle is kept",
    polled(),
    Accepted,
    "request",
    { providerReference: "P1", said: ["under way"] },
    null,
    null
  ],
  [
    "under way by another handle: the newer one is kept",
    polled({ providerReference: "P0" }),
    StillPending,
    "reconciler",
    { providerReference: "P1", said: ["under way"] },
    null,
    null
  ],
  [
    "under way, without a handle: the known one stays",
    polled({ providerReference: "P0" }),
    { ...StillPending, providerReference: null },
    "reconciler",
    { said: ["under way"] },
    null,
    null
  ],
  [
    "delivered, for the fee that the provider names",
    polled(),
    Succeeded,
    "callback",
    { ...paid, fees: 750n },
    settled(750, ["UGX available 250"]),
    "payout.successful"
  ],
  [
    "delivered, for the fee that was quoted last where the provider names none",
    polled({ fees: minor(900n) }),
    { ...Succeeded, fee: null },
    "callback",
    paid,
    settled(900, ["UGX available 100"]),
    "payout.successful"
  ],
  [
    "delivered, for the fee that was held where none was ever named",
    polled({ fees: null }),
    { ...Succeeded, fee: null },
    "callback",
    { ...paid, fees: 1_000n },
    settled(1_000),
    "payout.successful"
  ],
  [
    "another's by this reference: a person has to look, and whatever the provider says later is said of the other one",
    polled(),
    Mismatched,
    "request",
    { needsReview: true, ofAnother: true, version: 2, updatedAt: TOLD_AT, saidAtOpening: [] },
    null,
    null
  ],
  [
    "delivered, says the provider of another's by this reference: nothing is booked",
    polled({ needsReview: true, ofAnother: true }),
    Succeeded,
    "reconciler",
    { said: ["succeeded 10000 UGX"] },
    null,
    null
  ],
  [
    "failed, says the provider of another's by this reference: nothing is released",
    polled({ needsReview: true, ofAnother: true }),
    Refused,
    "callback",
    { said: ["failed"] },
    null,
    null
  ],
  [
    "refused: all that was held is released",
    polled({ needsReview: true }),
    Refused,
    "request",
    {
      ...closed,
      status: "failed",
      fees: 0n,
      needsReview: false,
      failure: { code: "provider_rejected", message: "no" },
      failedBy: "provider",
      said: ["failed"]
    },
    released,
    "payout.failed"
  ],
  [
    "never sent: all that was held is released, and the provider said nothing",
    polled(),
    NotSent,
    "reconciler",
    { ...ended, status: "failed", fees: 0n, failure: notFound, failedBy: "gateway" },
    released,
    "payout.failed"
  ],
  [
    "never sent, says the request itself",
    polled(),
    NotSent,
    "request",
    { ...ended, status: "failed", fees: 0n, failure: neverSent, failedBy: "gateway" },
    released,
    "payout.failed"
  ],
  [
    "never sent, says the request itself, although the provider has given a handle: a request that a restore lost was sent",
    polled({ providerReference: "P0" }),
    NotSent,
    "request",
    {},
    null,
    null
  ],
  [
    "never sent, says a poll, although the provider had given a handle",
    polled({ providerReference: "P0" }),
    NotSent,
    "reconciler",
    {},
    null,
    null
  ],
  [
    "sent back, when the provider says",
    polled({ status: "successful" }),
    { ...Returned, at: NOON + 1 },
    "reconciler",
    {
      ...seen,
      returned: { amount: 10_000n, at: NOON + 1, reason: "account closed" },
      said: [`returned 10000 UGX, fee 0, at ${NOON + 1}`]
    },
    ["return", "UGX available 10000", "UGX returned -10000"],
    "payout.returned"
  ],
  [
    "sent back with its fee, and the provider does not say when",
    polled({ status: "successful", fees: minor(700n) }),
    { ...Returned, currency: null, fee: minor(700n), at: null },
    "reconciler",
    {
      ...seen,
      returned: { amount: 10_700n, at: TOLD_AT, reason: "account closed", fee: 700n },
      said: ["returned 10000 ?, fee 700"]
    },
    ["return", "UGX available 10700", "UGX returned -10700"],
    "payout.returned"
  ]
]

describe("a payout that is", () => {
  it.each(rows.map(([what, ...row]) => ({ what, row })))("$what", ({ row: [given, fact, actor, changes, entry, event] }) => {
    const decision = decide(given, fact, actor, TOLD_AT)
    expect(changesOf(given, decision.next)).toStrictEqual(changes)
    expect([textOf(decision.entry), decision.event]).toStrictEqual([entry, event])
  })
})
