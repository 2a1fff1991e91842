import { expect, it } from "@effect/vitest"
import { Effect, Exit, Option } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Transactions } from "../../../src/services/ports/Transactions.ts"
import { accountRecords } from "../../../src/services/settlement/AccountRecords.ts"
import { fakeProvider } from "../../fakes/FakeProvider.ts"
import { pay } from "../../support/PaymentRequests.ts"
import { onlyRecord, records, routedTo } from "../../support/RoutedGateway.ts"

const DAY_MS = 86_400_000

it.effect("a day's movements are those from its first millisecond to before the next day's first", () =>
  Effect.gen(function* () {
    const { node } = yield* routedTo([fakeProvider("alpha")])
    yield* Effect.gen(function* () {
      const { createdBetween } = yield* Transactions
      const begunOn = (day: number) => {
        const span = { provider: "alpha", mode: "live", from: day * DAY_MS, to: (day + 1) * DAY_MS } as const
        return Effect.map(createdBetween(span, null, 10), (all) => all.map(({ reference }) => reference))
      }
      yield* TestClock.setTime(DAY_MS - 1)
      expect(yield* pay("last of a day")).toBe("pending")
      const last = (yield* onlyRecord).transaction.reference
      yield* TestClock.setTime(DAY_MS)
      expect(yield* pay("first of the next")).toBe("pending")
      const [, first] = (yield* records).map(({ transaction }) => transaction.reference)
      expect([yield* begunOn(0), yield* begunOn(1)]).toStrictEqual([[last], [first]])
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped)
)

// Issue 38, what two readers found, 6.
it.effect("a reference that a provider gave out for two movements names both, and each account and kind finds its own", () =>
  Effect.gen(function* () {
    const { node } = yield* routedTo([fakeProvider("alpha")])
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const transactions = yield* Transactions
      for (const [at, key] of ["one", "two"].entries()) {
        yield* TestClock.setTime(at)
        expect(yield* pay(key)).toBe("pending")
      }
      const [one, two] = (yield* records).map(({ transaction }) => transaction)
      if (one === undefined || two === undefined) return yield* Effect.die("two were paid")
      yield* sql`UPDATE transactions SET provider_reference = 'T1', record = (record::jsonb ||
        '{"providerReference":"T1"}'::jsonb || (CASE reference WHEN ${one.reference} THEN '{"account":"before"}' ELSE '{"account":"now"}' END)::jsonb)::json`
      yield* sql`INSERT INTO provider_references (provider, mode, provider_reference, app_id, reference)
        SELECT provider, mode, 'T1', app_id, reference FROM transactions`
      const named = yield* transactions.byProviderReference("alpha", "live", "T1")
      expect(named.map(({ transaction }) => transaction.reference)).toStrictEqual([one.reference, two.reference])
      const account = { ...fakeProvider("alpha").provider("live"), fingerprints: () => ["now"] }
      const { oursOf } = accountRecords({ accounts: () => [account], claimed: () => [] }, transactions)
      const row = { direction: "payout", reference: null, providerReference: "T1" } as const
      expect(Option.map(yield* oursOf(account, row), ({ reference }) => reference)).toStrictEqual(Option.some(two.reference))
      expect(yield* oursOf(account, { ...row, direction: "collection" })).toStrictEqual(Option.none())
      // One that cannot be read hides no other; where none can be, nobody says that it is nobody's.
      const damage = (reference: string) =>
        sql`UPDATE transactions SET record = (record::jsonb - 'principal')::json WHERE reference = ${reference}`
      yield* damage(one.reference)
      const readable = yield* transactions.byProviderReference("alpha", "live", "T1")
      expect(readable.map(({ transaction }) => transaction.reference)).toStrictEqual([two.reference])
      yield* damage(two.reference)
      expect(Exit.hasDies(yield* Effect.exit(transactions.byProviderReference("alpha", "live", "T1")))).toBe(true)
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped)
)
