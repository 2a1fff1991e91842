import { expect, it, layer } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { Database } from "../../src/persistence/Database.ts"
import { functionFiles } from "../../src/persistence/schema/FunctionFiles.ts"
import { isOfBase, type MigrationStep, type SteppedMigration } from "../../src/persistence/schema/Migration.ts"
import { Migrations } from "../../src/persistence/schema/Migrations.ts"
import { freshDatabase } from "../../test/support/Postgres.ts"
import { givenDatabase } from "../../test/support/TestDatabase.ts"
import { troubles } from "./ExpandOnly.ts"

const of = (...steps: ReadonlyArray<MigrationStep | string>): SteppedMigration => ({
  name: "9999_next",
  steps: steps.map((step) => (typeof step === "string" ? { form: "transaction", sql: step } : step))
})
const check = "ALTER TABLE tenants ADD CONSTRAINT short CHECK (length(app_id) < 999) NOT VALID"

/** What the release before can live with. */
const expand: ReadonlyArray<SteppedMigration> = [
  of("ALTER TABLE tenants ADD COLUMN note text", "ALTER TABLE journal ADD COLUMN weight int NOT NULL DEFAULT 1"),
  of("CREATE TABLE notes (id int PRIMARY KEY, note text NOT NULL); CREATE INDEX notes_by_text ON notes (note)"),
  of({ form: "index", name: "typed", table: "events", definition: "(app_id, type)" }),
  of(check, { form: "validate", table: "tenants", constraint: "short" }),
  of(
    "ALTER TABLE operators DROP CONSTRAINT operators_role_check; ALTER TABLE operators ADD CONSTRAINT operators_role_check CHECK (role IN ('viewer', 'support', 'approver', 'admin', 'auditor')) NOT VALID",
    { form: "validate", table: "operators", constraint: "operators_role_check" }
  ),
  of(
    "CREATE OR REPLACE FUNCTION event_digest(id text, type text, body text) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$ SELECT ''::bytea $$"
  ),
  of("CREATE FUNCTION of_ours(n int) RETURNS int LANGUAGE sql AS $$ SELECT n $$"),
  of("ALTER TABLE tenants ADD COLUMN note text", {
    form: "batches",
    sql: "WITH b AS (UPDATE tenants SET note = '' WHERE app_id > $1 RETURNING app_id) SELECT max(app_id) AS reached FROM b"
  })
]

/** What it cannot, and why. */
const contract: ReadonlyArray<readonly [SteppedMigration, string]> = [
  [of("ALTER TABLE tenants ADD COLUMN note text NOT NULL"), "column tenants.note is in no row that the release before writes"],
  [of("ALTER TABLE tenants ADD COLUMN drawn float8 DEFAULT random()"), "table tenants is written anew, under a lock"],
  [of("ALTER TABLE tenants DROP COLUMN repeat_sales"), "column tenants.repeat_sales is taken away"],
  [of("ALTER TABLE tenants RENAME COLUMN repeat_sales TO repeats"), "column tenants.repeat_sales is taken away"],
  [of("ALTER TABLE payer_locks RENAME TO locks_of_payers"), "table payer_locks is taken away"],
  [
    of("ALTER TABLE charge_codes ALTER COLUMN wrong TYPE text[]"),
    "column charge_codes.wrong was bytea[] not null and becomes text[] not null"
  ],
  [of("ALTER TABLE open_work ALTER COLUMN lease_until SET NOT NULL"), "becomes timestamp with time zone not null"],
  [
    of(
      "ALTER TABLE operators DROP CONSTRAINT operators_role_check; ALTER TABLE operators ADD CONSTRAINT operators_role_check CHECK (role IN ('viewer', 'support', 'admin')) NOT VALID"
    ),
    "constraint operators.operators_role_check was CHECK"
  ],
  [
    of(check.replace(" NOT VALID", "")),
    "constraint tenants.short reads every row under a lock: NOT VALID, and a step that validates it"
  ],
  [of(check, "ALTER TABLE tenants VALIDATE CONSTRAINT short"), "constraint tenants.short reads every row under a lock"],
  [of("CREATE INDEX typed ON events (app_id, type)"), "index events.typed is built while nobody can write: a step of its own"],
  [of("DROP INDEX payer_locks_by_age"), "index payer_locks.payer_locks_by_age is taken away"],
  [of({ form: "drop", index: "payer_locks_by_age" }), "index payer_locks.payer_locks_by_age is taken away"],
  [
    of({ form: "index", name: "once", table: "tenants", definition: "(created_at)", unique: true }),
    "index tenants.once refuses rows that the release before writes"
  ],
  [
    of("CREATE FUNCTION event_digest(id text) RETURNS bytea LANGUAGE sql AS $$ SELECT ''::bytea $$"),
    "function event_digest(text) has the name of another that the release before calls"
  ],
  [of("DROP FUNCTION make_month(text, timestamptz)"), "function make_month(text,timestamp with time zone) is taken away"],
  [of("UPDATE tenants SET status = status"), "UPDATE in a transaction: rows are changed in batches"]
]

layer(Layer.unwrap(Effect.map(givenDatabase, (url) => Database.layer({ url }))))(
  "a migration beside the release before",
  (it) => {
    it.effect("only adds, without a lock that holds up payments; else it says what a program has to know", () =>
      Effect.gen(function* () {
        const { url } = yield* Effect.promise(() => freshDatabase())
        const judged = Effect.forEach(Migrations.all, (migration, at) =>
          isOfBase(migration) || migration.needs !== undefined
            ? Effect.void
            : Migrations.apply(Migrations.all.slice(0, at), functionFiles).pipe(
                Effect.andThen(troubles(migration)),
                Effect.map((found) => expect([migration.name, found]).toStrictEqual([migration.name, []]))
              )
        )
        yield* Effect.provide(judged, Layer.fresh(Database.layer({ url: Redacted.make(url) })))
      })
    )

    it.effect("is judged by what it does to the schema", () =>
      Effect.gen(function* () {
        for (const migration of expand) expect([migration.steps, yield* troubles(migration)]).toStrictEqual([migration.steps, []])
        for (const [migration, why] of contract) expect((yield* troubles(migration)).join("\n")).toContain(why)
      })
    )
  }
)

it("a migration that needs a program that knows another one comes after that one", () => {
  const names = Migrations.all.map(({ name }) => name)
  expect(names).toStrictEqual(names.toSorted())
  for (const migration of Migrations.all)
    if (!isOfBase(migration) && migration.needs !== undefined)
      expect(names.slice(0, names.indexOf(migration.name))).toContain(migration.needs)
})
