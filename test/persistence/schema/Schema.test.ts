import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { Database } from "../../../src/persistence/Database.ts"
import { givenDatabase } from "../../support/TestDatabase.ts"

it.live("no index of transactions has a column that a step changes, so that every step changes its record in place", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const columns = sql<{ name: string }>`
      SELECT DISTINCT a.attname AS name FROM pg_index i
      JOIN pg_depend d ON d.objid = i.indexrelid AND d.refobjid = i.indrelid AND d.refobjsubid > 0
        OR d.objid = (SELECT c.oid FROM pg_constraint c WHERE c.conindid = i.indexrelid AND c.contype = 'p') AND d.refobjid = i.indrelid AND d.refobjsubid > 0
      JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = d.refobjsubid
      WHERE i.indrelid = 'transactions'::regclass ORDER BY 1`
    // The hashes are written once and, after 90 days, removed; no step changes them.
    expect((yield* columns).map(({ name }) => name)).toStrictEqual([
      "account_hash",
      "app_id",
      "created_at",
      "kind",
      "mode",
      "party_hash",
      "reference"
    ])
  }).pipe(
    Effect.provide(Layer.unwrap(Effect.map(givenDatabase, (url) => Database.layer({ url }))), { local: true }),
    Effect.scoped
  )
)

it.live("a record is found by its key and not in its tenant's list, while its table is young", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    yield* sql`INSERT INTO transactions (app_id, reference, mode, kind, status, needs_review, provider, revision, record, created_at)
      SELECT 'acme', n::text, 'live', 'payout', 'failed', false, 'eversend', 1, '{}', to_timestamp(n) FROM generate_series(1, 5) AS n`
    yield* sql`SET enable_seqscan = off`
    const plan = sql<{
      "QUERY PLAN": string
    }>`EXPLAIN SELECT record FROM transactions WHERE app_id = 'acme' AND mode = 'live' AND reference = '3'`
    expect((yield* plan).map((row) => row["QUERY PLAN"]).join()).toContain("transactions_pkey")
  }).pipe(
    (effect) => Effect.flatMap(SqlClient.SqlClient, (sql) => sql.withTransaction(effect)),
    Effect.provide(Layer.unwrap(Effect.map(givenDatabase, (url) => Database.layer({ url }))), { local: true }),
    Effect.scoped
  )
)

it.live("every unique key of a tenant's table begins with the tenant, except those that are looked up without it", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const keys = sql<{ name: string }>`
      SELECT i.indexrelid::regclass::text AS name
      FROM pg_index i JOIN pg_attribute t ON t.attrelid = i.indrelid AND t.attname = 'app_id'
      WHERE i.indisunique AND i.indrelid::regclass::text NOT LIKE 'pg\\_%' AND i.indkey[0] <> t.attnum ORDER BY 1`
    expect(yield* keys).toStrictEqual([
      { name: "counters_pkey" },
      { name: "provider_references_pkey" },
      { name: "transactions_pkey" }
    ])
  }).pipe(
    Effect.provide(Layer.unwrap(Effect.map(givenDatabase, (url) => Database.layer({ url }))), { local: true }),
    Effect.scoped
  )
)
