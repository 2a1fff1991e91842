import { describe, expect, it } from "vitest"
import type { Fact } from "../../src/domain/Fact.ts"
import { minor, ZERO } from "../../src/domain/Money.ts"
import { decide } from "../../src/domain/Moves.ts"
import type { CollectionStatus, PayoutStatus, Transaction } from "../../src/domain/Transaction.ts"
import { collection, NOON, payout } from "../support/Given.ts"

const LATER = NOON + 60_000
const heard = { providerReference: "P1", note: "" }

const facts = (principal: bigint): { readonly [F in Fact["_tag"]]: Extract<Fact, { _tag: F }> } => ({
  Accepted: { _tag: "Accepted", ...heard, observedAmount: null, observedCurrency: null },
  NeedsRedirect: {
    _tag: "NeedsRedirect",
    ...heard,
    redirectUrl: "https://pay.example/1",
    observedAmount: null,
    observedCurrency: null
  },
  CodeSent: { _tag: "CodeSent", note: "" },
  WrongCode: { _tag: "WrongCode", pinId: "VE1", message: "the code", expiresAt: LATER + 60_000, attemptsRemaining: 4, note: "" },
  Charged: { _tag: "Charged", expiresAt: LATER + 900_000, note: "" },
  Succeeded: { _tag: "Succeeded", ...heard, amount: minor(principal), currency: "UGX", fee: minor(750n) },
  Refused: { _tag: "Refused", ...heard, kind: "party", failure: { code: "provider_rejected", message: "no" } },
  NotSent: { _tag: "NotSent", note: "" },
  Rerouted: { _tag: "Rerouted", provider: "other", fee: minor(900n), note: "" },
  Unknown: { _tag: "Unknown", reason: "timeout", note: "" },
  StillPending: { _tag: "StillPending", ...heard },
  NotFound: { _tag: "NotFound", note: "" },
  Expired: { _tag: "Expired", note: "" },
  Returned: {
    _tag: "Returned",
    amount: minor(principal),
    currency: "UGX",
    fee: ZERO,
    charged: null,
    at: LATER,
    note: "account closed"
  }
})
const names = [
  "Accepted",
  "NeedsRedirect",
  "CodeSent",
  "WrongCode",
  "Charged",
  "Succeeded",
  "Refused",
  "NotSent",
  "Rerouted",
  "Unknown",
  "StillPending",
  "NotFound",
  "Expired",
  "Returned"
] as const

type Expected = readonly [status: string, phase: string | null, event: string | null, review: boolean]
const stays = (status: string): Expected => [status, null, null, false]

// The whole table, written a second time and by hand: every pair of status and fact.
const payoutTable: { readonly [S in PayoutStatus]: { readonly [F in Fact["_tag"]]?: Expected } } = {
  pending: {
    Succeeded: ["successful", "settle", "payout.successful", false],
    Refused: ["failed", "release", "payout.failed", false],
    NotSent: ["failed", "release", "payout.failed", false]
  },
  successful: { Returned: ["successful", "return", "payout.returned", false], Refused: ["successful", null, null, true] },
  failed: { Succeeded: ["failed", null, null, true] }
}
const open = {
  Succeeded: ["successful", "collect", "collection.successful", false],
  Refused: ["failed", null, "collection.failed", false],
  NotSent: ["failed", null, "collection.failed", false],
  NeedsRedirect: ["requires_action", null, "collection.requires_action", false],
  Expired: ["expired", null, "collection.expired", false]
} satisfies { readonly [F in Fact["_tag"]]?: Expected }
const sentBack = (status: string): Expected => [status, null, null, true]
const collectionTable: { readonly [S in CollectionStatus]: { readonly [F in Fact["_tag"]]?: Expected } } = {
  requires_action: {
    ...open,
    Accepted: ["pending", null, "collection.pending", false],
    Charged: ["pending", null, "collection.pending", false],
    WrongCode: ["requires_action", null, "collection.requires_action", false],
    Returned: sentBack("requires_action")
  },
  pending: { ...open, Returned: sentBack("pending") },
  successful: { Refused: ["successful", null, null, true], Returned: ["successful", null, null, true] },
  failed: { Succeeded: ["successful", "collect", "collection.successful", false] },
  expired: { Succeeded: ["successful", "collect", "collection.successful", false] }
}

const outcome = (transaction: Transaction, fact: Fact): Expected => {
  const { entry, event, next } = decide(transaction, fact, "request", LATER)
  return [next.status, entry?.phase ?? null, event, next.needsReview]
}

const pairs = <S extends string>(table: { readonly [K in S]: object }) =>
  Object.keys(table).flatMap((status) => names.map((name) => [status, name] as const))

describe("the table of moves", () => {
  it.each(pairs(payoutTable))("a %s payout that hears %s", (status, name) => {
    const given = payout({ status: status === "pending" || status === "failed" ? status : "successful" })
    expect(outcome(given, facts(10_000n)[name])).toStrictEqual(payoutTable[given.status][name] ?? stays(given.status))
  })

  it.each(
    (["requires_action", "pending", "successful", "failed", "expired"] as const).flatMap((status) =>
      names.map((name) => [status, name] as const)
    )
  )("a %s collection that hears %s", (status, name) => {
    expect(outcome(collection({ status }), facts(50_000n)[name])).toStrictEqual(collectionTable[status][name] ?? stays(status))
  })

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

  it.each([minor(9_999n), minor(10_001n)])("moves nothing on a success of another amount (%d): a person looks", (amount) => {
    const { entry, event, next } = decide(payout(), { ...facts(10_000n).Succeeded, amount }, "callback", LATER)
    expect([next.status, next.needsReview, entry, event]).toStrictEqual(["pending", true, null, null])
  })

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
      Returned: ["requires_action", null, null, true]
    }
    it.each(names)("that hears %s", (name) => {
      expect(outcome(waiting, facts(50_000n)[name])).toStrictEqual(expected[name] ?? stays("requires_action"))
    })

    it("waits on with the same code after a wrong one", () => {
      expect(decide(waiting, facts(50_000n).WrongCode, "request", LATER).next).toStrictEqual(waiting)
    })

    it("has the window of a charge once it may have been placed", () => {
      const { next } = decide(waiting, facts(50_000n).Charged, "request", LATER)
      expect(next).toMatchObject({ nextAction: null, expiresAt: LATER + 900_000, version: 2 })
    })
  })

  it("credits a late success once and says that it was late", () => {
    const { next } = decide(collection({ status: "expired" }), facts(50_000n).Succeeded, "reconciler", LATER)
    expect(next.kind === "collection" && next.lateSuccess).toBe(true)
    expect(decide(next, facts(50_000n).Succeeded, "callback", LATER).entry).toBeNull()
  })

  it("gives a return back once", () => {
    const first = decide(payout({ status: "successful" }), facts(10_000n).Returned, "reconciler", LATER)
    expect(first.entry?.phase).toBe("return")
    expect(decide(first.next, facts(10_000n).Returned, "callback", LATER).entry).toBeNull()
  })

  it("gives nothing back in another currency: a person looks", () => {
    const { entry, next } = decide(
      payout({ status: "successful" }),
      { ...facts(10_000n).Returned, currency: "KES" },
      "reconciler",
      LATER
    )
    expect([entry, next.needsReview]).toStrictEqual([null, true])
  })

  it("opens a review where a payout that was taken for never sent is taken by the provider after all", () => {
    const { next: failed } = decide(payout(), { _tag: "NotSent", note: "" }, "reconciler", LATER)
    const accepted = {
      _tag: "Accepted",
      providerReference: "P1",
      observedAmount: null,
      observedCurrency: null,
      note: ""
    } as const
    expect(decide(failed, accepted, "request", LATER)).toMatchObject({
      next: { status: "failed", needsReview: true },
      entry: null,
      event: null
    })
  })

  it("never believes 'never sent' of what the provider gave a handle to", () => {
    const given = payout({ providerReference: "P1" })
    expect(decide(given, facts(10_000n).NotSent, "reconciler", LATER)).toStrictEqual({ next: given, entry: null, event: null })
  })

  it("never believes 'never sent' of a charge whose page the payer may still open", () => {
    const nextAction = { _tag: "redirect", redirectUrl: "https://pay.example/1", message: "", expiresAt: LATER } as const
    const given = collection({ status: "requires_action", nextAction })
    expect(decide(given, facts(50_000n).NotSent, "reconciler", LATER)).toStrictEqual({ next: given, entry: null, event: null })
  })

  it("shows what was observed when a charge brought another amount", () => {
    const { next } = decide(collection(), { ...facts(50_000n).Succeeded, amount: minor(49_000n) }, "callback", LATER)
    expect(next).toMatchObject({ status: "pending", needsReview: true, observedAmount: 49_000n, observedCurrency: "UGX" })
  })

  it("counts a version for each change that a tenant can see, and none for a noted fact", () => {
    expect(decide(payout(), facts(10_000n).Succeeded, "callback", LATER).next.version).toBe(2)
    expect(decide(payout(), facts(10_000n).Unknown, "request", LATER).next.version).toBe(1)
    expect(decide(payout(), facts(10_000n).Accepted, "request", LATER).next.version).toBe(1)
  })
})
