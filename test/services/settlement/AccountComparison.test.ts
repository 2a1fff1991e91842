import { expect, it } from "@effect/vitest"
import { Effect, Option } from "effect"
import { Reference } from "../../../src/domain/Ids.ts"
import { iso } from "../../../src/domain/Instant.ts"
import { minor } from "../../../src/domain/Money.ts"
import { type Statement, type StatementLine, statedRulings } from "../../../src/domain/ReconciliationDifference.ts"
import type { Adapter, Provider, StatusOutcome } from "../../../src/services/ports/Provider.ts"
import { accountComparison } from "../../../src/services/settlement/Reconciliation.ts"
import { NOON, payout } from "../../support/SampleTransactions.ts"

const paid = payout({ status: "successful", providerReference: null })
const [first, second] = ["00000000000000000000000001", "00000000000000000000000002"].map((text) => Reference.make(text))
const ours = [first, second].flatMap((reference) => (reference === undefined ? [] : [{ ...paid, reference }]))

const succeeded: StatusOutcome = {
  _tag: "Succeeded",
  providerReference: "P2",
  amount: minor(10_000n),
  currency: "UGX",
  fee: minor(1_000n),
  note: ""
}

/** An account that knows both, by our reference, where it is asked. */
const account: Provider = {
  name: "eversend",
  mode: "live",
  guarantees: {} as Adapter["guarantees"],
  callbacks: { verify: () => Option.none() },
  fingerprints: () => [],
  payouts: {
    quote: () => Effect.die("not asked"),
    send: () => Effect.die("not asked"),
    fetchStatus: () => Effect.succeed(succeeded)
  }
}

const { byStatement } = accountComparison(
  { accounts: () => [account], claimed: () => [] } as never,
  { byReference: () => Effect.succeedNone, byProviderReference: () => Effect.succeed([]) } as never
)

const line = (change: Partial<StatementLine>): StatementLine => ({
  direction: "payout",
  providerReference: "P1",
  reference: null,
  amount: minor(10_000n),
  currency: "UGX",
  fee: minor(1_000n),
  status: "successful",
  at: NOON,
  ...change
})
const listed = (change: Partial<Statement>): Statement => ({ lines: [], unreadable: [], unsteady: [], ...change })

it.effect("joins a row that does not show our reference by the provider's own, which the account names where it is asked", () =>
  Effect.gen(function* () {
    const lines = [line({ reference: first ?? null }), line({ providerReference: "P2" })]
    expect(yield* byStatement(account, listed({ lines }), ours)).toEqual([])
    const others = [...lines, line({ providerReference: "P3" })]
    expect(yield* byStatement(account, listed({ lines: others }), ours)).toMatchObject([
      { kind: "missing_here", reference: null, provider_reference: "P3" }
    ])
  })
)

it.effect("names the payment of ours that a row by the provider's own hand is about, and that row stays a difference", () =>
  Effect.gen(function* () {
    const about = { direction: "collection", providerReference: "P1", status: "successful" } as const
    const lines = [line({ reference: first ?? null }), line({ providerReference: "P2" }), line(about)]
    const knowing = accountComparison(
      { accounts: () => [account], claimed: () => [] } as never,
      {
        byReference: () => Effect.succeedNone,
        byProviderReference: (_name: string, _mode: string, handle: string) =>
          Effect.succeed(handle === "P1" ? [{ transaction: { ...paid, reference: first } }] : [])
      } as never
    )
    expect(yield* knowing.byStatement(account, listed({ lines }), ours)).toEqual([
      {
        kind: "missing_here",
        direction: "collection",
        reference: first,
        provider_reference: "P1",
        ours: null,
        theirs: "successful 10000 UGX",
        lines: [
          {
            provider_reference: "P1",
            status: "successful",
            amount_minor: 10_000n,
            currency: "UGX",
            fee_minor: 1_000n,
            at: iso(NOON)
          }
        ]
      }
    ])
  })
)

it.effect("holds a row in the other direction, such as money that came back, for no success of the payment that it names", () =>
  Effect.gen(function* () {
    const record = { ...paid, reference: first, status: "pending", fees: null, needsReview: true } as typeof paid
    const knowing = accountComparison(
      { accounts: () => [account], claimed: () => [] } as never,
      {
        byReference: () => Effect.succeedSome({ transaction: record }),
        byProviderReference: () => Effect.succeed([])
      } as never
    )
    const own = line({ reference: record.reference, status: "failed" })
    const back = line({ reference: record.reference, direction: "collection", providerReference: "P2" })
    const found = yield* knowing.byStatement(account, listed({ lines: [own, back] }), [record])
    expect(found.map(({ kind, theirs }) => `${kind} ${theirs}`).sort()).toEqual([
      "missing_here successful 10000 UGX",
      "state failed 10000 UGX"
    ])
    // What came back is not for a file to rule on: a person looks at it.
    expect(statedRulings(found.map((one) => ({ ...one, because: "in_review" as const })))).toEqual([])
  })
)

it.effect(
  "asks for what a list shows only hours later before it is said to be missing, and one time is not held against another (38.15)",
  () =>
    Effect.gen(function* () {
      const lines = [line({ reference: first ?? null, at: NOON + 3_600_000 })]
      expect(yield* byStatement(account, listed({ lines }), ours)).toEqual([])
      expect(yield* byStatement(account, listed({}), ours)).toEqual([])
    })
)

it.effect("says which rows could not be read and which the list shows only sometimes, and compares the others (38.5)", () =>
  Effect.gen(function* () {
    const lines = [line({ reference: first ?? null }), line({ providerReference: "P2", amount: minor(9_000n) })]
    const unreadable = [
      {
        direction: null,
        place: "transfers, page 1, row 7",
        providerReference: "P9",
        reference: null,
        at: null,
        word: '"status":"x"'
      }
    ]
    const found = yield* byStatement(account, listed({ lines, unreadable, unsteady: lines.slice(0, 1) }), ours)
    expect(found.map(({ kind, provider_reference, theirs }) => [kind, provider_reference, theirs])).toEqual([
      ["unreadable", "P9", 'transfers, page 1, row 7: "status":"x"'],
      ["unsteady", "P1", "successful 10000 UGX"],
      ["amount", null, "9000"]
    ])
  })
)

it.effect("asks what has become of what left the account, where the statement does not say it and ours is over", () =>
  Effect.gen(function* () {
    const left = line({ reference: first ?? null, status: "debited" })
    const [one, ...others] = ours
    if (one === undefined) return
    const compared = (record: typeof one) => byStatement(account, listed({ lines: [left] }), [record, ...others])
    expect(yield* compared(one)).toEqual([])
    expect(yield* compared({ ...one, status: "pending", fees: null })).toEqual([])
    // The account says that it arrived.
    expect(yield* compared({ ...one, status: "failed" })).toMatchObject([
      { kind: "state", reference: first, theirs: "successful 10000 UGX" }
    ])
  })
)
