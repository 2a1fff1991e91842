import { expect, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { AppId, Reference } from "../../../src/domain/Ids.ts"
import { minor } from "../../../src/domain/Money.ts"
import { recordText } from "../../../src/persistence/transactions/StoredRecord.ts"
import { TransactionsPg } from "../../../src/persistence/transactions/TransactionsPg.ts"
import { type ListPosition, type RecordFilter, Transactions } from "../../../src/services/ports/Transactions.ts"
import { collection, NOON, payout } from "../../support/SampleTransactions.ts"
import { givenDatabase, givenNode } from "../../support/TestDatabase.ts"

const referenceOf = (n: number) => Reference.make(`R${`${n}`.padStart(25, "0")}`)
const DAY_MS = 86_400_000

const everything: RecordFilter = {
  appId: null,
  mode: null,
  kind: null,
  status: null,
  provider: null,
  corridor: null,
  failure: null,
  currency: null,
  amountFrom: null,
  amountTo: null,
  partyEnd: null,
  needsReview: false,
  isUnknown: false,
  createdFrom: null,
  createdTo: null
}

const given = Effect.gen(function* () {
  const node = yield* givenNode(yield* givenDatabase)
  const sql = Context.get(node, SqlClient.SqlClient)
  const stored = Effect.fnUntraced(function* (
    n: number,
    record: ReturnType<typeof payout | typeof collection>,
    { at = NOON, fact = "Opened" }: { readonly at?: number; readonly fact?: string } = {}
  ) {
    const own = { ...record, appId: AppId.make("acme"), reference: referenceOf(n), createdAt: at }
    yield* sql`INSERT INTO transactions (app_id, reference, mode, kind, status, needs_review, provider, revision, record, created_at)
      VALUES (${own.appId}, ${own.reference}, ${own.mode}, ${own.kind}, ${own.status}, ${own.needsReview}, ${own.provider}, 2, ${recordText(own)}::json,
        to_timestamp(${at}::float8 / 1000))`
    for (const [revision, said] of [
      [1, "Unknown"],
      [2, fact]
    ] as const)
      yield* sql`INSERT INTO journal (app_id, reference, revision, mode, at, actor, fact, note, status, record_digest)
        VALUES (${own.appId}, ${own.reference}, ${revision}, ${own.mode}, to_timestamp(${at}::float8 / 1000), 'request', ${said}, '', ${own.status}, '')`
  })
  const { search } = Context.get(yield* Effect.provideContext(Layer.build(TransactionsPg), node), Transactions)
  const found = (filter: Partial<RecordFilter>) =>
    Effect.map(search({ ...everything, ...filter }, { limit: 20, from: null }), ({ items }) =>
      items.map(({ reference }) => Number(reference.slice(1)))
    )
  return { stored, search, found }
})

it.effect("an operator's list is narrowed by corridor, failure, amount, open work and the rest, of all tenants", () =>
  Effect.gen(function* () {
    const { found, stored } = yield* given
    const toKenya = { country: "KE", currency: "KES", direction: "payout", method: "bank" } as const
    yield* stored(1, payout(), { fact: "Unknown" })
    yield* stored(2, payout({ corridor: toKenya, amountCurrency: "KES", amount: minor(20_000n) }), { fact: "Accepted" })
    yield* stored(3, payout({ status: "failed", failure: { code: "provider_rejected", message: "no" } }), { fact: "NotFound" })
    yield* stored(4, collection({ provider: "mtn" }))
    const all: ReadonlyArray<readonly [Partial<RecordFilter>, ReadonlyArray<number>]> = [
      [{}, [4, 3, 2, 1]],
      [{ provider: "mtn" }, [4]],
      [{ corridor: { country: "UG" } }, [4, 3, 1]],
      [{ corridor: { country: "KE", currency: "KES", method: "bank" } }, [2]],
      [{ corridor: { country: "KE", currency: "KES", method: "momo" } }, []],
      [{ failure: "provider_rejected" }, [3]],
      [{ failure: "timed_out" }, []],
      [{ currency: "KES" }, [2]],
      [{ currency: "UGX", amountFrom: 10_000n, amountTo: 10_000n }, [3, 1]],
      [{ currency: "UGX", amountFrom: 10_001n }, [4]],
      // Only what is open, and of which the last word is none.
      [{ isUnknown: true }, [1]],
      [{ isUnknown: true, kind: "collection" }, []]
    ]
    for (const [filter, references] of all) expect([filter, yield* found(filter)]).toStrictEqual([filter, references])
  })
)

it.effect("each record is on exactly one page, also those of one millisecond, however far they are apart", () =>
  Effect.gen(function* () {
    const { search, stored } = yield* given
    for (const n of [1, 2, 3, 4, 5]) yield* stored(n, payout())
    yield* stored(6, payout(), { at: NOON - 30 * DAY_MS })
    yield* stored(7, payout(), { at: NOON + 1 })
    const pages: Array<ReadonlyArray<number>> = []
    let from: ListPosition | null = null
    do {
      const page: Effect.Success<ReturnType<typeof search>> = yield* search(everything, { limit: 2, from })
      pages.push(page.items.map(({ reference }) => Number(reference.slice(1))))
      from = page.next
    } while (from !== null && pages.length < 9)
    expect(pages).toStrictEqual([[7, 5], [4, 3], [2, 1], [6]])
  })
)
