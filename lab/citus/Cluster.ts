import { resolve } from "node:path"
import { parseArgs } from "node:util"
import { Effect } from "effect"
import { execute, type ServerAddress, urlOf, withSession } from "../../test/support/DatabaseSession.ts"
import { type Server, type ServerWish, serverOf } from "./Server.ts"

// A Citus cluster on this machine, for the tests and for chaos: a coordinator and workers, each a server of its own. `npm run citus` keeps one up.

const usage = "PG_BIN=FOLDER npm run citus -- [--folder FOLDER] [--port N] [--workers N]"
const DATABASE = "gateway"

const OF_CITUS = {
  shared_preload_libraries: "citus",
  max_prepared_transactions: 600,
  // Citus has a process of its own for each database, and a test has a database.
  max_worker_processes: 64,
  "citus.enable_statistics_collection": "off",
  "citus.node_conninfo": "sslmode=disable"
}

export interface Cluster {
  /** The coordinator's database, which knows all of its nodes: what CITUS_URL names. */
  readonly url: string
  /** The coordinator first. */
  readonly nodes: ReadonlyArray<Server>
  /** Ends the servers that this process started. */
  readonly close: () => Promise<void>
}

interface Wish extends Pick<ServerWish, "folder" | "settings"> {
  /** The coordinator's, and one for each of its workers. */
  readonly ports: ReadonlyArray<number>
  readonly isDurable?: boolean
  /** Of the process of a server, by its name. */
  readonly variables?: (name: string) => Readonly<Record<string, string>>
}

/** Starts one with PostgreSQL's programs in PG_BIN, an installation that has the extension `citus`. */
export const openCluster = async ({ folder, isDurable = false, ports, settings = {}, variables }: Wish): Promise<Cluster> => {
  const nodes = ports.map((port, at) => {
    const name = at === 0 ? "coordinator" : `worker ${at}`
    return serverOf({ name, folder, port, isDurable, settings: { ...OF_CITUS, ...settings }, variables: variables?.(name) ?? {} })
  })
  const close = async () => {
    await Promise.all(nodes.map(({ end }) => end()))
  }
  try {
    await Promise.all(nodes.map(({ start }) => start()))
    const [coordinator] = nodes
    if (coordinator === undefined) throw new Error("a cluster has a coordinator")
    await joinNodes(nodes.map(({ address }) => address))
    return { url: urlOf(coordinator.address), nodes, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** The database on every node, and on the coordinator the nodes; nothing where that was done before. */
const joinNodes = async (addresses: ReadonlyArray<ServerAddress>): Promise<void> => {
  for (const address of addresses)
    await withSession(
      { ...address, database: "postgres" },
      Effect.fnUntraced(function* (sql) {
        const found = yield* sql`SELECT FROM pg_database WHERE datname = ${DATABASE}`
        if (found.length === 0) yield* sql.unsafe(`CREATE DATABASE ${DATABASE}`)
      })
    )
  for (const address of addresses) await execute(address, "CREATE EXTENSION IF NOT EXISTS citus")
  const [coordinator, ...workers] = addresses
  if (coordinator === undefined) return
  await withSession(
    coordinator,
    Effect.fnUntraced(function* (sql) {
      yield* sql`SELECT citus_set_coordinator_host(${coordinator.host}, ${coordinator.port})`
      for (const { host, port } of workers) yield* sql`SELECT citus_add_node(${host}, ${port})`
    })
  )
}

const main = async () => {
  const { values } = parseArgs({
    options: {
      folder: { type: "string", default: ".data/citus" },
      port: { type: "string", default: "29500" },
      workers: { type: "string", default: "2" }
    }
  })
  const [port, workers] = [Number(values.port), Number(values.workers)]
  if (![port, workers].every((one) => Number.isSafeInteger(one) && one > 0))
    throw new Error(`not a whole number above 0\nusage: ${usage}`)
  const ports = Array.from({ length: workers + 1 }, (_, at) => port + at)
  const cluster = await openCluster({ folder: resolve(values.folder), ports })
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => void cluster.close())
  console.log(`CITUS_URL=${cluster.url}`)
}

if (import.meta.main)
  await main().catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 2
  })
