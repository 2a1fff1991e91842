import { chmodSync, mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { basename, dirname, join, resolve } from "node:path"
import { Effect, Redacted } from "effect"
import { Pool } from "pg"
import { Database } from "../src/persistence/Database.ts"
import { EmbeddedPostgres } from "../src/persistence/postgres/EmbeddedPostgres.ts"

// One PostgreSQL for a run of the benchmark: the embedded one, started exactly as `npm start` starts it.

export interface Cluster {
  /** A new database with the gateway's schema, for one part alone. */
  readonly fresh: (name: string) => Promise<Bench>
  /** A new empty database, for a baseline with tables of its own. */
  readonly empty: (name: string) => Promise<Bench>
  /** Of the server itself, in its maintenance database. */
  readonly query: Bench["query"]
}

/** One database of the cluster. */
export interface Bench {
  readonly url: string
  readonly query: (text: string, values?: ReadonlyArray<unknown>) => Promise<ReadonlyArray<Readonly<Record<string, unknown>>>>
  /** Drops it, with whoever is still connected. */
  readonly drop: () => Promise<void>
}

/** The server lives as long as `use` takes, and nothing of it is left afterwards. */
export const withCluster = async <A>(use: (cluster: Cluster) => Promise<A>): Promise<A> => {
  const dataDir = mkdtempSync(join(tmpdir(), "payment-gateway-bench-"))
  // The account that PostgreSQL runs as must reach the cluster in it.
  chmodSync(dataDir, 0o711)
  const end = (signal: NodeJS.Signals) => remove(dataDir).finally(() => process.exit(signal === "SIGINT" ? 130 : 143))
  process.once("SIGINT", end).once("SIGTERM", end)
  try {
    const server = await Effect.runPromise(EmbeddedPostgres.ensureRunning(dataDir, "full"))
    const urlOf = (database: string) => Redacted.value(EmbeddedPostgres.url({ ...server, database }))
    return await withDatabase(urlOf("postgres"), (maintenance) => use(clusterOf(maintenance, urlOf)))
  } finally {
    process.off("SIGINT", end).off("SIGTERM", end)
    await remove(dataDir)
  }
}

const clusterOf = (query: Bench["query"], urlOf: (database: string) => string): Cluster => {
  let made = 0
  const empty = async (name: string): Promise<Bench> => {
    const database = `${name.replaceAll(/\W/g, "_")}_${made++}`
    await query(`CREATE DATABASE ${database}`)
    const url = urlOf(database)
    const pool = poolOf(url)
    return {
      url,
      query: async (text, values) => (await pool.query(text, values)).rows,
      drop: async () => {
        await pool.end()
        await query(`DROP DATABASE ${database} WITH (FORCE)`)
      }
    }
  }
  return {
    query,
    empty,
    fresh: async (name) => {
      const bench = await empty(name)
      await Effect.runPromise(Effect.provide(Database.migrate, Database.layer({ url: Redacted.make(bench.url) })))
      return bench
    }
  }
}

const withDatabase = async <A>(url: string, use: (query: Bench["query"]) => Promise<A>): Promise<A> => {
  const pool = poolOf(url)
  try {
    return await use(async (text, values) => (await pool.query(text, values)).rows)
  } finally {
    await pool.end()
  }
}

/** A connection that the server ends while nobody uses it is not an error of the run. */
const poolOf = (connectionString: string): Pool => new Pool({ connectionString, max: 4 }).on("error", () => {})

/** The server with its data, wherever the cluster had to be put. */
const remove = async (dataDir: string): Promise<void> => {
  await Effect.runPromise(Effect.ignore(EmbeddedPostgres.stop(dataDir)))
  const home = dirname(resolve(dataDir, clusterIn(dataDir)))
  if (basename(home).startsWith("payment-gateway-")) rmSync(home, { recursive: true, force: true })
  rmSync(dataDir, { recursive: true, force: true })
}

const clusterIn = (dataDir: string): string => {
  try {
    return JSON.parse(readFileSync(join(dataDir, "postgres.json"), "utf8")).cluster
  } catch {
    return "postgres"
  }
}
