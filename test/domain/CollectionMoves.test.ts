import { describe, expect, it } from "vitest"
import { waitsForCode } from "../../src/domain/CollectionMoves.ts"
import type { Actor, Fact } from "../../src/domain/Fact.ts"
import { minor } from "../../src/domain/Money.ts"
import { decide } from "../../src/domain/Moves.ts"
import type { Collection, Payment } from "../../src/domain/Payment.ts"
import { resolveCollection } from "../../src/domain/Resolution.ts"
import { changesOf } from "../support/Changes.ts"
import { textOf } from "../support/EntryLines.ts"
import { facts, TOLD_AT } from "../support/SampleFacts.ts"
import { collection, NOON } from "../support/SampleTransactions.ts"

const EXPIRY = NOON + 15 * 60_000
/** 50,000 UGX, about which the provider was asked three times. */
const polled = (overrides: Partial<Collection> = {}) => collection({ asked: 3, notFound: 2, expiresAt: EXPIRY, ...overrides })
const { Accepted, Charged, Expired, NeedsRedirect, NotSent, Refused, StillPending, Succeeded, WrongCode } = facts(50_000n)

/** What the tenant sees changed; how often it was asked counts on, or anew. */
const seen = { version: 2, updatedAt: TOLD_AT }
const anew = { ...seen, asked: 0, notFound: 0 }
/** It is closed without a word of the provider. */
const ended = { ...anew, completedAt: TOLD_AT }
/** It is closed by the provider's word. */
const closed = { ...ended, saidAtOpening: [], ruling: null }
const took = { providerReference: "P1", said: ["under way"] }
const other = { observedAmount: minor(49_000n), observedCurrency: "UGX" } as const
const code = { _tag: "otp", pinId: "VE0", message: "say it", expiresAt: EXPIRY } as const
const page = {
  _tag: "redirect",
  redirectUrl: "https://pay.example/1",
  message: "Send the payer to redirect_url to finish the payment.",
  expiresAt: EXPIRY
} as const
const asks = (nextAction: Collection["nextAction"], more: Partial<Collection> = {}) =>
  polled({ status: "requires_action", nextAction, ...more })
const refused = { code: "provider_rejected", message: "no" }
const timedOut = { code: "timed_out", message: "The payer did not finish in time." }
const neverSent = { code: "unknown", message: "It never left the gateway: nothing was sent to the provider." }
const paid = {
  ...closed,
  status: "successful",
  providerReference: "P1",
  observedAmount: 50_000n,
  observedCurrency: "UGX",
  said: ["succeeded 50000 UGX"]
}

const unpriced = {
  ...seen,
  needsReview: true,
  observedAmount: 50_000n,
  observedCurrency: "UGX",
  said: ["succeeded 50000 UGX"],
  saidAtOpening: ["succeeded 50000 UGX"]
}

type Row = readonly [what: string, given: Collection, fact: Fact, actor: Actor, changes: object, event: string | null]

const rows: ReadonlyArray<Row> = [
  ["taken by the provider", polled(), Accepted, "request", took, null],
  ["taken for another amount, shown", polled(), { ...Accepted, ...other }, "request", { ...took, ...seen, ...other }, null],
  [
    "taken at once, although an action of the payer was expected",
    asks(null),
    { ...Accepted, ...other },
    "request",
    { ...took, ...seen, ...other, status: "pending" },
    "collection.pending"
  ],
  ["taken while the payer has a page to pay on", asks(page), Accepted, "reconciler", took, null],
  [
    "to be paid on a page",
    polled(),
    { ...NeedsRedirect, ...other },
    "request",
    { ...took, ...anew, ...other, status: "requires_action", nextAction: page },
    "collection.requires_action"
  ],
  [
    "to be paid on a page, and has no time of its own",
    polled({ expiresAt: null }),
    NeedsRedirect,
    "request",
    { ...took, ...anew, status: "requires_action", nextAction: { ...page, expiresAt: TOLD_AT } },
    "collection.requires_action"
  ],
  ["to be paid on a page, says a poll, which has no page to show", polled(), NeedsRedirect, "reconciler", took, null],
  ["to be paid on another page than the one that was shown", asks(page), NeedsRedirect, "request", took, null],
  [
    "charged by a code",
    asks(code),
    Charged,
    "request",
    { ...anew, status: "pending", nextAction: null, expiresAt: Charged.expiresAt },
    "collection.pending"
  ],
  [
    "found charged, although the answer to the code was lost",
    asks(code),
    StillPending,
    "reconciler",
    { ...took, ...anew, status: "pending", nextAction: null },
    "collection.pending"
  ],
  [
    "asked for another code, because the one in the request was wrong",
    asks(null),
    WrongCode,
    "request",
    {
      ...seen,
      nextAction: { _tag: "otp", pinId: "VE1", message: "the code", expiresAt: WrongCode.expiresAt },
      wrongCode: true,
      expiresAt: WrongCode.expiresAt
    },
    "collection.requires_action"
  ],
  [
    "asked for another code as before, and it is kept that one was wrong",
    asks(code),
    WrongCode,
    "request",
    { wrongCode: true },
    null
  ],
  ["paid, with a fee", asks(page), Succeeded, "callback", { ...paid, fees: 750n, nextAction: null }, "collection.successful"],
  [
    "paid, and nobody knows its fee: it is asked about again",
    polled(),
    { ...Succeeded, fee: null },
    "callback",
    { providerReference: "P1", said: ["succeeded 50000 UGX"] },
    null
  ],
  [
    "paid after it failed, and nobody knows its fee: a person has it",
    polled({ status: "failed" }),
    { ...Succeeded, fee: null },
    "reconciler",
    unpriced,
    null
  ],
  [
    "paid after it expired, and nobody knows its fee: a person has it",
    polled({ status: "expired" }),
    { ...Succeeded, fee: null },
    "reconciler",
    unpriced,
    null
  ],
  [
    "paid after it expired, as a person knows already, whose fee is known by now",
    polled({ status: "expired", needsReview: true }),
    Succeeded,
    "reconciler",
    { ...paid, fees: 750n, needsReview: false, lateSuccess: true },
    "collection.successful"
  ],
  [
    "paid after it failed",
    polled({ status: "failed" }),
    Succeeded,
    "callback",
    { ...paid, fees: 750n, lateSuccess: true },
    "collection.successful"
  ],
  [
    "paid after it expired",
    polled({ status: "expired" }),
    Succeeded,
    "callback",
    { ...paid, fees: 750n, lateSuccess: true },
    "collection.successful"
  ],
  [
    "refused",
    asks(page, { needsReview: true }),
    Refused,
    "request",
    {
      ...closed,
      status: "failed",
      needsReview: false,
      nextAction: null,
      failure: refused,
      failedBy: "provider",
      said: ["failed"]
    },
    "collection.failed"
  ],
  [
    "never sent, says the request itself",
    polled(),
    NotSent,
    "request",
    { ...ended, status: "failed", failure: neverSent, failedBy: "gateway" },
    "collection.failed"
  ],
  [
    "never sent, says the request itself, although the provider has given a handle: a request that a restore lost was sent",
    polled({ providerReference: "P0" }),
    NotSent,
    "request",
    {},
    null
  ],
  [
    "never sent, says a poll, although the provider had given a handle",
    polled({ providerReference: "P0" }),
    NotSent,
    "reconciler",
    {},
    null
  ],
  [
    "succeeded, says the provider of another's by this reference, which a person ruled failed: nothing is credited",
    polled({ status: "failed", ofAnother: true }),
    Succeeded,
    "callback",
    { said: ["succeeded 50000 UGX"] },
    null
  ],
  [
    "over its time",
    asks(code),
    Expired,
    "reconciler",
    { ...ended, status: "expired", nextAction: null, failure: timedOut },
    "collection.expired"
  ]
]

describe("a collection that is", () => {
  it.each(rows.map(([what, ...row]) => ({ what, row })))("$what", ({ row: [given, fact, actor, changes, event] }) => {
    const decision = decide(given, fact, actor, TOLD_AT)
    expect(changesOf(given, decision.next)).toStrictEqual(changes)
    expect(decision.event).toBe(event)
  })

  it.each([
    [750n, ["collect", "UGX available 49250", "UGX collected -50000", "UGX provider_fees 750"]],
    [50_000n, ["collect", "UGX collected -50000", "UGX provider_fees 50000"]],
    [50_001n, null]
  ] as const)("paid with a fee of %s is credited without it, if the fee is no larger than the amount", (fee, entry) => {
    const decision = decide(polled(), { ...Succeeded, fee: minor(fee) }, "callback", TOLD_AT)
    expect([textOf(decision.entry), decision.next.needsReview]).toStrictEqual([entry, entry === null])
  })
})

describe("a collection that was closed, and then ruled failed by a person", () => {
  it.each(["failed", "expired"] as const)(
    "is credited by itself where the success is news, and not where the person knew of it: %s",
    (status) => {
      const ruled = (known: ReadonlyArray<string>) => {
        const given = polled({ status, ruling: { outcome: "failed", known } })
        const { entry, next } = decide(given, Succeeded, "reconciler", TOLD_AT)
        return [entry === null, next.status, next.needsReview]
      }
      expect(ruled(["succeeded 50000 UGX"])).toStrictEqual([true, status, false])
      expect(ruled(["under way"])).toStrictEqual([false, "successful", false])
    }
  )
})

describe("a collection of which the provider says that another sum was paid", () => {
  const shown = { observedAmount: minor(49_000n), observedCurrency: "KES" } as const
  const reviewed = { ...seen, needsReview: true }
  const opened = (changes: object, report: string) => ({ ...changes, said: [report], saidAtOpening: [report] })

  it.each([
    ["another amount", polled(), { amount: 49_000n, currency: "UGX" }, opened({ ...reviewed, ...other }, "succeeded 49000 UGX")],
    ["no currency", polled(), { amount: 49_000n, currency: null }, opened({ ...reviewed, ...other }, "succeeded 49000 ?")],
    [
      "no amount",
      polled(),
      { amount: null, currency: "KES" },
      opened({ ...reviewed, observedCurrency: "KES" }, "succeeded ? KES")
    ],
    [
      "what is shown already",
      polled({ ...shown, needsReview: true }),
      { amount: 49_000n, currency: "KES" },
      { said: ["succeeded 49000 KES"] }
    ],
    [
      "another amount than is shown",
      polled({ ...shown, needsReview: true }),
      { amount: 48_000n, currency: "KES" },
      { ...seen, observedAmount: 48_000n, said: ["succeeded 48000 KES"] }
    ],
    [
      "another currency than is shown",
      polled({ ...shown, needsReview: true }),
      { amount: 49_000n, currency: "UGX" },
      { ...seen, observedCurrency: "UGX", said: ["succeeded 49000 UGX"] }
    ]
  ] as const)("goes to a person, and the tenant sees what was said: %s", (_, given, { amount, currency }, changes) => {
    const fact = { ...Succeeded, amount: amount === null ? null : minor(amount), currency }
    const { entry, event, next } = decide(given, fact, "callback", TOLD_AT)
    // The fee is kept for whoever rules on it, where it is of our currency.
    const reported = currency === "KES" || amount === null ? {} : { reported: { amount, fee: 750n } }
    expect([changesOf(given, next), entry, event]).toStrictEqual([{ ...changes, ...reported }, null, null])
  })
})

it("the payer has to say a code while the collection requires that action, and at no other time", () => {
  const waiting = [asks(code), asks(page), asks(null), polled({ nextAction: code }), { status: "requires_action" }]
  expect(waiting.map(waitsForCode)).toStrictEqual([true, false, false, false, false])
})

describe("a charge that its provider calls reversed", () => {
  const paid = polled({ status: "successful", fees: minor(0n), observedAmount: minor(50_000n), observedCurrency: "UGX" })
  const taken: Fact = { ...facts(20_000n).Clawback, by: "refund", state: "taken" }
  /** After a person booked that so much of it came in and stayed. */
  const ruled = (given: Payment, amount: bigint) => {
    if (given.kind !== "collection") throw new Error("it is no charge")
    const ruling = resolveCollection(
      given,
      { outcome: "successful", amount: minor(amount), fee: minor(0n), evidence: "" },
      TOLD_AT
    )
    if (typeof ruling === "string") throw new Error(ruling)
    return ruling.next
  }
  const refunded = decide(paid, taken, "reconciler", TOLD_AT).next

  it.each<readonly [string, Collection, boolean]>([
    ["is news to nobody where a person booked the part that was listed as taken", ruled(refunded, 30_000n), false],
    ["is a person's where the whole charge stayed booked beside a refund", ruled(refunded, 50_000n), true],
    ["is a person's where less was booked for another reason than a refund", ruled({ ...paid, needsReview: true }, 30_000n), true]
  ])("%s", (_, record, needsReview) => {
    const { entry, next } = decide(record, facts(50_000n).Returned, "reconciler", TOLD_AT)
    expect([entry, next.needsReview]).toStrictEqual([null, needsReview])
  })
})
