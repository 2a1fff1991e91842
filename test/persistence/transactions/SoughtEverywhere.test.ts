import { expect, it } from "@effect/vitest"
import { Clock, Context, Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { AppId, Reference } from "../../../src/domain/Ids.ts"
import { recordText } from "../../../src/persistence/transactions/StoredRecord.ts"
import { TransactionsPg } from "../../../src/persistence/transactions/TransactionsPg.ts"
import { type SoughtRecords, Transactions } from "../../../src/services/ports/Transactions.ts"
import { collection, NOON, payout } from "../../support/SampleTransactions.ts"
import { givenDatabase, givenNode } from "../../support/TestDatabase.ts"

/** More than are looked at by one statement. */
const TENANTS = 1_100
const HASH = new Uint8Array(32).fill(7)
const tenantOf = (n: number) => AppId.make(`t${`${n}`.padStart(4, "0")}`)
const referenceOf = (n: number) => Reference.make(`R${`${n}`.padStart(25, "0")}`)
const member: SoughtRecords = { _tag: "metadata", members: [{ key: "order", value: "C-1041" }] }

/** Each time that is asked for is so much later. */
const goingOn = (clock: Clock.Clock, eachMs: number): Clock.Clock => {
  let now = NOON
  const next = () => {
    now += eachMs
    return now
  }
  return Object.assign(Object.create(clock), { currentTimeMillis: Effect.sync(next) })
}

const given = Effect.gen(function* () {
  const node = yield* givenNode(yield* givenDatabase)
  const sql = Context.get(node, SqlClient.SqlClient)
  yield* sql`INSERT INTO tenants (app_id, status, capabilities, created_at)
    SELECT 't' || lpad(n::text, 4, '0'), 'active', '{}', now() FROM generate_series(1, ${TENANTS}::int) AS n`
  /** A record of one tenant, with what it is found by. */
  const stored = Effect.fnUntraced(function* (
    n: number,
    of: "live" | "test",
    record: ReturnType<typeof payout | typeof collection>,
    id = n
  ) {
    const text = recordText({ ...record, appId: tenantOf(n), reference: referenceOf(id), mode: of, createdAt: NOON + id })
    yield* sql`INSERT INTO transactions (app_id, reference, mode, kind, status, needs_review, provider, revision, record, created_at, party_hash, account_hash)
      VALUES (${tenantOf(n)}, ${referenceOf(id)}, ${of}, ${record.kind}, ${record.status}, false, 'eversend', 1, ${text}::json,
        to_timestamp(${NOON + id}::float8 / 1000), ${n < 1_060 ? HASH : null}, ${n < 1_060 ? HASH : null})`
    yield* sql`INSERT INTO metadata_members (app_id, mode, member, created_at, reference)
      SELECT ${tenantOf(n)}, ${of}, m, to_timestamp(${NOON + id}::float8 / 1000), ${referenceOf(id)} FROM (
        SELECT metadata_members_of(${text}::json) AS m UNION SELECT receipt_member(${text}::json)) AS all_of_them WHERE m IS NOT NULL`
  })
  const metadata = JSON.stringify({ order: "C-1041" })
  yield* stored(3, "live", payout({ metadata, providerReceipt: "MP251129.1404" }))
  yield* stored(700, "test", collection({ metadata }))
  yield* stored(1_050, "live", payout({ metadata: JSON.stringify({ order: "C-1042" }) }))
  yield* stored(
    1_060,
    "live",
    payout({ metadata: '{"note":"C-1","order_id":12345678901234567890,"copy":"12345678901234567890"}' })
  )
  // One member of many has the value that every record has.
  for (let n = 1; n <= 12; n++)
    yield* stored(1_070, "live", payout({ metadata: JSON.stringify({ country: "UG", cart: `K-${n}` }) }), 2_000 + n)
  // Twenty names in each of three payments.
  for (const [at, letter] of ["y", "z", "x"].entries()) {
    const names = Array.from({ length: 20 }, (_, n) => [`${letter}${n}`, `${letter.toUpperCase()}-${n}`])
    yield* stored(1_080, "live", payout({ metadata: JSON.stringify(Object.fromEntries(names)) }), 3_000 + at)
  }
  yield* sql`INSERT INTO idempotency_keys (app_id, mode, endpoint, key, fingerprint, state, lease_until, reference, created_at)
    VALUES (${tenantOf(700)}, 'test', 'POST /v1/collections', 'cart-9', '\\x00', 'pinned', now(), ${referenceOf(700)}, now()),
      (${tenantOf(3)}, 'live', 'POST /v1/fx/exchange', 'cart-9', '\\x00', 'pinned', now(), ${referenceOf(3)}, now())`
  const { sought: soughtOf, soughtEverywhere } = Context.get(
    yield* Effect.provideContext(Layer.build(TransactionsPg), node),
    Transactions
  )
  const foundBy = (...[terms, page]: Parameters<typeof soughtEverywhere>) =>
    Effect.map(soughtEverywhere(terms, page), (answer) => ({
      references: answer?.items.map(({ reference }) => reference),
      olderThan: answer?.olderThan,
      isWhole: answer?.isWhole
    }))
  const found = (sought: SoughtRecords, mode: "live" | "test" | null = null, before: number | null = null, limit = 9) =>
    foundBy([sought], { mode, before, limit })
  /** By several terms at once. */
  const foundByAny = (...terms: ReadonlyArray<SoughtRecords>) => foundBy(terms, { mode: null, before: null, limit: 9 })
  /** The same of one tenant. */
  const foundOf = (n: number, mode: "live" | "test", sought: SoughtRecords) =>
    Effect.map(soughtOf({ appId: tenantOf(n), mode }, sought, { limit: 9, from: null }), ({ items }) =>
      items.map(({ reference }) => reference)
    )
  return { found, foundByAny, foundOf }
})

it.effect(
  "what a customer says is found in every tenant and mode: a member of metadata, a receipt, a number and an account",
  () =>
    Effect.gen(function* () {
      const { found } = yield* given
      const whole = { olderThan: null, isWhole: true }
      const all = [3, 700, 1_050].map(referenceOf)
      expect(yield* found(member)).toEqual({ ...whole, references: [referenceOf(3), referenceOf(700)] })
      expect(yield* found(member, "test")).toEqual({ ...whole, references: [referenceOf(700)] })
      expect(yield* found({ _tag: "receipt", identity: "MP2511291404" })).toEqual({ ...whole, references: [referenceOf(3)] })
      for (const _tag of ["party", "account"] as const)
        expect(yield* found({ _tag, hashes: [HASH] })).toEqual({ ...whole, references: all })
      expect(yield* found({ _tag: "metadata", members: [{ key: "order", value: "C-1" }] })).toEqual({ ...whole, references: [] })
    })
)

it.effect(
  "a tenant's own id is found without its name: the value of any member of metadata, once, and the key of a payment",
  () =>
    Effect.gen(function* () {
      const { found, foundOf } = yield* given
      const whole = (...ids: ReadonlyArray<number>) => ({ olderThan: null, isWhole: true, references: ids.map(referenceOf) })
      const value = (text: string) => ({ _tag: "value", value: text }) as const
      expect(yield* found(value("C-1041"))).toEqual(whole(3, 700))
      expect(yield* found(value("12345678901234567890"))).toEqual(whole(1_060))
      expect(yield* found(value("K-1"))).toEqual(whole(2_001))
      expect(yield* found(value("C-10"))).toEqual(whole())
      expect(yield* foundOf(1_060, "live", value("12345678901234567890"))).toEqual([referenceOf(1_060)])
      expect(yield* foundOf(1_060, "test", value("C-1"))).toEqual([])
      expect(yield* foundOf(1_070, "live", value("UG"))).toEqual(Array.from({ length: 9 }, (_, at) => referenceOf(2_012 - at)))
      const key = { _tag: "key", key: "cart-9" } as const
      expect(yield* found(key)).toEqual(whole(700))
      expect([yield* foundOf(700, "test", key), yield* foundOf(700, "live", key), yield* foundOf(3, "live", key)]).toEqual([
        [referenceOf(700)],
        [],
        []
      ])
    })
)

it.effect("of more names than are looked for, a tenant's own id is found by those that were used last", () =>
  Effect.gen(function* () {
    const { found, foundOf } = yield* given
    const foundByName = Effect.fnUntraced(function* (letter: string) {
      const ids = Array.from({ length: 20 }, (_, n) => ({ _tag: "value", value: `${letter}-${n}` }) as const)
      const all = yield* Effect.forEach(ids, (id) => Effect.all([found(id), foundOf(1_080, "live", id)]))
      return new Set(all.flatMap(([everywhere, own]) => [everywhere.references, own]).map((references) => references?.join()))
    })
    expect(yield* foundByName("X")).toEqual(new Set([referenceOf(3_002)]))
    expect(yield* foundByName("Z")).toEqual(new Set([referenceOf(3_001)]))
    expect(yield* foundByName("Y")).toEqual(new Set([""]))
  })
)

it.effect("a search of all tenants goes on before a moment", () =>
  Effect.gen(function* () {
    const { found } = yield* given
    const party: SoughtRecords = { _tag: "party", hashes: [HASH] }
    expect(yield* found(party, null, NOON + 700)).toEqual({ references: [referenceOf(3)], olderThan: null, isWhole: true })
    const whole = yield* found(party, "live", null, 1)
    expect(whole).toEqual({ references: [referenceOf(3), referenceOf(1_050)], olderThan: null, isWhole: true })
  })
)

it.effect("several terms are looked for together, and what takes longest only where the others find nothing", () =>
  Effect.gen(function* () {
    const { foundByAny } = yield* given
    const receipt = { _tag: "receipt", identity: "MP2511291404" } as const
    const noReceipt = { _tag: "receipt", identity: "MP0" } as const
    const key = { _tag: "key", key: "cart-9" } as const
    const order = { _tag: "value", value: "C-1041" } as const
    const answer = (isWhole: boolean, ...ids: ReadonlyArray<number>) => ({
      olderThan: null,
      isWhole,
      references: ids.map(referenceOf)
    })
    expect(yield* foundByAny(receipt, key)).toEqual(answer(true, 3, 700))
    expect(yield* foundByAny(order, receipt)).toEqual(answer(true, 3))
    expect(yield* foundByAny(noReceipt, order)).toEqual(answer(true, 3, 700))
    // A step of 500 tenants takes two of the three seconds, which are those of all terms.
    const slow = <A, E>(search: Effect.Effect<A, E>) =>
      Effect.flatMap(Clock.Clock, (clock) => Effect.provideService(search, Clock.Clock, goingOn(clock, 2_000)))
    expect(yield* slow(foundByAny(noReceipt, order))).toEqual(answer(false, 3))
    expect(yield* slow(foundByAny(order))).toEqual(answer(false, 3, 700))
    expect(yield* slow(foundByAny(receipt, key))).toEqual(answer(false, 3, 700))
  })
)
