import { expect, it } from "@effect/vitest"
import { Context, Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Database } from "../../../src/persistence/Database.ts"
import { Migrations } from "../../../src/persistence/schema/Migrations.ts"
import { recordText } from "../../../src/persistence/transactions/StoredRecord.ts"
import { freshDatabase } from "../../support/Postgres.ts"
import { exchange } from "../../support/ReviewCases.ts"
import { collection, payout } from "../../support/SampleTransactions.ts"
import { givenDatabase, givenNode } from "../../support/TestDatabase.ts"

const NAME = "0019_metadata_members"
/** More than two batches of the migration. */
const RECORDS = 450

const releaseBefore = Migrations.all.filter(({ name }) => name < NAME)

it.live("records that were there before 0019 are found by their metadata after it, in every batch, and exchanges are not", () =>
  Effect.gen(function* () {
    const { url } = yield* Effect.promise(() => freshDatabase())
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Migrations.apply(releaseBefore)
      const metadata = JSON.stringify({ order: "A-1", n: 5, paid: true, none: null, list: [1], of: { a: 1 } })
      const inserted = (record: string, from: number, to: number) => sql`
        INSERT INTO transactions (app_id, reference, mode, kind, status, needs_review, provider, revision, record, created_at)
        SELECT 'acme', 'R' || lpad(n::text, 25, '0'), 'live', ${record.includes('"exchange"') ? "exchange" : "payout"}, 'pending', false, 'eversend', 1,
          ${record}::json, now() - n * interval '1 second' FROM generate_series(${from}::int, ${to}::int) n`
      yield* inserted(recordText(payout({ metadata })), 1, RECORDS)
      yield* inserted(recordText(payout({ metadata: "{}" })), RECORDS + 1, RECORDS + 1)
      yield* inserted(recordText(exchange({ metadata })), RECORDS + 2, RECORDS + 2)
      yield* Database.migrate
      const found = (name: string, value: string) => sql`
        SELECT count(*)::int AS count, count(*) FILTER (WHERE m.created_at = t.created_at)::int AS placed
        FROM metadata_members m LEFT JOIN transactions t ON t.app_id = m.app_id AND t.reference = m.reference AND t.mode = m.mode
        WHERE m.app_id = 'acme' AND m.mode = 'live' AND m.member = metadata_member(${name}, ${value})`
      for (const [name, value] of [
        ["order", "A-1"],
        ["n", "5"],
        ["paid", "true"]
      ] as const)
        expect(yield* found(name, value)).toEqual([{ count: RECORDS, placed: RECORDS }])
      expect(yield* sql`SELECT count(*)::int AS count FROM metadata_members`).toEqual([{ count: 3 * RECORDS }])
    }).pipe(Effect.provide(Database.layer({ url: Redacted.make(url) })))
  }).pipe(Effect.scoped)
)

it.effect(
  "what a tenant's metadata says of a kind or a refund is a member like others, and makes no exchange and no refund of the record",
  () =>
    Effect.gen(function* () {
      const sql = Context.get(yield* givenNode(yield* givenDatabase), SqlClient.SqlClient)
      const metadata = JSON.stringify({ kind: "exchange", refundOf: "R1", say: '"refundOf":"R2"' })
      for (const text of [recordText(payout({ metadata })), recordText(collection({ metadata }))]) {
        expect(
          yield* sql`SELECT (SELECT count(*)::int FROM metadata_members_of(${text}::json)) AS count,
          metadata_member('kind', 'exchange') IN (SELECT metadata_members_of(${text}::json)) AS found,
          metadata_member('', 'R1') IN (SELECT metadata_members_of(${text}::json)) AS refunds`
        ).toEqual([{ count: 3, found: true, refunds: false }])
      }
    }).pipe(Effect.scoped)
)
