import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { appId, given, openOne } from "../support/LedgerSteps.ts"
import { masterKey } from "../support/TestDatabase.ts"
import { gateway } from "./Gateway.ts"

/** The id of the callback of this number. */
const idOf = (n: number) => `2${String(n).padStart(25, "0")}`

it.live("inbox close-unmatched closes the junk of one account at once, and keeps what is about a transaction of ours", () =>
  Effect.gen(function* () {
    const { node, url } = yield* given(10_000n)
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* openOne(appId, "key", 1_000n)
      const [ours] = yield* sql<{ reference: string; mode: string }>`UPDATE transactions SET provider = 'eversend',
        record = jsonb_set(record::jsonb, '{provider}', '"eversend"')::json RETURNING reference, mode`
      const mode = ours?.mode ?? ""
      // More than one page; the first is another account's, the second came later, and the third is about a transaction of ours, as is the
      // fourth, of an account that the payment was sent to before it went to another provider.
      yield* sql`INSERT INTO provider_inbox (id, provider, mode, digest, received_at, reference, provider_reference, status)
        SELECT '2' || lpad(n::text, 25, '0'), CASE WHEN n IN (1, 4) THEN 'mtn' ELSE 'eversend' END, ${mode}, sha256(n::text::bytea),
          now() - CASE WHEN n = 2 THEN interval '1 minute' ELSE interval '2 hours' END,
          CASE WHEN n IN (3, 4) THEN ${ours?.reference ?? ""}::text END, 'nobody', 'parked' FROM generate_series(1, 505) n`
      const before = new Date(Date.now() - 3_600_000).toISOString()
      const variables = { DATABASE_URL: Redacted.value(url), MASTER_KEY: Redacted.value(masterKey) }
      const close = (provider: string, ...more: ReadonlyArray<string>) =>
        Effect.map(
          gateway(
            variables,
            "inbox",
            "close-unmatched",
            provider,
            "--mode",
            mode,
            "--before",
            before,
            "--reason",
            "junk",
            ...more,
            "--json"
          ),
          ({ errors, output }): unknown => (output === "" ? errors : JSON.parse(output))
        )
      const found = { parked: 502, unmatched: 501, kept: 1 }
      expect(yield* close("eversend", "--dry-run")).toMatchObject({ dry_run: true, closed: 0, ...found })
      expect(yield* close("eversend")).toMatchObject({ dry_run: false, closed: 501, ...found })
      const left = yield* sql<{ id: string }>`SELECT id FROM provider_inbox WHERE status = 'parked' ORDER BY id`
      expect(left.map(({ id }) => id)).toEqual([1, 2, 3, 4].map(idOf))
      expect(yield* close("mtn", "--dry-run")).toMatchObject({ parked: 2, unmatched: 1, kept: 1 })
      const rows = yield* sql<{
        details: string
      }>`SELECT details FROM audit_log WHERE action = 'inbox close-unmatched' ORDER BY sequence`
      expect(rows.map(({ details }) => JSON.parse(details))).toMatchObject([
        { mode, reason: "junk", callbacks: "499" },
        { mode, reason: "junk", callbacks: "2" }
      ])
    }).pipe(Effect.provideContext(node))
  }).pipe(Effect.scoped)
)
