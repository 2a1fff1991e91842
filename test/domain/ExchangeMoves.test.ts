import { describe, expect, it } from "vitest"
import type { Exchange } from "../../src/domain/Exchange.ts"
import { Fact } from "../../src/domain/Fact.ts"
import { AppId, Reference } from "../../src/domain/Ids.ts"
import { json } from "../../src/domain/Json.ts"
import { minor, ZERO } from "../../src/domain/Money.ts"
import { decide } from "../../src/domain/Moves.ts"
import type { Transaction } from "../../src/domain/Transaction.ts"
import { recordView } from "../../src/domain/View.ts"
import { NOON } from "../support/SampleTransactions.ts"

const LATER = NOON + 60_000
const heard = { providerReference: "P1", note: "" }

/** 50,000 UGX for a quoted 1,743.24 KES, just opened. */
const exchange = (overrides: Partial<Exchange> = {}): Exchange => ({
  kind: "exchange",
  status: "pending",
  reference: Reference.make("00000000000000000000000001"),
  appId: AppId.make("acme"),
  mode: "live",
  provider: "eversend",
  providerReference: null,
  needsReview: false,
  quoteId: Reference.make("00000000000000000000000002"),
  amount: minor(50_000n),
  currency: "UGX",
  destinationAmount: minor(174_324n),
  destinationCurrency: "KES",
  rawDestinationAmount: "1743.2432432",
  rate: "0.03486486486486",
  metadata: "{}",
  version: 1,
  failure: null,
  createdAt: NOON,
  updatedAt: NOON,
  completedAt: null,
  asked: 0,
  notFound: 0,
  ...overrides
})

const succeeded = { _tag: "Succeeded", ...heard, amount: minor(50_000n), currency: "UGX", fee: null } as const
const brought = (amount: bigint, raw: string, currency: "KES" | "USD" = "KES") =>
  ({ ...succeeded, exchanged: { amount: minor(amount), currency, raw } }) as const

const facts: { readonly [F in Fact["_tag"]]?: Extract<Fact, { _tag: F }> } = {
  Accepted: { _tag: "Accepted", ...heard, observedAmount: null, observedCurrency: null },
  Succeeded: succeeded,
  Refused: { _tag: "Refused", ...heard, kind: "other", failure: { code: "provider_rejected", message: "no" } },
  NotSent: { _tag: "NotSent", note: "" },
  Unknown: { _tag: "Unknown", reason: "timeout", note: "" },
  StillPending: { _tag: "StillPending", ...heard },
  NotFound: { _tag: "NotFound", note: "" },
  Expired: { _tag: "Expired", note: "" },
  NeedsRedirect: {
    _tag: "NeedsRedirect",
    ...heard,
    redirectUrl: "https://pay.example/1",
    observedAmount: null,
    observedCurrency: null
  },
  Returned: { _tag: "Returned", amount: minor(50_000n), currency: "UGX", fee: ZERO, charged: null, at: LATER, note: "" }
}

/** What is failed, by who said so. */
const states = {
  pending: { status: "pending" },
  successful: { status: "successful" },
  failed: { status: "failed", failedBy: "provider" },
  "never sent": { status: "failed", failedBy: "gateway" },
  "ruled failed": { status: "failed", failedBy: "person", ruling: { outcome: "failed", known: [] } }
} as const

type Expected = readonly [status: string, phase: string | null, event: string | null, review: boolean]

// The whole table, written a second time and by hand; a pair that is not here changes nothing.
const looks: Expected = ["failed", null, null, true]
const table: { readonly [S in keyof typeof states]: { readonly [F in Fact["_tag"]]?: Expected } } = {
  pending: {
    Succeeded: ["successful", "exchange", "fx.successful", false],
    Refused: ["failed", "release", "fx.failed", false],
    NotSent: ["failed", "release", "fx.failed", false],
    Returned: ["pending", null, null, true]
  },
  successful: { Refused: ["successful", null, null, true], Returned: ["successful", null, null, true] },
  failed: { Succeeded: looks },
  "never sent": { Succeeded: looks, Accepted: looks, StillPending: looks },
  "ruled failed": { Succeeded: looks, Accepted: looks, StillPending: looks }
}
const names = ["pending", "successful", "failed", "never sent", "ruled failed"] as const
const given = Object.values(facts)

describe("the table of status changes of an exchange", () => {
  it("has a case for every fact that a provider can report", () => {
    // What belongs to a payer's code, or to a change of providers, never comes near an exchange.
    const others = Object.keys(Fact.cases).filter((name) => !(name in facts))
    expect(others.toSorted()).toStrictEqual([
      "Charged",
      "Clawback",
      "CodeSent",
      "FeeStated",
      "Mismatched",
      "Rerouted",
      "WrongCode"
    ])
  })

  it.each(names.flatMap((state) => given.map((fact) => [state, fact._tag, fact] as const)))(
    "applies to a %s exchange the fact %s",
    (state, name, fact) => {
      const { entry, event, next } = decide(exchange(states[state]), fact, "reconciler", LATER)
      expect([next.status, entry?.phase ?? null, event, next.needsReview]).toStrictEqual(
        table[state][name] ?? [states[state].status, null, null, false]
      )
    }
  )

  it("counts a version for each change that a tenant can see", () => {
    const seen = (record: Transaction) => json(recordView(record))
    for (const state of names) {
      for (const fact of given) {
        for (const needsReview of [false, true]) {
          const before = exchange({ ...states[state], needsReview })
          const { next } = decide(before, fact, "reconciler", LATER)
          expect([state, fact._tag, next.version]).toStrictEqual([state, fact._tag, seen(next) === seen(before) ? 1 : 2])
        }
      }
    }
  })

  it("opens a review when the provider later reports another amount bought", () => {
    const made = exchange({ status: "successful" })
    const looksAt = (fact: Fact) => decide(made, fact, "reconciler", LATER).next.needsReview
    expect([looksAt(succeeded), looksAt(brought(174_324n, "1743.24")), looksAt(brought(17_432n, "174.32"))]).toStrictEqual([
      false,
      false,
      true
    ])
  })

  it("makes every entry balance to zero in each of its currencies", () => {
    for (const fact of given) {
      const { entry } = decide(exchange(), fact, "reconciler", LATER)
      for (const currency of ["UGX", "KES"]) {
        const lines = (entry?.postings ?? []).filter((line) => line.currency === currency)
        expect(lines.reduce((sum, { amount }) => sum + amount, 0n)).toBe(0n)
      }
    }
  })

  it("debits the source currency and credits the destination currency", () => {
    expect(decide(exchange(), brought(174_324n, "1743.2432432"), "reconciler", LATER).entry?.postings).toStrictEqual([
      { currency: "UGX", account: "reserved", amount: -50_000n },
      { currency: "UGX", account: "fx_out", amount: 50_000n },
      { currency: "KES", account: "available", amount: 174_324n },
      { currency: "KES", account: "fx_in", amount: -174_324n }
    ])
  })

  it("books the amount that was really bought, not the quoted one, and keeps the provider's figure", () => {
    const { next } = decide(exchange(), brought(174_000n, "1740.0099"), "reconciler", LATER)
    expect(next).toMatchObject({ status: "successful", destinationAmount: 174_000n, rawDestinationAmount: "1740.0099" })
  })

  it.each([
    ["one percent above", brought(176_067n, "1760.67")],
    ["one percent below", brought(172_581n, "1725.81")]
  ])("books an amount that is up to %s the quote", (_, fact) => {
    expect(decide(exchange(), fact, "reconciler", LATER).next).toMatchObject({
      status: "successful",
      destinationAmount: fact.exchanged.amount,
      needsReview: false
    })
  })

  it("books an amount that the provider rounded otherwise, however small the exchange is", () => {
    const small = exchange({ destinationAmount: minor(3n), rawDestinationAmount: "0.0399" })
    expect(decide(small, brought(2n, "0.0299"), "reconciler", LATER).next).toMatchObject({
      status: "successful",
      destinationAmount: 2n
    })
  })

  it.each([
    ["exactly one percent above", 1_000n, 1_010n, "successful"],
    ["exactly one percent below", 1_000n, 990n, "successful"],
    ["one unit beyond one percent", 1_000n, 989n, "pending"],
    ["two units, of a quote of three", 3n, 1n, "successful"],
    ["three units, of a quote of four", 4n, 1n, "pending"],
    ["nothing, of a quote of two", 2n, 0n, "pending"]
  ])("a difference to the quote of %s: %d became %d, which leaves it %s", (_, quoted, came, status) => {
    const { next } = decide(exchange({ destinationAmount: minor(quoted) }), brought(came, "?"), "reconciler", LATER)
    expect(next).toMatchObject({ status, needsReview: status === "pending" })
  })

  it("believes a success that does not say what was exchanged", () => {
    const unsaid = { ...succeeded, amount: null, currency: null }
    expect(decide(exchange(), unsaid, "reconciler", LATER).next).toMatchObject({ status: "successful", needsReview: false })
  })

  it("books the quoted amount when the provider does not say what was bought", () => {
    expect(decide(exchange(), succeeded, "reconciler", LATER).next).toMatchObject({ destinationAmount: 174_324n })
  })

  it.each([
    ["another source amount", { ...brought(174_324n, "1743.24"), amount: minor(49_000n) }],
    ["another source currency", { ...brought(174_324n, "1743.24"), currency: "USD" as const }],
    ["another destination currency", brought(174_324n, "1743.24", "USD")],
    ["nothing at all", brought(0n, "0.0001")],
    ["ten times the quote", brought(1_743_240n, "17432.40")],
    ["a tenth of the quote", brought(17_432n, "174.32")],
    ["more than one percent above the quote", brought(176_068n, "1760.68")],
    ["more than one percent below the quote", brought(172_580n, "1725.80")]
  ])("books nothing for %s, and opens a review", (_, fact) => {
    const { entry, next } = decide(exchange(), fact, "reconciler", LATER)
    expect([entry, next.status, next.needsReview]).toStrictEqual([null, "pending", true])
  })

  it("never believes 'never sent' once the provider has given its own reference", () => {
    const tracked = exchange({ providerReference: "P1" })
    expect(decide(tracked, { _tag: "NotSent", note: "" }, "reconciler", LATER)).toStrictEqual({
      next: tracked,
      entry: null,
      event: null
    })
  })
})
