import { chmodSync, mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, Redacted } from "effect"
import { Pool } from "pg"
import { openCluster } from "../../lab/citus/Cluster.ts"
import { type Server, serverOf } from "../../lab/citus/Server.ts"
import { Database } from "../../src/persistence/Database.ts"
import { Distribute } from "../../src/persistence/schema/Distribute.ts"
import { urlOf } from "../../test/support/DatabaseSession.ts"
import { freePorts } from "../../test/support/FreePort.ts"
import type { Bench, Cluster } from "../Cluster.ts"
import { serverCpuSeconds } from "../Processes.ts"

// A cluster of a coordinator and two workers, and one server, of the same programs and settings: those in PG_BIN.

const SETTINGS = { shared_buffers: "128MB", max_wal_size: "4GB" }
const WORKERS = 2

/** The servers of one side, as what the benchmark's services stand on. */
export interface Servers extends Cluster {
  /** Processor time that all of them have used. */
  readonly cpuSeconds: () => number
}

export const withServers = async <A>(use: (citus: Servers, alone: Servers) => Promise<A>): Promise<A> => {
  const folder = mkdtempSync(join(tmpdir(), "payment-gateway-bench-"))
  // The account that PostgreSQL runs as must reach its files.
  chmodSync(folder, 0o711)
  const ends: Array<() => Promise<void>> = []
  try {
    const [port = 0, ...ports] = await freePorts(WORKERS + 2)
    const cluster = await openCluster({ folder: join(folder, "citus"), ports, isDurable: true, settings: SETTINGS })
    ends.push(cluster.close)
    const single = serverOf({ name: "alone", folder: join(folder, "alone"), port, isDurable: true, settings: SETTINGS })
    ends.push(single.end)
    await single.start()
    const migrated = await serversOf([single], urlOf({ ...single.address, database: "postgres" }), Database.migrate)
    const distributed = await serversOf(cluster.nodes, cluster.url, Effect.andThen(Database.migrate, Distribute.run))
    return await use(distributed, migrated)
  } finally {
    for (const end of ends.toReversed()) await end()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Its one database is for one service. */
const serversOf = async (
  nodes: ReadonlyArray<Server>,
  url: string,
  prepare: typeof Database.migrate | typeof Distribute.run
): Promise<Servers> => {
  await Effect.runPromise(Effect.provide(prepare, Database.layer({ url: Redacted.make(url) })))
  const pool = new Pool({ connectionString: url, max: 2 }).on("error", () => {})
  const query: Bench["query"] = async (text, values) => (await pool.query(text, values)).rows
  const bench: Bench = { url, query, drop: () => pool.end() }
  const only = async () => bench
  return {
    query,
    fresh: only,
    empty: only,
    cpuSeconds: () => nodes.reduce((sum, { pid }) => sum + serverCpuSeconds(pid() ?? 0), 0)
  }
}
