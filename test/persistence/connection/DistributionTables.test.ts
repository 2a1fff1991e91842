import { expect, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { coordinatorTables, tenantTables } from "../../../src/persistence/connection/DistributedTables.ts"
import { Database } from "../../../src/persistence/Database.ts"
import { Distribute } from "../../../src/persistence/schema/Distribute.ts"
import { givenDatabase } from "../../support/TestDatabase.ts"

const onDatabase = <A, E>(test: Effect.Effect<A, E, SqlClient.SqlClient>) =>
  test.pipe(
    Effect.provide(Layer.unwrap(Effect.map(givenDatabase, (url) => Database.layer({ url }))), { local: true }),
    Effect.scoped
  )

it.live(
  "every table is said to be divided by tenant or to stay on the coordinator, and every unique key of a divided one holds the tenant",
  () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const tables = yield* sql<{ name: string; keysHoldTenant: boolean }>`
      SELECT c.relname AS name, NOT EXISTS (
        SELECT FROM pg_index i WHERE i.indrelid = c.oid AND i.indisunique AND NOT EXISTS (
          SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = 'app_id' AND a.attnum = ANY (i.indkey))) AS "keysHoldTenant"
      FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition`
      expect(tables.map(({ name }) => name).sort()).toStrictEqual([...tenantTables, ...Object.keys(coordinatorTables)].sort())
      const divided = new Set<string>(tenantTables)
      expect(tables.filter(({ keysHoldTenant, name }) => divided.has(name) && !keysHoldTenant)).toStrictEqual([])
    }).pipe(onDatabase)
)

it.live("a database that is no coordinator of a cluster is not distributed, and one line says why", () =>
  Effect.gen(function* () {
    const { message } = yield* Effect.flip(Distribute.run)
    expect(message).toBe("the database has no extension citus: run CREATE EXTENSION citus on every server first")
  }).pipe(onDatabase)
)
