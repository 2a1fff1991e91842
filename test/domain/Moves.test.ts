import { describe, expect, it } from "vitest"
import type { Fact } from "../../src/domain/Fact.ts"
import { json } from "../../src/domain/Json.ts"
import { minor } from "../../src/domain/Money.ts"
import { decide } from "../../src/domain/Moves.ts"
import type { CollectionStatus, Payment } from "../../src/domain/Payment.ts"
import { transactionView } from "../../src/domain/View.ts"
import { facts, factNames as names } from "../support/SampleFacts.ts"
import { collection, NOON, payout } from "../support/SampleTransactions.ts"

const LATER = NOON + 60_000
type Expected = readonly [status: string, phase: string | null, event: string | null, review: boolean]
const stays = (status: string): Expected => [status, null, null, false]

type Row = { readonly [F in Fact["_tag"]]?: Expected }

/** What is failed, by who said so: the provider, the gateway that found it never sent, or a person. */
const failures = {
  failed: { status: "failed", failedBy: "provider" },
  "never sent": { status: "failed", failedBy: "gateway" },
  "ruled failed": { status: "failed", failedBy: "person", ruling: { outcome: "failed", known: [] } }
} as const
type Failure = keyof typeof failures
const payoutStates = { pending: { status: "pending" }, successful: { status: "successful" }, ...failures } as const
const collectionStates = {
  requires_action: { status: "requires_action" },
  expired: { status: "expired" },
  ...payoutStates
} as const
const looks: Expected = ["failed", null, null, true]
/** Nobody heard from the provider that it failed, and now the provider has it. */
const doubted = { Accepted: looks, StillPending: looks } satisfies Row

// The whole table, written a second time and by hand: every pair of state and fact.
const payoutTable: { readonly [S in keyof typeof payoutStates]: Row } = {
  pending: {
    Succeeded: ["successful", "settle", "payout.successful", false],
    Refused: ["failed", "release", "payout.failed", false],
    NotSent: ["failed", "release", "payout.failed", false],
    Mismatched: ["pending", null, null, true]
  },
  successful: {
    Returned: ["successful", "return", "payout.returned", false],
    Refused: ["successful", null, null, true],
    FeeStated: ["successful", null, null, true]
  },
  failed: { Succeeded: looks },
  "never sent": { Succeeded: looks, ...doubted },
  "ruled failed": { Succeeded: looks, ...doubted }
}
const open = {
  Succeeded: ["successful", "collect", "collection.successful", false],
  Refused: ["failed", null, "collection.failed", false],
  NotSent: ["failed", null, "collection.failed", false],
  NeedsRedirect: ["requires_action", null, "collection.requires_action", false],
  Expired: ["expired", null, "collection.expired", false]
} satisfies { readonly [F in Fact["_tag"]]?: Expected }
const sentBack = (status: string): Expected => [status, null, null, true]
const late: Expected = ["successful", "collect", "collection.successful", false]
const unsaid = { ...doubted, NeedsRedirect: looks, Succeeded: late } satisfies Row
const collectionTable: { readonly [S in keyof typeof collectionStates]: Row } = {
  requires_action: {
    ...open,
    Accepted: ["pending", null, "collection.pending", false],
    Charged: ["pending", null, "collection.pending", false],
    WrongCode: ["requires_action", null, "collection.requires_action", false],
    Returned: sentBack("requires_action"),
    Mismatched: sentBack("requires_action")
  },
  pending: { ...open, Returned: sentBack("pending"), Mismatched: sentBack("pending") },
  successful: {
    Refused: ["successful", null, null, true],
    Returned: ["successful", null, null, true],
    Clawback: ["successful", null, null, true],
    FeeStated: ["successful", null, null, true]
  },
  failed: { Succeeded: late },
  "never sent": unsaid,
  "ruled failed": unsaid,
  expired: { Succeeded: late }
} satisfies { readonly [S in CollectionStatus | Failure]: Row }

const outcome = (transaction: Payment, fact: Fact): Expected => {
  const { entry, event, next } = decide(transaction, fact, "request", LATER)
  return [next.status, entry?.phase ?? null, event, next.needsReview]
}

/** Whatever a tenant can see of it but the version itself and the time of its last change. */
const seen = (transaction: Payment) => {
  const { updated_at: _, version: __, ...rest } = transactionView(transaction)
  return json(rest)
}

/** The version counts one more where the record looks otherwise, and never two. */
const versionOf = (before: Payment, fact: Fact): boolean => {
  const { next } = decide(before, fact, "callback", LATER)
  const more = next.version - before.version
  return seen(next) === seen(before) ? more === 0 || more === 1 : more === 1 && next.updatedAt === LATER
}

const keysOf = <T extends object>(table: T): ReadonlyArray<keyof T & string> =>
  Object.keys(table).filter((key): key is keyof T & string => key in table)
const pairs = <S extends string>(states: ReadonlyArray<S>) =>
  states.flatMap((state) => names.map((name) => [state, name] as const))

describe("the table of status changes of a payout and a collection", () => {
  it.each(pairs(keysOf(payoutTable)))("applies to a %s payout the fact %s", (state, name) => {
    const given = payout(payoutStates[state])
    expect(outcome(given, facts(10_000n)[name])).toStrictEqual(payoutTable[state][name] ?? stays(given.status))
  })

  it.each(pairs(keysOf(collectionTable)))("applies to a %s collection the fact %s", (state, name) => {
    const given = collection(collectionStates[state])
    expect(outcome(given, facts(50_000n)[name])).toStrictEqual(collectionTable[state][name] ?? stays(given.status))
  })

  // A tenant tells two answers of one record apart by it.
  it.each(pairs(keysOf(payoutTable)))(
    "raises the version of a %s payout on the fact %s if and only if its view changes",
    (state, name) => {
      for (const needsReview of [false, true]) {
        for (const fact of [facts(10_000n)[name], facts(9_000n)[name], facts(20_000n)[name]])
          expect(versionOf(payout({ ...payoutStates[state], needsReview }), fact)).toBe(true)
      }
    }
  )

  it.each(pairs(keysOf(collectionTable)))(
    "raises the version of a %s collection on the fact %s if and only if its view changes",
    (state, name) => {
      for (const needsReview of [false, true]) {
        for (const fact of [facts(50_000n)[name], facts(49_000n)[name], facts(60_000n)[name]])
          expect(versionOf(collection({ ...collectionStates[state], needsReview }), fact)).toBe(true)
      }
    }
  )

  it("makes every entry balance to zero", () => {
    for (const name of names) {
      for (const given of [payout(), payout({ status: "successful" }), collection(), collection({ status: "expired" })]) {
        const { entry } = decide(given, facts(given.amount)[name], "request", LATER)
        expect((entry?.postings ?? []).reduce((sum, { amount }) => sum + amount, 0n)).toBe(0n)
      }
    }
  })

  it("debits the smaller of the held and the actual fee, and books an excess as drift", () => {
    const { entry, next } = decide(payout(), { ...facts(10_000n).Succeeded, fee: minor(1_200n) }, "callback", LATER)
    expect(next.fees).toBe(1_000n)
    expect(entry?.postings).toStrictEqual([
      { currency: "UGX", account: "reserved", amount: -11_000n },
      { currency: "UGX", account: "paid_out", amount: 10_000n },
      { currency: "UGX", account: "provider_fees", amount: 1_000n },
      { currency: "UGX", account: "drift", amount: 200n },
      { currency: "UGX", account: "pool", amount: -200n }
    ])
  })

  it("returns an unused hold to available", () => {
    const { entry } = decide(payout(), { ...facts(10_000n).Succeeded, fee: minor(900n) }, "callback", LATER)
    expect(entry?.postings).toContainEqual({ currency: "UGX", account: "available", amount: 100n })
  })

  it.each([minor(9_999n), minor(10_001n)])(
    "books nothing on a success with another amount (%d), and opens a review",
    (amount) => {
      const { entry, event, next } = decide(payout(), { ...facts(10_000n).Succeeded, amount }, "callback", LATER)
      expect([next.status, next.needsReview, entry, event]).toStrictEqual(["pending", true, null, null])
    }
  )

  describe("a collection that waits for a code", () => {
    const code = { _tag: "otp", pinId: "VE1", message: "the code", expiresAt: LATER } as const
    const waiting = collection({ status: "requires_action", nextAction: code, expiresAt: LATER })
    const expected: { readonly [F in Fact["_tag"]]?: Expected } = {
      Charged: ["pending", null, "collection.pending", false],
      StillPending: ["pending", null, "collection.pending", false],
      Succeeded: ["successful", "collect", "collection.successful", false],
      Refused: ["failed", null, "collection.failed", false],
      NotSent: ["failed", null, "collection.failed", false],
      Expired: ["expired", null, "collection.expired", false],
      Returned: ["requires_action", null, null, true],
      Mismatched: ["requires_action", null, null, true]
    }
    it.each(names)("applies the fact %s", (name) => {
      expect(outcome(waiting, facts(50_000n)[name])).toStrictEqual(expected[name] ?? stays("requires_action"))
    })

    it("still waits for the same code after a wrong one", () => {
      expect(decide(waiting, facts(50_000n).WrongCode, "request", LATER).next).toStrictEqual({ ...waiting, wrongCode: true })
    })

    it("gets the expiry of a charge once the charge may have been placed", () => {
      const { next } = decide(waiting, facts(50_000n).Charged, "request", LATER)
      expect(next).toMatchObject({ nextAction: null, expiresAt: LATER + 900_000, version: 2 })
    })
  })

  it("asks nobody about the fee of what came back", () => {
    const back = { amount: minor(10_000n), at: LATER, reason: "" }
    for (const gone of [payout({ status: "successful", returned: back }), collection({ status: "successful", reversed: back })])
      expect(decide(gone, facts(10_000n).FeeStated, "operator", LATER)).toMatchObject({
        next: { needsReview: false },
        event: null
      })
  })

  it("credits a late success once and marks it as late", () => {
    const { next } = decide(collection({ status: "expired" }), facts(50_000n).Succeeded, "reconciler", LATER)
    expect(next.kind === "collection" && next.lateSuccess).toBe(true)
    expect(decide(next, facts(50_000n).Succeeded, "callback", LATER).entry).toBeNull()
  })

  it("never believes 'never sent' once the provider has given its own reference", () => {
    const given = payout({ providerReference: "P1" })
    expect(decide(given, facts(10_000n).NotSent, "reconciler", LATER)).toStrictEqual({ next: given, entry: null, event: null })
  })

  it("keeps the provider's own reference also of an answer whose figures cannot be believed", () => {
    const fact = { ...facts(10_000n).Unknown, providerReference: "P1" }
    for (const open of [payout(), collection()]) {
      expect(decide(open, fact, "reconciler", LATER).next).toMatchObject({ providerReference: "P1", version: 1 })
      const again = { ...open, providerReference: "P1" }
      expect(decide(again, facts(10_000n).Unknown, "reconciler", LATER).next.providerReference).toBe("P1")
    }
  })

  it("never believes 'never sent' while the payer may still open the payment page", () => {
    const nextAction = { _tag: "redirect", redirectUrl: "https://pay.example/1", message: "", expiresAt: LATER } as const
    const given = collection({ status: "requires_action", nextAction })
    expect(decide(given, facts(50_000n).NotSent, "reconciler", LATER)).toStrictEqual({ next: given, entry: null, event: null })
  })

  it("shows the observed amount when a charge brought another amount", () => {
    const { next } = decide(collection(), { ...facts(50_000n).Succeeded, amount: minor(49_000n) }, "callback", LATER)
    expect(next).toMatchObject({ status: "pending", needsReview: true, observedAmount: 49_000n, observedCurrency: "UGX" })
  })

  it.each([
    ["the quoted amount", "KES", 36_000n, "successful"],
    ["one percent less", "KES", 35_640n, "successful"],
    ["more than one percent less", "KES", 35_639n, "pending"],
    ["another currency", "USD", 36_000n, "pending"]
  ] as const)(
    "a payout across currencies whose recipient got %s (%s %d) is %s, and else a person's",
    (_, currency, amount, status) => {
      const given = payout({ destinationAmount: minor(36_000n), destinationCurrency: "KES" })
      const exchanged = { amount: minor(amount), currency, raw: "?" }
      const { entry, next } = decide(given, { ...facts(10_000n).Succeeded, exchanged }, "reconciler", LATER)
      expect(next).toMatchObject({ status, needsReview: status === "pending" })
      expect(entry === null).toBe(status === "pending")
    }
  )

  it("counts a version for each change that a tenant can see, and none for a noted fact", () => {
    expect(decide(payout(), facts(10_000n).Succeeded, "callback", LATER).next.version).toBe(2)
    expect(decide(payout(), facts(10_000n).Unknown, "request", LATER).next.version).toBe(1)
    expect(decide(payout(), facts(10_000n).Accepted, "request", LATER).next.version).toBe(1)
  })
})
