import { expect } from "@effect/vitest"
import { Effect, Exit, Layer, type Redacted, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { readCommitSettings } from "../../src/persistence/cluster/CommitSettings.ts"
import { EveryTenant } from "../../src/persistence/cluster/EveryTenant.ts"
import { Distribution } from "../../src/persistence/connection/Distribution.ts"
import { Database } from "../../src/persistence/Database.ts"
import { LedgerVerificationPg } from "../../src/persistence/ledger/LedgerVerificationPg.ts"
import { Distribute } from "../../src/persistence/schema/Distribute.ts"
import type { SteppedMigration } from "../../src/persistence/schema/Migration.ts"
import { Migrations } from "../../src/persistence/schema/Migrations.ts"
import { FloatLedger } from "../../src/services/ports/FloatLedger.ts"
import { LedgerVerification } from "../../src/services/ports/LedgerVerification.ts"
import { itOnCitus } from "../../test/support/Installed.ts"
import { appId, givenTenantWith, openStep } from "../../test/support/LedgerSteps.ts"
import { givenClaim } from "../../test/support/PaymentRequests.ts"
import { asOwner } from "../../test/support/Stack.ts"
import { givenDatabase } from "../../test/support/TestDatabase.ts"
import { givenLedger } from "../../test/support/TestLedger.ts"

// What only a cluster can show, on the one that CITUS_URL names.

/** The run's first database is migrated and divided. */
const LONGEST_MS = 120_000
const DAY_MS = 86_400_000
const NAME = "9999_next"
const next = (...steps: SteppedMigration["steps"]): SteppedMigration => ({ name: NAME, steps })
const apply = (migration: SteppedMigration) => Migrations.apply([...Migrations.all, migration])

const onCluster =
  <A, E>(test: (url: Redacted.Redacted) => Effect.Effect<A, E, SqlClient.SqlClient | Scope.Scope>) =>
  () =>
    Effect.runPromise(Effect.scoped(Effect.flatMap(givenDatabase, (url) => Effect.provide(test(url), Database.layer({ url })))))

/** On every server, the coordinator among them: of a table with its partitions, how many lack the index or have an invalid one. */
const shardsWithout = (sql: SqlClient.SqlClient, table: string, column: string) =>
  sql<{ answer: string }>`SELECT DISTINCT result AS answer FROM run_command_on_shards(${table}, ${`
    SELECT count(*) FROM pg_class c WHERE c.oid = '%s'::regclass AND NOT EXISTS (
      SELECT FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[1]
      WHERE i.indrelid = c.oid AND i.indisvalid AND a.attname = '${column}' AND i.indnatts = 2)`})`

itOnCitus(
  "the functions are as they were put once a database is divided, and one that was set otherwise since is put again on every server",
  onCluster(
    Effect.fnUntraced(function* (url) {
      const sql = yield* asOwner(url)
      expect(yield* Database.migrate).toStrictEqual([])
      yield* sql`ALTER FUNCTION apply_step_of_tenant SET lock_timeout = '1h'`
      expect(yield* Database.migrate).toStrictEqual(["functions/apply_step"])
      expect(yield* Database.migrate).toStrictEqual([])
      const left = sql`SELECT DISTINCT result FROM run_command_on_workers($$
        SELECT count(*) FROM pg_proc WHERE proconfig @> '{lock_timeout=1h}'$$)`
      expect(yield* left).toStrictEqual([{ result: "0" }])
    })
  ),
  LONGEST_MS
)

itOnCitus(
  "a step of a migration adds a column and builds an index on divided tables with partitions, and again finds nothing to do",
  onCluster(
    Effect.fnUntraced(function* (url) {
      const sql = yield* asOwner(url)
      const steps = next(
        { form: "transaction", sql: "ALTER TABLE tenants ADD COLUMN note text" },
        { form: "index", name: "tenants_note", table: "tenants", definition: "(app_id, note)" },
        { form: "index", name: "journal_actor", table: "journal", definition: "(app_id, actor)" },
        { form: "index", name: "events_type", table: "events", definition: "(app_id, type)" }
      )
      expect(yield* apply(steps)).toStrictEqual([NAME])
      expect(yield* apply(steps)).toStrictEqual([])
      for (const [table, column] of [
        ["tenants", "note"],
        ["journal", "actor"],
        ["events", "type"]
      ] as const)
        expect(yield* shardsWithout(sql, table, column)).toStrictEqual([{ answer: "0" }])
      const invalid = yield* sql`SELECT indexrelid::regclass::text AS name FROM pg_index WHERE NOT indisvalid`
      expect(invalid).toStrictEqual([])
    })
  ),
  LONGEST_MS
)

itOnCitus(
  "a database that is divided in part is named by whatever starts on it, and the next distribute goes on",
  onCluster(
    Effect.fnUntraced(function* (url) {
      const sql = yield* asOwner(url)
      const started = Database.migratedLayer({ databaseUrl: url, ownerUrl: null })
      const start = Effect.exit(Effect.provide(SqlClient.SqlClient, Layer.fresh(started)))
      // Whichever table it is: a run of distribute may have been ended after any.
      for (const table of ["nonces", "transactions"]) {
        yield* sql`SELECT undistribute_table(${table}::regclass)`
        const exit = yield* start
        expect(Exit.isFailure(exit) ? String(exit.cause) : "started").toContain("the database is distributed in part")
      }
      yield* Distribute.run
      expect(Exit.isSuccess(yield* start)).toBe(true)
    })
  ),
  LONGEST_MS
)

itOnCitus(
  "ledger verify joins the rows of tenants with several rows of the audit log, which begins a subtransaction for each",
  onCluster(
    Effect.fnUntraced(function* (url) {
      const sql = yield* asOwner(url)
      yield* sql`INSERT INTO audit_log SELECT n, now(), 'operator', 'review resolve', 'R' || n, '{"resolved":"R' || n || '"}', ''
        FROM generate_series(1, 3) AS n`
      const { verify } = yield* Effect.provide(LedgerVerification, Layer.provide(LedgerVerificationPg, Distribution.layer))
      const { differences } = yield* verify
      expect(differences.map(({ rule, subject }) => `${rule} ${subject}`)).toStrictEqual([
        "resolutions_are_audited R1",
        "resolutions_are_audited R2",
        "resolutions_are_audited R3"
      ])
    })
  ),
  LONGEST_MS
)

itOnCitus(
  "ledger verify reports no difference for a payout that is written between its reads of two servers, and what is damaged it does",
  onCluster(
    Effect.fnUntraced(function* (url) {
      const node = yield* givenLedger(url)
      yield* Effect.provideContext(givenTenantWith(appId, 1_000_000n), node)
      // On the coordinator, while the payouts are on a worker.
      const startsAt = Math.floor(Date.now() / DAY_MS) * DAY_MS
      const ceiling = {
        appId: "",
        mode: "live",
        name: "ceiling:eversend:UGX",
        subject: "",
        startsAt,
        endsAt: startsAt + DAY_MS
      } as const
      let made = 0
      let isPaying = true
      let asked = 0
      const pay = Effect.gen(function* () {
        const step = openStep(yield* givenClaim(appId, `key-${made++}`), 100n)
        const at = startsAt + made
        const transaction = { ...step.transaction, createdAt: at, updatedAt: at }
        const counters = [{ ...ceiling, amount: 100n, bound: 1_000_000n, window: null }]
        yield* (yield* FloatLedger).open({ ...step, transaction, line: { ...step.line, at }, counters })
      }).pipe(Effect.provideContext(node), Effect.orDie)
      yield* pay
      const sql = yield* SqlClient.SqlClient
      // Its first read of the coordinator comes between those of the workers.
      const isBetween = (text: string) => /^\s*SELECT (set_config|count\(\*\) FROM counters)/.test(text)
      const paying = new Proxy(sql, {
        apply: (of, _self, [texts, ...values]: [TemplateStringsArray, ...ReadonlyArray<unknown>]) =>
          isPaying && isBetween(String(texts)) ? Effect.andThen(pay, of(texts, ...values)) : of(texts, ...values),
        get: (of, name) =>
          name === "unsafe"
            ? (text: string, values?: ReadonlyArray<unknown>) => {
                if (text.includes("the window says ")) asked++
                return isPaying && isBetween(text) ? Effect.andThen(pay, of.unsafe(text, values)) : of.unsafe(text, values)
              }
            : Reflect.get(of, name)
      })
      const audit = LedgerVerificationPg.pipe(
        Layer.provide(Distribution.layer),
        Layer.provide(Layer.succeed(SqlClient.SqlClient, paying))
      )
      const found = Effect.gen(function* () {
        const { differences } = yield* (yield* LedgerVerification).verify
        return differences.filter(({ rule }) => rule === "windows_are_counted").length
      }).pipe(Effect.provide(Layer.fresh(audit)))
      expect(yield* found).toBe(0)
      // The first query did find one.
      expect(asked).toBe(2)
      isPaying = false
      yield* (yield* asOwner(url))`UPDATE counters SET used = used + 1 WHERE app_id = ''`
      expect(yield* found).toBe(1)
    })
  ),
  LONGEST_MS
)

/** As whoever administers the workers sets it for their sessions from now on. */
const onWorkers = (sql: SqlClient.SqlClient, synchronousCommit: string) =>
  sql`SELECT success FROM run_command_on_workers(${`DO $$BEGIN SET LOCAL citus.enable_ddl_propagation = off;
    EXECUTE format('ALTER DATABASE %I SET synchronous_commit = ${synchronousCommit}', current_database()); END$$`})`

/** As `onCluster`, with the services of somebody who connects only now: Citus keeps a session of a worker for each of ours. */
const anew = <A, E, R>(url: Redacted.Redacted, effect: Effect.Effect<A, E, R>) =>
  Effect.provide(effect, Layer.fresh(Database.layer({ url })))

itOnCitus(
  "sessions of workers compile no statement, read no table from end to end, and commit so that a crash takes nothing back",
  onCluster(
    Effect.fnUntraced(function* (url) {
      const sql = yield* asOwner(url)
      // A database that is copied does not have what is set for the original.
      expect(yield* anew(url, Distribute.run)).toHaveLength(2)
      const ofWorkers = Effect.scoped(
        Effect.flatMap(
          asOwner(url),
          (own) => own`SELECT DISTINCT result FROM run_command_on_workers(
            $$SELECT concat_ws(' ', current_setting('jit'), current_setting('enable_seqscan'), current_setting('synchronous_commit'))$$)`
        )
      )
      expect(yield* ofWorkers).toStrictEqual([{ result: "off off on" }])
      expect(yield* anew(url, Distribute.plan)).toStrictEqual([])
      yield* onWorkers(sql, "remote_apply")
      expect(yield* anew(url, Distribute.plan)).toStrictEqual([])
      yield* onWorkers(sql, "off")
      expect(yield* anew(url, Distribute.run)).toHaveLength(1)
      expect(yield* ofWorkers).toStrictEqual([{ result: "off off on" }])
      expect(yield* anew(url, Distribute.plan)).toStrictEqual([])
    })
  ),
  LONGEST_MS
)

itOnCitus(
  "each server that has tenants says whether a crash could take back what is committed there",
  onCluster(
    Effect.fnUntraced(function* (url) {
      const sql = yield* asOwner(url)
      const node = yield* Layer.build(Layer.fresh(Database.layer({ url })))
      for (let n = 0; n < 12; n++)
        yield* sql`INSERT INTO tenants (app_id, status, capabilities, created_at) VALUES (${`tenant-${n}`}, 'active', '{}', now())`
      yield* sql`INSERT INTO tenant_directory (app_id, bucket) SELECT app_id, 0 FROM tenants`
      yield* onWorkers(sql, "off")
      const seen = yield* Effect.provideContext(
        Effect.flatMap(Effect.all([SqlClient.SqlClient, EveryTenant]), ([own, everyTenant]) =>
          readCommitSettings(own, everyTenant)
        ),
        node
      )
      expect(seen.map(({ synchronousCommit }) => synchronousCommit).toSorted()).toStrictEqual(["off", "off", "on"])
      expect(new Set(seen.map(({ server }) => server)).size).toBe(3)
    })
  ),
  LONGEST_MS
)
