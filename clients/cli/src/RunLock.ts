import { execFile } from "node:child_process"
import { createHash, randomBytes } from "node:crypto"
import { existsSync } from "node:fs"
import { link, readFile, readlink, rm, writeFile } from "node:fs/promises"
import { hostname } from "node:os"
import process from "node:process"
import { setTimeout } from "node:timers/promises"
import { promisify } from "node:util"
import { Refusal } from "./Refusal.ts"

/** A process, told apart from a later one with its number by when it began; null where the system does not say. */
interface Holder {
  readonly pid: number
  readonly host: string
  /** The machine itself, because two may have one name; null where it says none. */
  readonly machine: string | null
  /** Whose numbers `pid` is one of, as a container has its own; null where the system has none. */
  readonly namespace: string | null
  readonly began: string | null
}

const TIMES = 100
const PAUSE_MS = 20
/** How often a lock that names no holder is read again: without links it is written after it has appeared. */
const READS = 10
/** What link() says on a file system that has none, such as FAT, SMB or FUSE. */
const noLinks: ReadonlySet<unknown> = new Set(["EPERM", "ENOTSUP", "EOPNOTSUPP", "ENOSYS"])
const OWN_NEW_FILE = { flag: "wx", mode: 0o600 }

/**
 * Takes the lock file, or refuses where a process that runs has it. One that a killed process left behind is taken over. Among processes of one
 * machine there is never a second holder. What runs on another machine or in another container cannot be seen from here: its lock is refused.
 */
export const takeLock = async (file: string): Promise<void> => {
  const own = {
    pid: process.pid,
    host: hostname(),
    machine: await ownMachine(),
    namespace: await ownNamespace(),
    began: await beganAt(process.pid)
  }
  for (let time = 0; time < TIMES; time++) {
    if (await appears(file, own)) return
    const found = await lockIn(file)
    if (found === undefined) continue
    const holder = holderIn(found)
    if (holder === undefined || (await mayRun(holder, own)))
      throw new Refusal(`${underWay(holder, own)}; if it is not, delete ${file}`)
    await dropStale(file, found, own)
  }
  throw new Refusal(`cannot take over ${file}: others try, too`)
}

export const freeLock = (file: string): Promise<void> => rm(file, { force: true })

const underWay = (holder: Holder | undefined, own: Holder): string => {
  if (holder === undefined) return "the run may be under way"
  return `the run is under way in process ${holder.pid}${whereIs(holder, own)}`
}

const whereIs = (holder: Holder, own: Holder): string => {
  if (holder.host !== own.host) return ` on ${holder.host}`
  if (holder.machine !== own.machine) return ` on another machine that is named ${holder.host}`
  return holder.namespace === own.namespace ? "" : " of another container"
}

/**
 * The file appears with its content or not at all: as with O_EXCL a name that exists is refused, but after the writing. Where the file
 * system has no links it is O_EXCL itself.
 */
const appears = async (file: string, own: Holder): Promise<boolean> => {
  const draft = `${file}.${randomBytes(6).toString("hex")}`
  try {
    await writeFile(draft, JSON.stringify(own), OWN_NEW_FILE)
    await link(draft, file).catch((error: unknown) => {
      if (!noLinks.has(codeOf(error))) throw error
      return writeFile(file, JSON.stringify(own), OWN_NEW_FILE)
    })
    return true
  } catch (error) {
    if (codeOf(error) === "EEXIST") return false
    throw new Refusal(`cannot write ${file}: ${String(error)}`)
  } finally {
    await rm(draft, { force: true })
  }
}

/**
 * Removes the lock of a process that has gone. Only who has the file beside it may, so that nobody removes the lock of one who was quicker.
 * That file is never taken over itself: of a process that was killed just then it stays, and a person removes it.
 */
const dropStale = async (file: string, seen: string, own: Holder): Promise<void> => {
  const beside = `${file}.takeover`
  if (!(await appears(beside, own))) {
    const holder = holderIn((await lockIn(beside)) ?? JSON.stringify(own))
    if (holder === undefined || !(await mayRun(holder, own)))
      throw new Refusal(`a process was killed while it took over: delete ${beside}`)
    await setTimeout(PAUSE_MS)
    return
  }
  try {
    if ((await readFile(file, "utf8").catch(() => undefined)) === seen) await rm(file, { force: true })
  } finally {
    await rm(beside, { force: true })
  }
}

/** Undefined where there is none. */
const lockIn = async (file: string): Promise<string | undefined> => {
  for (let read = 1; ; read++) {
    const text = await readFile(file, "utf8").catch(() => undefined)
    if (text === undefined || holderIn(text) !== undefined || read === READS) return text
    await setTimeout(PAUSE_MS)
  }
}

const holderIn = (text: string): Holder | undefined => {
  try {
    const { began, host, machine, namespace, pid } = JSON.parse(text)
    const isHolder =
      Number.isInteger(pid) && pid > 0 && typeof host === "string" && [machine, namespace, began].every(isTextOrNull)
    return isHolder ? { pid, host, machine, namespace, began } : undefined
  } catch {
    return undefined
  }
}

const isTextOrNull = (value: unknown): boolean => value === null || typeof value === "string"

const mayRun = async ({ began, host, machine, namespace, pid }: Holder, own: Holder): Promise<boolean> => {
  if (host !== own.host || machine !== own.machine || namespace !== own.namespace) return true
  const now = await beganAt(pid)
  // Processes of other users may be hidden.
  return began === null || now === null ? isNumberUsed(pid) : now === began
}

const onLinux = existsSync("/proc/self/stat")
const BOOT = "/proc/sys/kernel/random/boot_id"
/** In their order; machine-id(5) asks for a hash of its text. The last is another one after each start. */
const MACHINE_IDS = ["/etc/machine-id", "/var/lib/dbus/machine-id", BOOT]

/** When a process began; null where there is none, or it is not known. */
const beganAt = async (pid: number): Promise<string | null> => {
  try {
    if (!onLinux) return await startByPs(pid)
    const stat = await readFile(`/proc/${pid}/stat`, "utf8")
    const boot = await readFile(BOOT, "utf8")
    // The name in parentheses may hold spaces; the state is field 3 and the start time field 22 of proc_pid_stat(5).
    const [state, ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    return state === "Z" ? "ended" : `${fields[18]} ${boot.trim()}`
  } catch {
    return null
  }
}

/** One text for one start: ps writes it in the zone and the language of who asks. */
export const startByPs = async (pid: number): Promise<string | null> => {
  const env = { ...process.env, TZ: "UTC", LC_ALL: "C" }
  return (await promisify(execFile)("ps", ["-o", "lstart=", "-p", String(pid)], { env })).stdout.trim() || null
}

/** A machine that has no id of its own, such as many a container, is another one after each start: what ran before is a person's to judge. */
const ownMachine = async (): Promise<string | null> => {
  for (const file of MACHINE_IDS) {
    const id = (await readFile(file, "utf8").catch(() => "")).trim()
    if (id !== "") return createHash("sha256").update(`payment-gateway run lock ${id}`).digest("hex").slice(0, 32)
  }
  return null
}

const ownNamespace = (): Promise<string | null> => readlink("/proc/self/ns/pid").catch(() => null)

const isNumberUsed = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return codeOf(error) === "EPERM"
  }
}

const codeOf = (error: unknown): unknown => (error instanceof Error && "code" in error ? error.code : undefined)
