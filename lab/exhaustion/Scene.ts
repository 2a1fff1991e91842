import { execFile, spawn } from "node:child_process"
import { closeSync, constants, existsSync, openSync, readFileSync } from "node:fs"
import { mkdir, mkdtemp, readdir, rm, rmdir, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { promisify } from "node:util"
import { Effect } from "effect"
import { gateway } from "../../test/commands/Gateway.ts"
import { withAccounts } from "../chaos/everything/Accounts.ts"
import { settingsOfMtn } from "../chaos/OnlyMtn.ts"
import { type Actor, openStage, type Stage } from "../chaos/Stage.ts"
import { type Disk, openDisk } from "./Disk.ts"
import { type Server, serverOn } from "./Server.ts"

// Two gateways, the provider and PostgreSQL, each of which can run out of what it needs: PostgreSQL is on a small disk, the first gateway logs to
// another one and has a bound on its memory, and the second one logs to a pipe whose reader can stop.

const run = promisify(execFile)

const DATABASE_MEGABYTES = 400
const LOG_MEGABYTES = 40
const MEMORY = "/sys/fs/cgroup/memory"
const WITHOUT_BOUND = -1
/** As the image and the units start it. */
const FLAGS = ["--disable-sigusr1", "--max-semi-space-size=16", "--heap-growing-percent=100"]
const LOOKED_EVERY_MS = 250
const REMOVED_IN_TRIES = 20

export interface Scene {
  readonly stage: Stage
  readonly server: Server
  readonly disk: Disk
  /** Of the first gateway's log and its data folder. */
  readonly logDisk: Disk
  /** The bytes of the first gateway's log. */
  readonly log: () => string
  /** The reader of the second gateway's log stops, or goes on. */
  readonly reader: { readonly stop: () => void; readonly go: () => void }
  readonly gateways: readonly [Gateway, Gateway]
  /** The first gateway gets no more than so many bytes; null is no bound. */
  readonly limitMemory: (bytes: number | null) => Promise<void>
  /** The most memory that it had since the last call with a bound, and how often it met that. */
  readonly memory: () => { readonly mostBytes: number; readonly met: number }
}

export interface Gateway {
  readonly name: string
  readonly pid: () => number
  /** How often it ended and was started again. */
  readonly restarts: () => number
  /** No more than so many file handles, of those that it opens from now on. */
  readonly limitHandles: (count: number) => Promise<void>
  readonly handles: () => Promise<number>
}

export const openScene = async (): Promise<Scene> => {
  const folder = await mkdtemp(join(tmpdir(), "payment-gateway-disks-"))
  const group = join(MEMORY, `payment-gateway-${process.pid}`)
  const ends: Array<() => Promise<unknown>> = [() => rm(folder, { recursive: true, force: true })]
  const close = async () => {
    for (const end of ends.toReversed()) await end().catch((cause) => console.error(String(cause)))
  }
  try {
    await run("chmod", ["711", folder])
    if (!existsSync(join(MEMORY, "memory.limit_in_bytes"))) throw new Error(`there are no control groups at ${MEMORY}`)
    const disk = await openDisk(join(folder, "database.img"), join(folder, "database"), DATABASE_MEGABYTES)
    ends.push(disk.close)
    const logDisk = await openDisk(join(folder, "log.img"), join(folder, "log"), LOG_MEGABYTES)
    ends.push(logDisk.close)
    await mkdir(group)
    ends.push(() => removed(group))
    const pipe = await openPipe(join(folder, "second.pipe"), join(folder, "second.log"))
    ends.push(pipe.close)
    const log = join(logDisk.folder, "first.log")
    const server = serverOn(() => disk)
    const { database, variables } = await withAccounts(async (dataDir, life) => {
      // The last to end, after every process that needs them.
      life.ends.unshift(close)
      return server.database(dataDir, life)
    })
    const shell = (words: string, program: string, args: ReadonlyArray<string>) =>
      ["sh", ["-c", words, "sh", program, ...FLAGS, ...args]] as const
    const machines = {
      serve: async () => undefined,
      command: (name: string, program: string, args: ReadonlyArray<string>): readonly [string, ReadonlyArray<string>] => {
        if (name === "gateway one") return shell(`echo $$ >'${group}/cgroup.procs'; exec "$@" 2>>'${log}'`, program, args)
        return name === "gateway two" ? shell(`exec "$@" 2>'${pipe.file}'`, program, args) : [program, args]
      }
    }
    const more = { ...variables, ...settingsOfMtn(variables), LOG_LEVEL: "info" }
    const own = [{ variables: { DATA_DIR: join(logDisk.folder, "data") } }, {}] as const
    const stage = await openStage(more, database, own, machines)
    const [one, two] = stage.actors
    return {
      stage: { ...stage, command: commandHere(stage) },
      server,
      disk,
      logDisk,
      log: () => readFileSync(log, "utf8"),
      reader: pipe,
      gateways: [kept(one, stage), kept(two, stage)],
      limitMemory: async (bytes) => {
        await writeFile(join(group, "memory.max_usage_in_bytes"), "0")
        await writeFile(join(group, "memory.failcnt"), "0")
        await writeFile(join(group, "memory.limit_in_bytes"), String(bytes ?? WITHOUT_BOUND))
      },
      memory: () => ({
        mostBytes: Number(readFileSync(join(group, "memory.max_usage_in_bytes"), "utf8")),
        met: Number(readFileSync(join(group, "memory.failcnt"), "utf8"))
      })
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** In this process: on a busy machine a command's own start takes much longer than what it does. */
const commandHere =
  ({ variables }: Stage): Stage["command"] =>
  async (...args) => {
    const { code, errors, output } = await Effect.runPromise(gateway(variables, ...args, "--json"))
    return { code, errors, json: output.trim() === "" ? null : JSON.parse(output) }
  }

/** A group of processes that have just ended may need a moment. */
const removed = async (group: string): Promise<void> => {
  for (let left = REMOVED_IN_TRIES; ; left--) {
    const isGone = await rmdir(group).then(
      () => true,
      (cause) => {
        if (left === 0) throw cause
        return false
      }
    )
    if (isGone) return
    await pause(LOOKED_EVERY_MS)
  }
}

/** A gateway that is started again when it has ended, as a service manager does. */
const kept = ({ name, pid, start }: Actor, stage: Stage): Gateway => {
  let restarts = 0
  const life = { isOver: false }
  const own = () => pid?.() ?? 0
  const supervised = (async () => {
    while (!life.isOver) {
      await pause(LOOKED_EVERY_MS)
      if (life.isOver || existsSync(`/proc/${own()}`)) continue
      restarts++
      await start().catch((cause) => console.error(String(cause)))
    }
  })()
  stage.atEnd(async () => {
    life.isOver = true
    await supervised
  })
  return {
    name,
    pid: own,
    restarts: () => restarts,
    limitHandles: async (count) => void (await run("prlimit", [`--pid=${own()}`, `--nofile=${count}:`])),
    handles: async () => (await readdir(`/proc/${own()}/fd`)).length
  }
}

/** A named pipe, and a process that reads it into a file. */
const openPipe = async (file: string, into: string) => {
  await run("mkfifo", [file])
  // Held open, so that it has a writer while a gateway is started again.
  const held = openSync(file, constants.O_RDWR)
  const reader = spawn("sh", ["-c", `exec cat <'${file}' >>'${into}'`], { stdio: "ignore", detached: true })
  return {
    file,
    stop: () => void reader.kill("SIGSTOP"),
    go: () => void reader.kill("SIGCONT"),
    close: async () => {
      reader.kill("SIGKILL")
      closeSync(held)
    }
  }
}
