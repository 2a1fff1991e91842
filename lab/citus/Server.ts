import { type ChildProcess, execFileSync, spawn } from "node:child_process"
import { chownSync, existsSync, mkdirSync, openSync, readdirSync } from "node:fs"
import { join, resolve } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { parentOf } from "../../bench/Processes.ts"
import { THROWN_AWAY } from "../../src/persistence/connection/servers/Durability.ts"
import { execute, type ServerAddress } from "../../test/support/DatabaseSession.ts"

// A server of PostgreSQL's programs in PG_BIN, as a process of this one.

const OWNER = "gateway"
const DATABASE = "gateway"
const POLL_MS = 100
const UP_WITHIN_MS = 60_000

export interface Server {
  readonly name: string
  readonly address: ServerAddress
  /** As `kill -9` does. */
  readonly kill: () => Promise<void>
  /** Until it answers. */
  readonly start: () => Promise<void>
  /** To every process of it: under SIGSTOP its connections stay open, and nothing answers. */
  readonly signal: (signal: NodeJS.Signals) => void
  /** Of its first process, while it runs. */
  readonly pid: () => number | undefined
  /** For good. */
  readonly end: () => Promise<void>
}

export interface ServerWish {
  readonly name: string
  /** Where servers keep their files, each in a folder of its own; what is there already is used again. */
  readonly folder: string
  readonly port: number
  /** Whether what was committed is there after a machine has lost its power: dearer, and nothing that a killed process needs. */
  readonly isDurable: boolean
  /** Beyond what every one has. */
  readonly settings?: Readonly<Record<string, string | number>>
  /** Of its process, beyond nothing at all: such as LD_PRELOAD. */
  readonly variables?: Readonly<Record<string, string>>
}

/** PostgreSQL runs as nobody who owns the machine. */
const accountOfServers = (): { readonly uid: number; readonly gid: number } | null => {
  if (process.getuid?.() !== 0) return null
  const id = (option: string) => Number(execFileSync("id", [option, "postgres"], { encoding: "utf8" }))
  return { uid: id("-u"), gid: id("-g") }
}

const program = (name: string): string => {
  const { PG_BIN } = process.env
  const path = join(PG_BIN ?? "", name)
  if (PG_BIN === undefined || !existsSync(path))
    throw new Error(`PG_BIN has to name the folder of PostgreSQL's programs: there is no ${path}`)
  return path
}

export const serverOf = ({ folder, isDurable, name, port, settings: own = {}, variables = {} }: ServerWish): Server => {
  mkdirSync(folder, { recursive: true })
  const account = accountOfServers()
  if (account !== null) chownSync(folder, account.uid, account.gid)
  const at = join(resolve(folder), name.replace(" ", "-"))
  const address = { host: "127.0.0.1", port, username: OWNER, password: "trusted", database: DATABASE }
  const settings = {
    port,
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: 300,
    shared_buffers: "64MB",
    timezone: "UTC",
    ...(isDurable ? { fsync: "on" } : { fsync: "off", cluster_name: THROWN_AWAY }),
    ...own
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
        running = spawn(program("postgres"), ["-D", at, ...given], {
          ...account,
          cwd: folder,
          env: { ...process.env, ...variables },
          stdio: ["ignore", log, log]
        })
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
    signal: (signal) => signalAll(running?.pid, signal),
    pid: () => running?.pid
  }
}

/** Its own process first, which would take a child that stops for one to look after. */
const signalAll = (server: number | undefined, signal: NodeJS.Signals): void => {
  if (server === undefined) return
  const children = readdirSync("/proc").filter((entry) => /^\d+$/.test(entry) && parentOf(Number(entry)) === server)
  for (const one of [server, ...children.map(Number)])
    try {
      process.kill(one, signal)
    } catch {
      // A process of one statement may have ended meanwhile.
    }
}
