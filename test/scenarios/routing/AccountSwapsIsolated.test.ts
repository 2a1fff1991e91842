import { it } from "@effect/vitest"
import { Clock, Effect, Layer, Metric } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { describe, expect } from "vitest"
import { iso } from "../../../src/domain/Instant.ts"
import { Transactions } from "../../../src/services/ports/Transactions.ts"
import { Reference as ReferenceData } from "../../../src/services/reference/Reference.ts"
import { OutcomePoller } from "../../../src/services/settlement/OutcomePoller.ts"
import { Reconciliation } from "../../../src/services/settlement/Reconciliation.ts"
import { type FakeProvider, fakeProvider, fakeProviderRegistry, type Script } from "../../fakes/FakeProvider.ts"
import { caller, charge, FLOAT, floatNow, pay } from "../../support/PaymentRequests.ts"
import { onlyRecord, routedTo } from "../../support/RoutedGateway.ts"

const accountAtAlpha = (account: string, wish: Partial<Script> = {}): FakeProvider => fakeProvider("alpha", wish, [], account)

/** Time goes by, and whatever is due is asked about. */
const hours = Effect.gen(function* () {
  for (let round = 0; round < 6; round++) {
    yield* TestClock.adjust("20 minutes")
    yield* (yield* OutcomePoller).round
  }
})

const told = Effect.gen(function* () {
  const { transaction } = yield* onlyRecord
  const history = yield* (yield* Transactions).history(transaction.reference)
  return { transaction, last: history.at(-1) }
})

describe("a payout that one account executed unheard, while another account is in the settings", () => {
  it.effect(
    "stays open whatever the other account says, and the history names both; it is settled once its own can be asked",
    () =>
      Effect.gen(function* () {
        const first = accountAtAlpha("first", { sending: "silent" })
        const { database, node } = yield* routedTo([first])
        yield* Effect.provideContext(pay("one"), node)
        expect(first.executed).toHaveLength(1)

        const second = accountAtAlpha("second")
        const swapped = yield* routedTo([second], undefined, database)
        yield* Effect.gen(function* () {
          yield* hours
          const { last, transaction } = yield* told
          expect(transaction).toMatchObject({ status: "pending", account: "first", notFound: 0 })
          expect(last).toMatchObject({
            fact: "Unknown",
            note: "it was sent with the account first, and those that are set are second: what another account says proves nothing"
          })
          expect(second.calls).toEqual([])
          const counted = (yield* Metric.snapshot).filter(({ id }) => id === "gateway_polls_without_account_total")
          expect(counted.map(({ attributes, state }) => [attributes, state])).toContainEqual([
            { provider: "alpha", mode: "live" },
            { count: expect.toSatisfy((polls: number) => polls > 0), incremental: true }
          ])
          expect(yield* floatNow).toEqual([FLOAT - 11_000n, 11_000n])
        }).pipe(Effect.provideContext(swapped.node))

        const kept = yield* routedTo([second, first], undefined, database)
        yield* Effect.gen(function* () {
          yield* hours
          expect((yield* told).transaction).toMatchObject({ status: "successful", account: "first" })
          expect(second.calls).toEqual([])
          expect(yield* pay("two")).toBe("pending")
          expect([first.executed.length, second.executed.length]).toEqual([1, 1])
        }).pipe(Effect.provideContext(kept.node))
      })
  )

  it.effect("from before accounts were kept, it belongs to the account that was claimed first", () =>
    Effect.gen(function* () {
      const first = accountAtAlpha("first", { sending: "silent" })
      const { database, node } = yield* routedTo([first])
      yield* Effect.provideContext(
        Effect.gen(function* () {
          yield* pay("one")
          yield* (yield* SqlClient.SqlClient)`UPDATE transactions SET record = (record::jsonb - 'account')::json`
        }),
        node
      )
      const second = accountAtAlpha("second")
      const swapped = yield* routedTo([second], undefined, database, ["first"])
      yield* Effect.gen(function* () {
        yield* hours
        expect((yield* told).transaction).toMatchObject({ status: "pending", notFound: 0 })
      }).pipe(Effect.provideContext(swapped.node))
      const kept = yield* routedTo([second, first], undefined, database, ["first"])
      yield* Effect.provideContext(hours, kept.node)
      expect((yield* Effect.provideContext(told, kept.node)).transaction).toMatchObject({ status: "successful" })
      expect(second.calls).toEqual([])
    })
  )
})

describe("a charge whose window passed while another account is in the settings", () => {
  it.effect("does not expire by the other account's answer, and is credited once its own can be asked", () =>
    Effect.gen(function* () {
      const first = accountAtAlpha("first", { sending: "silent" })
      const { database, node } = yield* routedTo([first])
      yield* Effect.provideContext(charge("one"), node)
      const second = accountAtAlpha("second")
      const swapped = yield* routedTo([second], undefined, database)
      yield* Effect.gen(function* () {
        yield* hours
        expect((yield* told).transaction).toMatchObject({ kind: "collection", status: "pending" })
      }).pipe(Effect.provideContext(swapped.node))
      const kept = yield* routedTo([second, first], undefined, database)
      yield* Effect.gen(function* () {
        yield* hours
        expect((yield* told).transaction).toMatchObject({ status: "successful" })
        expect(yield* floatNow).toEqual([FLOAT + 50_000n, 0n])
      }).pipe(Effect.provideContext(kept.node))
    })
  )
})

describe("a payout that fails over", () => {
  it.effect("keeps the account of the provider that takes it over", () =>
    Effect.gen(function* () {
      const alpha = accountAtAlpha("first", { sending: "never sent" })
      const beta = fakeProvider("beta", { sending: "silent" }, [], "at beta")
      const { node } = yield* routedTo([alpha, beta])
      yield* Effect.gen(function* () {
        yield* pay("one")
        expect((yield* told).transaction).toMatchObject({ provider: "beta", account: "at beta" })
      }).pipe(Effect.provideContext(node))
    })
  )
})

describe("the account before, while it is still set", () => {
  it.effect("is compared with what was sent with it, and its wallets are in the pool", () =>
    Effect.gen(function* () {
      const [first, second] = [accountAtAlpha("first", { sending: "silent" }), accountAtAlpha("second")]
      const { database, node } = yield* routedTo([first])
      yield* Effect.provideContext(pay("one"), node)
      const swapped = yield* routedTo([second, first], undefined, database)
      yield* Effect.gen(function* () {
        yield* pay("two")
        const { reconcile } = yield* Reconciliation
        const day = iso(yield* Clock.currentTimeMillis).slice(0, 10)
        const compared = yield* reconcile("alpha", Date.parse(day), day)
        // Ours of both are open still, and each account has executed its own.
        expect(compared.differences).toEqual([])
        expect(compared.known.map(({ account, kind, theirs }) => [account, kind, theirs?.split(" ")[0]]).sort()).toEqual([
          ["current", "state", "successful"],
          ["previous", "state", "successful"]
        ])
        expect(first.calls.filter((call) => call === "ask")).toHaveLength(1)
        const balances = yield* (yield* ReferenceData).balances(caller)
        expect(balances.map(({ currency, provider }) => [provider, currency])).toEqual([
          ["alpha", "UGX"],
          ["alpha", "UGX"]
        ])
        expect([first, second].map(({ calls }) => calls.filter((call) => call === "balances").length)).toEqual([1, 1])
      }).pipe(
        Effect.provide(Layer.provide(Reconciliation.layer, fakeProviderRegistry([second, first]))),
        Effect.provideContext(swapped.node)
      )
    })
  )
})
