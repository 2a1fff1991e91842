import { type Clock, Context, Effect, Layer, type Redacted, type Scope } from "effect"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Ports } from "../../src/Ports.ts"
import { Database } from "../../src/persistence/Database.ts"
import { policy } from "../../test/fakes/FakePolicy.ts"
import { masterKey } from "../../test/support/TestDatabase.ts"
import { declaredMovers } from "./Declared.ts"
import { insertFixtures } from "./Fixtures.ts"
import type { Mover } from "./Movers.ts"

export type Ready = Context.Context<Layer.Success<ReturnType<typeof Ports.layer>>>

/** Where the corridor of a story leads, and what its payers do. */
export interface Setting {
  /** Providers in the order in which they are tried. */
  readonly payouts: ReadonlyArray<string>
  readonly collections: ReadonlyArray<string>
  readonly customerAction: "handset_pin" | "otp" | "redirect"
  /** What may be paid out through a provider in a day and mode; null where that is not limited. */
  readonly ceiling: { readonly provider: string; readonly amount: bigint } | null
}

/** Where stories are played, one after another: a migrated database, and for each node the production ports on connections of its own. */
export interface Testbed {
  readonly ports: readonly [Ready, Ready]
  /** Takes away what the story before left, and makes ready for the next one. */
  readonly clear: (setting: Setting) => Effect.Effect<void>
  /** The same with statements of one's own in place of a setting's. */
  readonly clearTo: (statements: ReadonlyArray<string>) => Effect.Effect<void>
  /** Keeps the database as it is, in place of what was kept before. */
  readonly backUp: Effect.Effect<void>
  /** Goes back to it: what was committed since is forgotten. */
  readonly restore: Effect.Effect<void>
  /**
   * A story's clock, whose monotonic time goes on after that of the story before, whichever of them has the earlier date: what a port
   * read for that one is old for this one.
   */
  readonly clockAfter: (clock: Clock.Clock) => Clock.Clock
  /** The registered providers, as their adapters declare them. */
  readonly declared: ReadonlyArray<Mover>
}

const BETWEEN_NANOS = 3_600_000_000_000n

/** What no story writes. */
const KEPT = ["schema_migrations", "vault_keys"]

/**
 * Ports outlive a node's death: they hold connections, prepared statements and a few short caches, and opening them anew would take most
 * of a story's time. All that decides is in the services, which do die.
 */
export const makeTestbed = Effect.fnUntraced(function* (
  url: Redacted.Redacted,
  insert: (ports: Ready) => Effect.Effect<void> = insertFixtures
): Effect.fn.Return<Testbed, never, Scope.Scope> {
  yield* planOnce(url)
  const ports = Effect.orDie(Layer.build(Layer.fresh(Ports.layer({ databaseUrl: url, masterKey, policy }))))
  const first = yield* ports
  const second = yield* ports
  const sql = Context.get(first, SqlClient.SqlClient)
  const tables = yield* Effect.orDie(
    sql<{ name: string; columns: string }>`SELECT relname AS name, (
        SELECT string_agg(quote_ident(attname), ', ') FROM pg_attribute
        WHERE attrelid = pg_class.oid AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
      ) AS columns FROM pg_class
      WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY 1`
  )
  const written = tables.filter(({ name }) => !KEPT.includes(name))
  const names = written.map(({ name }) => name)
  yield* Effect.provide(insert(first), TestClock.layer())
  const kept = yield* Effect.filter(names, (name) => keep(sql, name))
  const deletes = names.map((name) => `DELETE FROM ${name};`)
  const inserts = kept.map((name) => `INSERT INTO ${name} SELECT * FROM beginning.${name};`)
  // One round trip. Not TRUNCATE, after which every statement would be planned anew. The whole is consistent, so that no order is needed.
  const all = (statements: ReadonlyArray<string>) =>
    Effect.asVoid(
      Effect.orDie(
        sql.unsafe(`DO $$${COLUMNS_FIRST}BEGIN SET LOCAL session_replication_role = replica; ${statements.join(" ")} END $$`)
      )
    )
  const clearTo = (statements: ReadonlyArray<string>) => all([...deletes, ...inserts, KEEP_NOTHING, ...statements])
  const clear = (setting: Setting) => clearTo(set(setting))
  const backUp = all([
    "DROP SCHEMA IF EXISTS backup CASCADE; CREATE SCHEMA backup;",
    ...written.map(({ columns, name }) => `CREATE UNLOGGED TABLE backup.${name} AS SELECT ${columns} FROM ${name};`)
  ])
  const back = written.map(
    ({ columns, name }) => `INSERT INTO ${name} (${columns}) OVERRIDING SYSTEM VALUE SELECT ${columns} FROM backup.${name};`
  )
  const restore = all([...deletes, ...back, KEEP_NOTHING])
  let latest = 0n
  const clockAfter = (clock: Clock.Clock): Clock.Clock => {
    const from = latest + BETWEEN_NANOS - clock.monotonicTimeNanosUnsafe()
    const monotonic = () => (latest = from + clock.monotonicTimeNanosUnsafe())
    return { ...clock, monotonicTimeNanosUnsafe: monotonic, monotonicTimeNanos: Effect.sync(monotonic) }
  }
  return { ports: [first, second], clear, clearTo, backUp, restore, clockAfter, declared: yield* declaredMovers }
})

/** What every story begins with is written once, and copied from then on. Answers whether there is anything. */
const keep = (sql: SqlClient.SqlClient, name: string) =>
  Effect.gen(function* () {
    yield* sql`CREATE SCHEMA IF NOT EXISTS beginning`
    yield* sql.unsafe(`CREATE UNLOGGED TABLE beginning.${name} AS SELECT * FROM ${name}`)
    const [row] = yield* sql.unsafe<{ filled: boolean }>(`SELECT EXISTS (SELECT FROM beginning.${name}) AS filled`)
    return row?.filled === true
  }).pipe(Effect.orDie)

/** A block's own variables, as FOUND, are named like columns; it names columns alone. A line of its own. */
const COLUMNS_FIRST = "\n#variable_conflict use_column\n"

/** Nodes keep nothing of the story before, or of what a restore forgot. */
const KEEP_NOTHING = "UPDATE audit_head SET cache_version = extract(epoch FROM clock_timestamp()) * 1000000;"

const set = ({ ceiling, collections, customerAction, payouts }: Setting): ReadonlyArray<string> => [
  `UPDATE corridors SET providers = ${namesOf(payouts)} WHERE country = 'UG' AND method = 'momo' AND direction = 'payout';`,
  `UPDATE corridors SET providers = ${namesOf(collections)}, customer_action = '${customerAction}'
    WHERE country = 'UG' AND method = 'momo' AND direction = 'collection';`,
  ...(ceiling === null
    ? []
    : [`INSERT INTO ceilings (provider, currency, amount_minor) VALUES ('${ceiling.provider}', 'UGX', ${ceiling.amount});`])
]

const namesOf = (names: ReadonlyArray<string>): string => `'{${names.join(",")}}'`

/** The statements are the same in every story, and planning the large ones takes most of a database's time. */
const planOnce = (url: Redacted.Redacted) =>
  Effect.flatMap(
    SqlClient.SqlClient,
    (sql) =>
      sql`DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET plan_cache_mode = force_generic_plan', current_database()); END $$`
  ).pipe(Effect.provide(Database.layer({ url })), Effect.orDie)
