import { Effect, Schedule } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { DatabaseError } from "../connection/DatabaseError.ts"
import type { Step } from "./Migration.ts"

type Wish = Pick<Extract<Step, { form: "index" }>, "name" | "table" | "definition" | "unique">

interface Ways<E> {
  /** One statement in no transaction, which may take hours and holds up nobody. */
  readonly long: (text: string) => Effect.Effect<void, SqlError.SqlError>
  /** One statement that takes a lock for a moment, tried until it gets it. */
  readonly short: (text: string) => Effect.Effect<void, E>
}

/** While it is built partitions may be added, which bring the index along. */
const ROUNDS = 1_000
/** How often it is looked whether somebody else is still building it: for six hours in all. */
const LOOKED_EVERY = "1 second"
const LOOKS = 6 * 3_600

/**
 * Builds an index while the table is written to. What is there and valid is left as it is; what a build that died left behind is dropped and built
 * anew. PostgreSQL has no such statement for a table with partitions: each of them gets its own, and the table's index is made of those.
 */
export const buildIndex = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  wish: Wish,
  ways: Ways<SqlError.SqlError | DatabaseError>
) {
  const [table] = yield* sql<{
    parted: boolean
  }>`SELECT relkind = 'p' AS parted FROM pg_class WHERE oid = ${wish.table}::regclass`
  if (table?.parted !== true) return yield* buildOne(sql, wish, ways)
  // Of the table alone: it holds up writers for as long as it takes to write down that there is one.
  yield* ways.short(`${create(wish)} IF NOT EXISTS ${wish.name} ON ONLY ${wish.table} ${wish.definition}`)
  for (let round = 0; round < ROUNDS; round++) {
    const [part] = yield* partsWithout(sql, wish)
    if (part === undefined) return
    const name = `${wish.name}${part.name.slice(wish.table.length)}`
    yield* buildOne(sql, { ...wish, name, table: part.name }, ways)
    yield* ways.short(`ALTER INDEX ${wish.name} ATTACH PARTITION ${name}`)
  }
})

const buildOne = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  wish: Wish,
  { long }: Ways<SqlError.SqlError | DatabaseError>
) {
  const found = yield* Effect.repeat(stateOf(sql, wish), {
    schedule: Schedule.spaced(LOOKED_EVERY),
    times: LOOKS,
    while: (state) => state === "being built"
  })
  if (found === "valid") return
  if (found !== null) yield* long(`DROP INDEX CONCURRENTLY ${wish.name}`)
  yield* long(`${create(wish)} CONCURRENTLY ${wish.name} ON ${wish.table} ${wish.definition}`)
})

/** Null where there is none. A session may go on building that a process began which died or lost its lock: to drop its index would wait for it first. */
const stateOf = (sql: SqlClient.SqlClient, { name }: Wish) =>
  Effect.map(
    sql<{ state: "valid" | "being built" | "half" }>`
      SELECT CASE WHEN i.indisvalid THEN 'valid' WHEN p.pid IS NOT NULL THEN 'being built' ELSE 'half' END AS state
      FROM pg_index i LEFT JOIN pg_stat_progress_create_index p ON p.index_relid = i.indexrelid AND p.datname = current_database()
      WHERE i.indexrelid = to_regclass(${name})`,
    ([row]) => row?.state ?? null
  )

const create = ({ unique }: Wish): string => (unique === true ? "CREATE UNIQUE INDEX" : "CREATE INDEX")

const partsWithout = (sql: SqlClient.SqlClient, { name, table }: Wish) =>
  sql<{ name: string }>`
    SELECT c.relname::text AS name FROM pg_inherits p JOIN pg_class c ON c.oid = p.inhrelid
    WHERE p.inhparent = ${table}::regclass AND NOT EXISTS (
      SELECT FROM pg_inherits a JOIN pg_index i ON i.indexrelid = a.inhrelid
      WHERE a.inhparent = ${name}::regclass AND i.indrelid = p.inhrelid)
    ORDER BY 1 LIMIT 1`
