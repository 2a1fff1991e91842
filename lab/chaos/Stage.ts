import { type ChildProcess, execFile, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { chmodSync, mkdtempSync, openSync } from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { promisify } from "node:util"
import { freePorts } from "../../test/support/FreePort.ts"
import { simulatedAccounts } from "./SimulatedAccounts.ts"
import { singleServer } from "./SingleServer.ts"

// The real processes: two gateways, the provider simulator and PostgreSQL, each of which may be killed and comes back.

const MAIN = resolve(import.meta.dirname, "..", "..", "src", "gateway.js")
const POLL_MS = 50
const UP_WITHIN_MS = 120_000
/** The exit code of a run that a signal ended. */
const SIGNALLED = 130

export type Variables = Readonly<Record<string, string>>

export interface Actor {
  readonly name: string
  /** As `kill -9` does. */
  readonly kill: () => Promise<void>
  /** Until it answers. */
  readonly start: () => Promise<void>
  /** Such as SIGSTOP, under which it stands still. */
  readonly signal: (signal: NodeJS.Signals) => void
  /** While it runs; of a server, that of the process that started the others. */
  readonly pid?: () => number | undefined
}

export interface Stage {
  readonly gateways: readonly [Address, Address, ...ReadonlyArray<Address>]
  /** Their management ports. */
  readonly managements: readonly [Address, Address, ...ReadonlyArray<Address>]
  readonly simulatorUrl: string
  /** Two gateways, the simulator and PostgreSQL, and then its other servers and the other gateways. */
  readonly actors: readonly [Actor, Actor, Actor, Actor, ...ReadonlyArray<Actor>]
  /** What is stored, and a log of each process. */
  readonly dataDir: string
  /** The settings of its gateways, for commands that run in this process. */
  readonly variables: Variables
  /** A `gateway` command on this installation; its `--json` answer. */
  readonly command: (
    ...args: ReadonlyArray<string>
  ) => Promise<{ readonly code: number; readonly json: unknown; readonly errors: string }>
  /** Something of its own, which is ended before what was there before it. */
  readonly atEnd: (end: () => Promise<void>) => void
  /** What the first signal that would end this process does instead; the next one ends it. */
  readonly onSignal: (act: () => void) => void
  /** Ends every process of it, and none starts again. A signal that ends this process does it too. */
  readonly close: () => Promise<void>
}

export interface Address {
  readonly host: string
  readonly url: string
}

const addressOf = (port: number): Address => ({ host: `127.0.0.1:${port}`, url: `http://127.0.0.1:${port}` })

/** What has begun; once it is over nothing starts any more. */
export interface Life {
  isOver: boolean
  readonly ends: Array<() => Promise<void>>
}

/** The database of a stage, as long as that lives. */
export type StageDatabase = (dataDir: string, life: Life) => Promise<Actor & Reached>

interface Reached {
  readonly url: string
  /** For the commands that make it ready, where a proxy or a pooler stands before it. */
  readonly direct?: string
  readonly preparedBy?: ReadonlyArray<string>
  readonly others?: ReadonlyArray<Actor>
}

/** What a gateway of a stage has of its own. */
interface Own {
  readonly variables?: Variables
}
type Owns = readonly [Own, Own, ...ReadonlyArray<Own>]

/** What the processes of a stage run on, by their names. */
export interface Machines {
  /** How this machine runs a program there: a command and its arguments. */
  readonly command: (name: string, program: string, args: ReadonlyArray<string>) => readonly [string, ReadonlyArray<string>]
  /** Asked for before a process starts: has its ports, which listen on loopback, reached from everywhere. */
  readonly serve: (name: string, ports: ReadonlyArray<number>) => Promise<void>
}

const thisMachine: Machines = { command: (_, program, args) => [program, args], serve: async () => undefined }

/** `more` is set for every process of it, and `own` for each of the gateways, of which there are as many. */
export const openStage = async (
  more: Variables = {},
  database = singleServer,
  own: Owns = [{}, {}],
  machines = thisMachine
): Promise<Stage> => {
  const dataDir = mkdtempSync(join(tmpdir(), "chaos-"))
  // The account that PostgreSQL runs as must reach the cluster in it.
  chmodSync(dataDir, 0o711)
  const life: Life = { isOver: false, ends: [] }
  const signals = ["SIGINT", "SIGTERM"] as const
  let instead: (() => void) | undefined
  const signalled = () => {
    // npm passes on the signal that its process group has already had.
    if (life.isOver) return
    const act = instead
    instead = undefined
    if (act === undefined) return void close().finally(() => process.exit(SIGNALLED))
    act()
  }
  const close = async () => {
    life.isOver = true
    for (const end of life.ends.toReversed()) await end()
    for (const signal of signals) process.off(signal, signalled)
  }
  for (const signal of signals) process.on(signal, signalled)
  try {
    const begun = await opened(dataDir, life, { more, own, machines }, database)
    return { ...begun, atEnd: (end) => void life.ends.push(end), onSignal: (act) => void (instead = act), close }
  } catch (error) {
    await close()
    throw error
  }
}

const opened = async (
  dataDir: string,
  life: Life,
  { machines, more, own }: { readonly more: Variables; readonly own: Owns; readonly machines: Machines },
  make: StageDatabase
): Promise<Omit<Stage, "atEnd" | "onSignal" | "close">> => {
  const [simulatorPort = 0] = await freePorts(1)
  const database = await make(dataDir, life)
  const shared: Variables = {
    DATABASE_URL: database.url,
    MASTER_KEY: randomBytes(32).toString("base64"),
    DATA_DIR: dataDir,
    ALLOW_SIMULATOR: "true",
    LOG_LEVEL: "warn",
    LOG_FORMAT: "json",
    SIMULATOR_PORT: String(simulatorPort),
    SIMULATOR_DELAY_MS: "200",
    PROVIDER_TIMEOUT_MS: "2000",
    IDEMPOTENCY_LEASE: "12s",
    COLLECTION_EXPIRY: "1m",
    RECONCILER_SCHEDULE: "1s,2s,4s,8s,15s",
    WEBHOOK_ALLOW_LOOPBACK: "true",
    WEBHOOK_SCHEDULE: "0s,1s,2s,4s,8s,15s,30s,1m,2m",
    ...more
  }
  const actor = (of: Omit<Child, "machines">) => {
    const made = child({ ...of, machines }, dataDir, life)
    life.ends.push(made.kill)
    return made
  }
  await machines.serve("simulator", [simulatorPort])
  const simulator = actor({
    name: "simulator",
    args: ["simulator"],
    variables: shared,
    ready: `http://127.0.0.1:${simulatorPort}/__simulator/ready`
  })
  await simulator.start()
  const provided = { ...shared, ...(await simulatedAccounts(`http://127.0.0.1:${simulatorPort}`)) }
  const gateway = async ({ variables }: Own, index: number) => {
    const [name, [port = 0, management = 0]] = [`gateway ${numbers[index] ?? index + 1}`, await freePorts(2)]
    await machines.serve(name, [port, management])
    const own = { ...provided, PORT: String(port), MANAGEMENT_PORT: String(management), ...variables }
    const made = actor({ name, args: ["serve"], variables: own, ready: `http://127.0.0.1:${port}/health` })
    return { made, api: addressOf(port), management: addressOf(management) }
  }
  const [ofFirst, ofSecond, ...ofOthers] = own
  const first = await gateway(ofFirst, 0)
  const second = await gateway(ofSecond, 1)
  const others = await Promise.all(ofOthers.map((one, index) => gateway(one, index + 2)))
  const command = (...args: ReadonlyArray<string>) => run(provided, args)
  const directly = { ...provided, DATABASE_URL: database.direct ?? database.url }
  for (const name of database.preparedBy ?? ["migrate"]) {
    const { code, errors } = await run(directly, [name])
    if (code !== 0) throw new Error(`gateway ${name} failed: ${errors}`)
  }
  await Promise.all([first, second, ...others].map(({ made }) => made.start()))
  return {
    gateways: [first.api, second.api, ...others.map(({ api }) => api)],
    managements: [first.management, second.management, ...others.map(({ management }) => management)],
    dataDir,
    simulatorUrl: `http://127.0.0.1:${simulatorPort}`,
    actors: [first.made, second.made, simulator, database, ...(database.others ?? []), ...others.map(({ made }) => made)],
    variables: provided,
    command
  }
}

const numbers = ["one", "two", "three"]

interface Child {
  readonly machines: Machines
  readonly name: string
  readonly args: ReadonlyArray<string>
  readonly variables: Variables
  /** An address that answers once it is up. */
  readonly ready: string
}

const child = ({ args, machines, name, ready, variables }: Child, dataDir: string, life: Life): Actor => {
  let running: ChildProcess | undefined
  const [program, programArgs] = machines.command(name, process.execPath, [MAIN, ...args])
  const log = openSync(join(dataDir, `${name.replace(" ", "-")}.log`), "a")
  const answers = () =>
    fetch(ready, { signal: AbortSignal.timeout(1000) }).then(
      ({ ok }) => ok,
      () => false
    )
  const start = async () => {
    const limit = performance.now() + UP_WITHIN_MS
    while (performance.now() < limit) {
      if (life.isOver) return
      if (running === undefined || running.exitCode !== null || running.signalCode !== null)
        running = spawn(program, programArgs, {
          env: { PATH: process.env["PATH"], ...variables },
          stdio: ["ignore", log, log],
          // In a group of its own: a terminal's Ctrl-C ends this process only, which ends the others when it is time.
          detached: true
        })
      if (await answers()) return
      await pause(POLL_MS)
    }
    throw new Error(`${name} does not come back: see ${dataDir}`)
  }
  const kill = async () => {
    const own = running
    running = undefined
    if (own === undefined || own.exitCode !== null || own.signalCode !== null) return
    const gone = new Promise((ended) => own.once("exit", ended))
    own.kill("SIGKILL")
    await gone
  }
  return { name, kill, start, signal: (signal) => void running?.kill(signal), pid: () => running?.pid }
}

const run = async (variables: Variables, args: ReadonlyArray<string>) => {
  const ran = await promisify(execFile)(process.execPath, [MAIN, ...args, "--json"], {
    env: { PATH: process.env["PATH"], ...variables },
    maxBuffer: 256 * 1024 * 1024
  }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (failed: { code: number; stdout: string; stderr: string }) => failed
  )
  const json: unknown = ran.stdout === "" ? null : JSON.parse(ran.stdout)
  return { code: ran.code, json, errors: ran.stderr }
}
