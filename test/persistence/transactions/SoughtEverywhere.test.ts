import { expect, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
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

const given = Effect.gen(function* () {
  const node = yield* givenNode(yield* givenDatabase)
  const sql = Context.get(node, SqlClient.SqlClient)
  yield* sql`INSERT INTO tenants (app_id, status, capabilities, created_at)
    SELECT 't' || lpad(n::text, 4, '0'), 'active', '{}', now() FROM generate_series(1, ${TENANTS}::int) AS n`
  /** A record of one tenant, with what it is found by. */
  const stored = Effect.fnUntraced(function* (
    n: number,
    of: "live" | "test",
    record: ReturnType<typeof payout | typeof collection>
  ) {
    const text = recordText({ ...record, appId: tenantOf(n), reference: referenceOf(n), mode: of, createdAt: NOON + n })
    yield* sql`INSERT INTO transactions (app_id, reference, mode, kind, status, needs_review, provider, revision, record, created_at, party_hash, account_hash)
      VALUES (${tenantOf(n)}, ${referenceOf(n)}, ${of}, ${record.kind}, ${record.status}, false, 'eversend', 1, ${text}::json,
        to_timestamp(${NOON + n}::float8 / 1000), ${HASH}, ${HASH})`
    yield* sql`INSERT INTO metadata_members (app_id, mode, member, created_at, reference)
      SELECT ${tenantOf(n)}, ${of}, m, to_timestamp(${NOON + n}::float8 / 1000), ${referenceOf(n)} FROM (
        SELECT metadata_members_of(${text}::json) AS m UNION SELECT receipt_member(${text}::json)) AS all_of_them WHERE m IS NOT NULL`
  })
  const metadata = JSON.stringify({ order: "C-1041" })
  yield* stored(3, "live", payout({ metadata, providerReceipt: "MP251129.1404" }))
  yield* stored(700, "test", collection({ metadata }))
  yield* stored(1_050, "live", payout({ metadata: JSON.stringify({ order: "C-1042" }) }))
  const { soughtEverywhere } = Context.get(yield* Effect.provideContext(Layer.build(TransactionsPg), node), Transactions)
  const found = (sought: SoughtRecords, mode: "live" | "test" | null = null, before: number | null = null, limit = 9) =>
    Effect.map(soughtEverywhere(sought, { mode, before, limit }), (page) => ({
      references: page?.items.map(({ reference }) => reference),
      olderThan: page?.olderThan,
      isWhole: page?.isWhole
    }))
  return { found }
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

it.effect("a search of all tenants goes on before a moment", () =>
  Effect.gen(function* () {
    const { found } = yield* given
    const party: SoughtRecords = { _tag: "party", hashes: [HASH] }
    expect(yield* found(party, null, NOON + 700)).toEqual({ references: [referenceOf(3)], olderThan: null, isWhole: true })
    const whole = yield* found(party, "live", null, 1)
    expect(whole).toEqual({ references: [referenceOf(3), referenceOf(1_050)], olderThan: null, isWhole: true })
  })
)
