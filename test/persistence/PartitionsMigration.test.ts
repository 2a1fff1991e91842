import { it } from "@effect/vitest"
import { Effect, Exit, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { expect } from "vitest"
import { Database } from "../../src/persistence/Database.ts"
import { Migrations } from "../../src/persistence/Migrations.ts"
import { freshDatabase } from "../support/Postgres.ts"

const place = Migrations.all.findIndex(({ name }) => name === "0012_partitions")
const before = Migrations.all.slice(0, place)

/** What the release before wrote, in the words of its own statements. */
const written = (at: string) => `
  INSERT INTO journal (app_id, reference, slot, mode, phase, at)
    SELECT 'acme', 'R' || n, 'open', 'live', 'reserve', ${at}::timestamptz + n * interval '1 day' FROM generate_series(1, 100) n;
  INSERT INTO postings (app_id, reference, slot, currency, account, mode, amount_minor)
    SELECT 'acme', 'R' || n, 'open', 'UGX', account, 'live', amount
    FROM generate_series(1, 100) n, (VALUES ('available', -5), ('reserved', 5)) AS line(account, amount);
  INSERT INTO transaction_history (app_id, reference, at, actor, fact, note, status)
    SELECT app_id, reference, at, 'request', 'Opened', '', 'pending' FROM journal;
  WITH told AS (
    INSERT INTO events (app_id, id, mode, type, reference, body, created_at)
    SELECT app_id, 'E' || reference, mode, 'payout.pending', reference, '{}', at FROM journal RETURNING *
  )
  INSERT INTO deliveries (app_id, id, mode, event_id, status, next_attempt_at, created_at)
    SELECT app_id, id, mode, id, 'due', created_at, created_at FROM told;
  INSERT INTO delivery_attempts (app_id, delivery_id, at, duration_ms, status, excerpt)
    SELECT app_id, id, created_at, 5, 500, 'no' FROM deliveries;`

/** Every row, as a text of its columns; without the one that is new. */
const rows = `
  SELECT 'postings' AS name, count(*)::int AS count, md5(string_agg(to_jsonb(t) - 'at' #>> '{}', ',' ORDER BY (to_jsonb(t) - 'at')::text)) AS hash FROM postings t
  UNION ALL SELECT 'transaction_history', count(*)::int, md5(string_agg(t::text, ',' ORDER BY t.line)) FROM transaction_history t
  UNION ALL SELECT 'events', count(*)::int, md5(string_agg(t::text, ',' ORDER BY t.id)) FROM events t
  UNION ALL SELECT 'deliveries', count(*)::int, md5(string_agg(t::text, ',' ORDER BY t.id)) FROM deliveries t
  UNION ALL SELECT 'delivery_attempts', count(*)::int, md5(string_agg(t::text, ',' ORDER BY t.line)) FROM delivery_attempts t`
const indexes = `
  SELECT c.relname AS name, pg_get_expr(i.indpred, i.indrelid) AS predicate FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  JOIN pg_class t ON t.oid = i.indrelid
  WHERE t.relname IN ('postings', 'transaction_history', 'events', 'deliveries', 'delivery_attempts') ORDER BY 1`
const refused = [
  "INSERT INTO postings (app_id, reference, slot, currency, account, mode, amount_minor) VALUES ('acme', 'R', 'open', 'UGX', 'nothing', 'live', 1)",
  "INSERT INTO postings (app_id, reference, slot, currency, account, mode, amount_minor) VALUES ('acme', 'R', 'open', 'UGX', 'pool', 'live', 0)",
  "UPDATE deliveries SET next_attempt_at = NULL WHERE id = 'ER1'",
  "UPDATE deliveries SET status = 'lost' WHERE id = 'ER1'",
  "INSERT INTO events (app_id, id, mode, type, body, created_at) SELECT app_id, id, mode, type, body, created_at FROM events WHERE id = 'ER1'",
  "INSERT INTO delivery_attempts (line, app_id, delivery_id, at, duration_ms, excerpt) VALUES (1, 'acme', 'ER1', now(), 1, '')"
]

it.live("keeps every row, index, check and number when the tables of a used database become partitioned", () =>
  Effect.gen(function* () {
    const { url } = yield* Effect.promise(() => freshDatabase())
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const run = (text: string) => sql.unsafe(`DO $test$ BEGIN ${text} END $test$`)
      yield* Migrations.apply(before)
      yield* run(written("'2025-11-20'"))
      const was = { rows: yield* sql.unsafe(rows), indexes: yield* sql.unsafe(indexes) }
      expect(yield* Migrations.apply(Migrations.all.slice(0, place + 1))).toContain("0012_partitions")
      expect({ rows: yield* sql.unsafe(rows), indexes: yield* sql.unsafe(indexes) }).toEqual(was)
      expect(
        yield* sql`SELECT count(*)::int AS count FROM postings p JOIN journal j USING (app_id, reference, slot) WHERE p.at = j.at`
      ).toEqual([{ count: 200 }])
      for (const statement of refused) expect(Exit.isFailure(yield* Effect.exit(sql.unsafe(statement))), statement).toBe(true)
      // A node of the release before, which still runs, writes on.
      yield* run(
        written("now()")
          .replaceAll("'R'", "'S'")
          .replaceAll("'E'", "'F'")
          .replace("FROM journal;", "FROM journal WHERE reference LIKE 'S%';")
      )
      expect(yield* sql`SELECT min(line)::int AS first FROM transaction_history WHERE reference LIKE 'S%'`).toEqual([
        { first: 101 }
      ])
    }).pipe(Effect.provide(Database.layer({ url: Redacted.make(url) })))
  })
)
