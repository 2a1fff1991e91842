import { spawn } from "node:child_process"
import { randomInt } from "node:crypto"
import { open, readFile, writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { basename, join } from "node:path"
import { Effect, Option } from "effect"
import { THROWN_AWAY } from "../connection/servers/Durability.ts"
import { EmbeddedPostgresError } from "./EmbeddedPostgresError.ts"
import { LocalProcess } from "./LocalProcess.ts"
import type { Account } from "./PostgresInstall.ts"

/** `full`: commits survive a power failure. `off`: for tests, whose data is thrown away. */
export type Durability = "full" | "off"

export interface Launch {
  readonly program: string
  readonly folder: string
  readonly port: number
  readonly log: string
  readonly account: Account
  readonly durability: Durability
}

const STOP_POLL_MILLIS = 50
const STOP_MAX_POLLS = 200
const PORT_TRIES = 50
/** A backend that was being forked when its server was killed holds the server's port until it notices. */
const OWN_PORT_TRIES = 20
const OWN_PORT_PAUSE_MILLIS = 100
/** Below the ephemeral port ranges: a client that retries a dead port there can connect to itself and block it. */
const PORTS = { from: 20_000, to: 32_000 }
/** Larger than any process number, and still one that PostgreSQL can parse. */
const NO_PROCESS = 2_147_483_647

export const PostgresServer = {
  /** The server of a cluster; `none` when it is not running, even if `postmaster.pid` names a process (numbers are reused). */
  find: Effect.fn("PostgresServer.find")(function* (folder: string) {
    const text = yield* readPidFile(folder)
    if (text === undefined) return Option.none()
    // Its lines: process number, folder, start time, port, ...
    const [pid, , , port] = text.split("\n").map(Number)
    if (pid === undefined || !(yield* serves(pid, folder))) return Option.none()
    return Option.some({ pid, port: port ?? 0 })
  }),

  /** Starts a server in its own session, so that it outlives us. Returns a function that says whether it has ended. */
  launch: Effect.fn("PostgresServer.launch")(function* (launch: Launch): Effect.fn.Return<() => boolean, EmbeddedPostgresError> {
    yield* freePidFile(launch.folder)
    return yield* EmbeddedPostgresError.attempt(`start ${launch.program}`, () => spawnDetached(launch))
  }),

  /** `wanted` if nothing listens on it within two seconds, otherwise another loopback port. */
  port: Effect.fn("PostgresServer.port")(function* (wanted: number): Effect.fn.Return<number, EmbeddedPostgresError> {
    const ownTries = wanted === 0 ? 0 : OWN_PORT_TRIES
    for (let tried = 0; tried < ownTries; tried++) {
      if (yield* isFree(wanted)) return wanted
      yield* Effect.sleep(OWN_PORT_PAUSE_MILLIS)
    }
    for (let tried = 0; tried < PORT_TRIES; tried++) {
      const port = randomInt(PORTS.from, PORTS.to)
      if (yield* isFree(port)) return port
    }
    return yield* new EmbeddedPostgresError(`none of ${PORT_TRIES} ports between ${PORTS.from} and ${PORTS.to} is free`)
  }),

  /** Fast shutdown: open transactions are rolled back, and a checkpoint is written. Returns at once when no server runs. */
  stop: Effect.fn("PostgresServer.stop")(function* (folder: string): Effect.fn.Return<void, EmbeddedPostgresError> {
    const found = yield* PostgresServer.find(folder)
    if (Option.isNone(found)) return
    yield* LocalProcess.signal(found.value.pid, "SIGINT")
    for (let poll = 0; poll < STOP_MAX_POLLS; poll++) {
      if (Option.isNone(yield* PostgresServer.find(folder))) return
      yield* Effect.sleep(STOP_POLL_MILLIS)
    }
    return yield* new EmbeddedPostgresError(`PostgreSQL (process ${found.value.pid}) did not stop within 10 s`)
  }),

  /** The last line of the log that explains why it ended. */
  lastWords: (log: string): Effect.Effect<string, EmbeddedPostgresError> =>
    EmbeddedPostgresError.attempt(`read ${log}`, () => readFile(log, "utf8")).pipe(
      Effect.map((text) => {
        const lines = text.trim().split("\n").slice(-LAST_LINES)
        return lines.findLast((line) => /FATAL|PANIC|error/i.test(line)) ?? lines.at(-1) ?? ""
      })
    )
}

const LAST_LINES = 20

const serves = Effect.fnUntraced(function* (pid: number, folder: string) {
  if (!Number.isInteger(pid) || pid <= 0 || Option.isNone(yield* LocalProcess.identity(pid))) return false
  const command = Option.getOrElse(yield* LocalProcess.commandLine(pid), (): ReadonlyArray<string> => [])
  // When only `ps` shows the command line, a folder name with a space is split.
  return (
    basename(command[0] ?? "").startsWith("postgres") && (command.includes(folder) || command.join(" ").includes(`-D ${folder} `))
  )
})

const readPidFile = (folder: string) =>
  EmbeddedPostgresError.attempt(`read ${join(folder, "postmaster.pid")}`, () =>
    readFile(join(folder, "postmaster.pid"), "utf8").catch((cause) => {
      if (cause.code === "ENOENT") return undefined
      throw cause
    })
  )

/**
 * After a reboot the process number in `postmaster.pid` can be another program's, and PostgreSQL refuses to start. Since it is
 * not a server of this folder, the number is replaced; PostgreSQL uses the other lines to find surviving backends.
 */
const freePidFile = Effect.fnUntraced(function* (folder: string) {
  const text = yield* readPidFile(folder)
  if (text === undefined || Option.isSome(yield* PostgresServer.find(folder))) return
  yield* EmbeddedPostgresError.attempt(`free ${join(folder, "postmaster.pid")}`, () =>
    writeFile(join(folder, "postmaster.pid"), text.replace(/^\d+/, String(NO_PROCESS)), { flag: "r+" })
  )
})

const settings = ({ port, durability }: Launch): ReadonlyArray<string> => [
  `port=${port}`,
  "listen_addresses=127.0.0.1",
  "unix_socket_directories=",
  "max_connections=200",
  "timezone=UTC",
  "log_timezone=UTC",
  "password_encryption=scram-sha-256",
  ...(durability === "full"
    ? // The pages that many tenants write stay in memory, and checkpoints are far apart: after one, each page is logged whole when it is first written.
      ["fsync=on", "synchronous_commit=on", "shared_buffers=512MB", "max_wal_size=4GB"]
    : ["fsync=off", "synchronous_commit=off", "full_page_writes=off", "shared_buffers=128MB", `cluster_name=${THROWN_AWAY}`])
]

const spawnDetached = async (launch: Launch): Promise<() => boolean> => {
  const log = await open(launch.log, "a", 0o600)
  try {
    const child = spawn(launch.program, ["-D", launch.folder, ...settings(launch).flatMap((setting) => ["-c", setting])], {
      ...launch.account,
      cwd: launch.folder,
      env: { LC_ALL: "C", TZ: "UTC" },
      detached: true,
      stdio: ["ignore", log.fd, log.fd]
    })
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve)
      child.once("error", reject)
    })
    child.unref()
    return () => child.exitCode !== null || child.signalCode !== null
  } finally {
    await log.close()
  }
}

const isFree = (port: number): Effect.Effect<boolean> =>
  Effect.callback((resume) => {
    const server = createServer()
    server.once("error", () => resume(Effect.succeed(false)))
    server.listen(port, "127.0.0.1", () => server.close(() => resume(Effect.succeed(true))))
  })
