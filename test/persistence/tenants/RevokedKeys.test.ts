import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { Database } from "../../../src/persistence/Database.ts"
import { functionFiles } from "../../../src/persistence/schema/FunctionFiles.ts"
import { Migrations } from "../../../src/persistence/schema/Migrations.ts"
import { freshDatabase } from "../../support/Postgres.ts"

it.live("no key that was revoked before 0026 keeps its secret, however many there are", () =>
  Effect.gen(function* () {
    const { url } = yield* Effect.promise(() => freshDatabase())
    yield* Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      yield* Migrations.apply(
        Migrations.all.filter(({ name }) => name < "0026"),
        functionFiles
      )
      yield* sql`INSERT INTO tenants (app_id, status, capabilities, created_at) VALUES ('acme', 'active', '{}', now())`
      yield* sql`INSERT INTO api_keys (app_id, key_id, mode, role, api_key_hash, signing_secret_sealed, created_at, revoked_at)
        SELECT 'acme', 'k' || n, 'live', 'tenant', sha256('k'), 'sealed', now(), CASE WHEN n > 100 THEN now() END FROM generate_series(1, 1300) AS n`
      yield* Database.migrate
      expect(
        yield* sql`SELECT count(*)::int AS keys, octet_length(signing_secret_sealed) AS secret, revoked_at IS NOT NULL AS "isRevoked"
        FROM api_keys GROUP BY 2, 3 ORDER BY 1`
      ).toEqual([
        { keys: 100, secret: 6, isRevoked: false },
        { keys: 1200, secret: 0, isRevoked: true }
      ])
      expect(yield* sql`SELECT count(*)::int AS keys FROM revoked_keys`).toEqual([{ keys: 1200 }])
    }).pipe(Effect.provide(Database.layer({ url: Redacted.make(url) })))
  }).pipe(Effect.scoped)
)
