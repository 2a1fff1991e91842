import { it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { minor } from "../../../src/domain/Money.ts"
import { Transactions } from "../../../src/services/ports/Transactions.ts"
import { VelocityLimits } from "../../../src/services/ports/VelocityLimits.ts"
import { OutcomePoller } from "../../../src/services/settlement/OutcomePoller.ts"
import { fakeProvider } from "../../fakes/FakeProvider.ts"
import { FLOAT, floatNow, historyOf, pay } from "../../support/PaymentRequests.ts"
import { differences, onlyRecord, routedTo } from "../../support/RoutedGateway.ts"
import { auditEntry } from "../../support/TestDatabase.ts"

const neverLeft = { sending: "never sent" } as const
const [opened, notSent] = ["Opened", "NotSent: connection refused"] as const
const moved = "Rerouted: never sent to alpha, goes to beta: connection refused"

describe("a payout that provably never left", () => {
  it.effect("goes to the next provider, which alone executes it; excess reservation returns when it settles", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [fakeProvider("alpha", neverLeft), fakeProvider("beta", { fee: 900n })]
      const { node } = yield* routedTo([alpha, beta])
      yield* Effect.gen(function* () {
        expect(yield* pay("one")).toBe("pending")
        const { transaction } = yield* onlyRecord
        const { reference } = transaction
        expect(transaction).toMatchObject({ provider: "beta", version: 2, fees: 900n, heldFee: 1_000n })
        expect([alpha.executed, beta.executed]).toStrictEqual([[], [reference]])
        expect(yield* historyOf(reference)).toStrictEqual([opened, moved, "Accepted"])
        expect(yield* floatNow).toStrictEqual([FLOAT - 11_000n, 11_000n])
        expect(yield* pay("one")).toBe("replayed")

        yield* TestClock.adjust("1 minute")
        yield* (yield* OutcomePoller).round
        expect((yield* onlyRecord).transaction).toMatchObject({ status: "successful", provider: "beta", fees: 900n })
        expect(yield* floatNow).toStrictEqual([FLOAT - 10_900n, 0n])
        expect([alpha.calls, beta.calls]).toStrictEqual([
          ["quote", "send"],
          ["quote", "send", "ask"]
        ])
        expect(yield* differences).toStrictEqual([])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("is found at the new provider by that provider's own reference", () =>
    Effect.gen(function* () {
      const { node } = yield* routedTo([fakeProvider("alpha", neverLeft), fakeProvider("beta")])
      yield* Effect.gen(function* () {
        yield* pay("one")
        const { reference } = (yield* onlyRecord).transaction
        const transactions = yield* Transactions
        expect(yield* transactions.byProviderReference("beta", "live", `beta-${reference}`)).toHaveLength(1)
        expect(yield* (yield* SqlClient.SqlClient)`SELECT provider FROM transactions`).toStrictEqual([{ provider: "beta" }])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("skips every provider that cannot take it over, and fails when none is left", () =>
    Effect.gen(function* () {
      const providers = [
        fakeProvider("alpha", neverLeft),
        fakeProvider("costlier", { fee: 1_001n }),
        fakeProvider("down", { down: true }),
        fakeProvider("unwilling", { refusesQuotes: "other" }),
        fakeProvider("stingy", { worth: 9_999n }),
        fakeProvider("unable", {}, ["payouts"])
      ]
      const beta = fakeProvider("beta")
      const complete = yield* routedTo([...providers, beta])
      expect(yield* Effect.provideContext(pay("one"), complete.node)).toBe("pending")
      expect(beta.executed).toHaveLength(1)

      const without = yield* routedTo(providers)
      yield* Effect.gen(function* () {
        expect(yield* pay("one")).toBe("provider_unavailable")
        const { transaction } = yield* onlyRecord
        expect(transaction).toMatchObject({ status: "failed", provider: "alpha", fees: 0n })
        expect(yield* historyOf(transaction.reference)).toStrictEqual([opened, notSent])
        expect(yield* floatNow).toStrictEqual([FLOAT, 0n])
        expect(yield* differences).toStrictEqual([])
      }).pipe(Effect.provideContext(without.node))
      expect(providers.flatMap(({ executed }) => executed)).toStrictEqual([])
    }).pipe(Effect.scoped)
  )

  it.effect("goes from one provider to the next as long as none of them got it", () =>
    Effect.gen(function* () {
      const providers = [fakeProvider("alpha", neverLeft), fakeProvider("beta", neverLeft), fakeProvider("gamma")]
      const { node } = yield* routedTo(providers)
      yield* Effect.gen(function* () {
        expect(yield* pay("one")).toBe("pending")
        const { transaction } = yield* onlyRecord
        expect(transaction).toMatchObject({ provider: "gamma", version: 3 })
        const second = "Rerouted: never sent to beta, goes to gamma: connection refused"
        expect(yield* historyOf(transaction.reference)).toStrictEqual([opened, moved, second, "Accepted"])
        expect(providers.map(({ executed }) => executed.length)).toStrictEqual([0, 0, 1])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("is not taken over by an account that has a ceiling of its own", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [fakeProvider("alpha", neverLeft), fakeProvider("beta")]
      const { node } = yield* routedTo([alpha, beta])
      yield* Effect.gen(function* () {
        yield* (yield* VelocityLimits).setCeiling("beta", "UGX", minor(5_000_000n), auditEntry())
        expect(yield* pay("one")).toBe("provider_unavailable")
        expect([alpha.executed, beta.calls]).toStrictEqual([[], []])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("gives the ceiling of the account that never got it back, and counts in no other", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [fakeProvider("alpha", neverLeft), fakeProvider("beta")]
      const { node } = yield* routedTo([alpha, beta])
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* (yield* VelocityLimits).setCeiling("alpha", "UGX", minor(15_000n), auditEntry())
        expect([yield* pay("one"), yield* pay("two")]).toEqual(["pending", "pending"])
        expect(beta.executed).toHaveLength(2)
        expect(yield* sql`SELECT used FROM counters WHERE name LIKE 'ceiling:%'`).toEqual([{ used: 0n }])
        expect(yield* sql`SELECT DISTINCT counted::text LIKE '%ceiling%' AS counted FROM transactions`).toEqual([
          { counted: false }
        ])
        expect(yield* differences).toStrictEqual([])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  it.effect("that deducts its fee still sends the promised amount when the next provider's fee is smaller", () =>
    Effect.gen(function* () {
      const beta = fakeProvider("beta", { fee: 400n })
      const { node } = yield* routedTo([fakeProvider("alpha", neverLeft), beta])
      yield* Effect.gen(function* () {
        expect(yield* pay("one", { deduct: true })).toBe("pending")
        expect((yield* onlyRecord).transaction).toMatchObject({
          provider: "beta",
          principal: 9_000n,
          fees: 400n,
          heldFee: 1_000n
        })
        expect(beta.executed).toHaveLength(1)
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )

  for (const [promise, holder, expected] of [
    ["goes on where the other bank knows the recipient by the same name", "JANE DOE", "pending"],
    ["stays where the other one's bank of that code knows somebody else", "John Roe", "provider_unavailable"],
    ["stays where the other one knows no such account", null, "provider_unavailable"]
  ] as const)
    it.effect(`to a bank ${promise}`, () =>
      Effect.gen(function* () {
        const beta = fakeProvider("beta", { holder })
        const { node } = yield* routedTo([fakeProvider("alpha", neverLeft), beta])
        expect(yield* Effect.provideContext(pay("one", { method: "bank" }), node)).toBe(expected)
        expect(beta.executed).toHaveLength(expected === "pending" ? 1 : 0)
      }).pipe(Effect.scoped)
    )

  it.effect("to a provider's wallet goes to no other provider, where the tag names somebody else", () =>
    Effect.gen(function* () {
      const beta = fakeProvider("beta")
      const { node } = yield* routedTo([fakeProvider("alpha", neverLeft), beta])
      expect(yield* Effect.provideContext(pay("one", { method: "wallet" }), node)).toBe("provider_unavailable")
      expect(beta.calls).toStrictEqual([])
    }).pipe(Effect.scoped)
  )
})

describe("a payout that may have been sent", () => {
  for (const [sending, expected] of [
    ["silent", "provider_timeout"],
    ["unreadable", "provider_bad_response"],
    ["refused", "payout_rejected_by_provider"],
    ["accepted", "pending"]
  ] as const)
    it.effect(`never goes to another provider: ${sending}`, () =>
      Effect.gen(function* () {
        const beta = fakeProvider("beta")
        const { node } = yield* routedTo([fakeProvider("alpha", { sending }), beta])
        expect(yield* Effect.provideContext(pay("one"), node)).toBe(expected)
        expect(beta.calls).toStrictEqual([])
      }).pipe(Effect.scoped)
    )

  it.effect("that failed over is not settled by anything that the first provider says", () =>
    Effect.gen(function* () {
      const [alpha, beta] = [fakeProvider("alpha", neverLeft), fakeProvider("beta", { sending: "silent" })]
      const { node } = yield* routedTo([alpha, beta])
      yield* Effect.gen(function* () {
        expect(yield* pay("one")).toBe("provider_timeout")
        const stored = yield* onlyRecord
        const { reference } = stored.transaction
        // The question was under way when the record moved: it is answered as if the first one had executed it.
        alpha.executed.push(reference)
        const asked = {
          ...stored,
          revision: 1n,
          transaction: { ...stored.transaction, provider: "alpha", account: "the account at alpha" }
        }
        yield* (yield* OutcomePoller).poll(asked, "reconciler")
        expect(alpha.calls.at(-1)).toBe("ask")
        expect(yield* onlyRecord).toStrictEqual(stored)
        expect(yield* historyOf(reference)).toStrictEqual([opened, moved, "Unknown"])
      }).pipe(Effect.provideContext(node))
    }).pipe(Effect.scoped)
  )
})
