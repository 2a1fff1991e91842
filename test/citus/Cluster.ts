import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { chownSync, existsSync, mkdirSync, openSync } from "node:fs"
import { join, resolve } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { parseArgs } from "node:util"
import { Effect } from "effect"
import { execute, type ServerAddress, urlOf, withSession } from "../support/DatabaseSession.ts"

// A Citus cluster on this machine, for the tests and for chaos: a coordinator and workers, each a server of its own. `npm run citus` keeps one up.

const usage = "PG_BIN=FOLDER npm run citus -- [--folder FOLDER] [--port N] [--workers N]"
const DATABASE = "gateway"
const OWNER = "gateway"
const POLL_MS = 100
const UP_WITHIN_MS = 60_000

/** One server of it. */
export interface ClusterNode {
  readonly name: string
  readonly address: ServerAddress
  /** As `kill -9` does. */
  readonly kill: () => Promise<void>
  /** Until it answers. */
  readonly start: () => Promise<void>
  readonly signal: (signal: NodeJS.Signals) => void
}

export interface Cluster {
  /** The coordinator's database, which knows all of its nodes: what CITUS_URL names. */
  readonly url: string
  /** The coordinator first. */
  readonly nodes: ReadonlyArray<ClusterNode>
  /** Ends the servers that this process started. */
  readonly close: () => Promise<void>
}

interface Wish {
  /** Where the servers keep their files; what is there already is used again. */
  readonly folder: string
  /** The coordinator's, and one for each of its workers. */
  readonly ports: ReadonlyArray<number>
  /** Whether what was committed is there after a machine has lost its power: dearer, and nothing that a killed process needs. */
  readonly isDurable?: boolean
}

/** Starts one with PostgreSQL's programs in PG_BIN, an installation that has the extension `citus`. */
export const openCluster = async ({ folder, isDurable = false, ports }: Wish): Promise<Cluster> => {
  mkdirSync(folder, { recursive: true })
  const account = accountOfServers()
  if (account !== null) chownSync(folder, account.uid, account.gid)
  const nodes = ports.map((port, at) =>
    nodeOf({ name: at === 0 ? "coordinator" : `worker ${at}`, folder, port, account, isDurable })
  )
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

/** PostgreSQL runs as nobody who owns the machine. */
const accountOfServers = (): { readonly uid: number; readonly gid: number } | null => {
  if (process.getuid?.() !== 0) return null
  const id = (option: string) => Number(execFileSync("id", [option, "postgres"], { encoding: "utf8" }))
  return { uid: id("-u"), gid: id("-g") }
}

interface NodeWish {
  readonly name: string
  readonly folder: string
  readonly port: number
  readonly account: object | null
  readonly isDurable: boolean
}

const program = (name: string): string => {
  const { PG_BIN } = process.env
  const path = join(PG_BIN ?? "", name)
  if (PG_BIN === undefined || !existsSync(path))
    throw new Error(`PG_BIN has to name the folder of PostgreSQL's programs: there is no ${path}\nusage: ${usage}`)
  return path
}

const nodeOf = ({ account, folder, isDurable, name, port }: NodeWish) => {
  const at = join(resolve(folder), name.replace(" ", "-"))
  const address = { host: "127.0.0.1", port, username: OWNER, password: "trusted", database: DATABASE }
  const settings = {
    port,
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    shared_preload_libraries: "citus",
    max_connections: 300,
    max_prepared_transactions: 600,
    // Citus has a process of its own for each database, and a test has a database.
    max_worker_processes: 64,
    shared_buffers: "64MB",
    timezone: "UTC",
    fsync: isDurable ? "on" : "off",
    "citus.enable_statistics_collection": "off",
    "citus.node_conninfo": "sslmode=disable"
  }
  let running: ChildProcess | undefined
  let isOver = false
  const isUp = () => execute({ ...address, database: "postgres" }, "SELECT 1").then(Boolean.bind(null, true), () => false)
  const start = async () => {
    if (!existsSync(join(at, "PG_VERSION"))) {
      const options = ["-D", at, "-U", OWNER, "-A", "trust", "-E", "UTF8", "--locale=C.UTF-8"]
      execFileSync(program("initdb"), options, { ...account, cwd: folder, stdio: ["ignore", "ignore", "inherit"] })
    }
    const limit = performance.now() + UP_WITHIN_MS
    while (performance.now() < limit) {
      if (isOver) return
      if (running === undefined || running.exitCode !== null || running.signalCode !== null) {
        const log = openSync(`${at}.log`, "a")
        const given = Object.entries(settings).flatMap(([key, value]) => ["-c", `${key}=${value}`])
        running = spawn(program("postgres"), ["-D", at, ...given], { ...account, cwd: folder, stdio: ["ignore", log, log] })
      }
      if (await isUp()) return
      await pause(POLL_MS)
    }
    throw new Error(`${name} does not answer: see ${at}.log`)
  }
  const endBy = async (signal: NodeJS.Signals) => {
    const own = running
    running = undefined
    if (own === undefined || own.exitCode !== null || own.signalCode !== null) return
    const gone = new Promise((ended) => own.once("exit", ended))
    own.kill(signal)
    await gone
  }
  const end = () => {
    isOver = true
    return endBy("SIGINT")
  }
  return {
    name,
    address,
    start,
    end,
    kill: () => endBy("SIGKILL"),
    signal: (signal: NodeJS.Signals) => void running?.kill(signal)
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
