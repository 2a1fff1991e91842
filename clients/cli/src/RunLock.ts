import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { existsSync } from "node:fs"
import { link, readFile, rm, writeFile } from "node:fs/promises"
import { hostname } from "node:os"
import process from "node:process"
import { setTimeout } from "node:timers/promises"
import { promisify } from "node:util"
import { Refusal } from "./Refusal.ts"

/** A process, told apart from a later one with its number by when it began; null where the system does not say. */
interface Holder {
  readonly pid: number
  readonly host: string
  readonly began: string | null
}

const TIMES = 100
const PAUSE_MS = 20

/**
 * Takes the lock file, or refuses where a process that runs has it. One that a killed process left behind is taken over. Among processes of one
 * machine there is never a second holder. What runs on another machine cannot be seen from here: its lock is refused.
 */
export const takeLock = async (file: string): Promise<void> => {
  const own: Holder = { pid: process.pid, host: hostname(), began: await beganAt(process.pid) }
  for (let time = 0; time < TIMES; time++) {
    if (await appears(file, own)) return
    const found = await readFile(file, "utf8").catch(() => undefined)
    if (found === undefined) continue
    const holder = holderIn(found)
    if (holder === undefined || (await mayRun(holder))) throw new Refusal(`${underWay(holder)}; if it is not, delete ${file}`)
    await dropStale(file, found, own)
  }
  throw new Refusal(`cannot take over ${file}: others try, too`)
}

export const freeLock = (file: string): Promise<void> => rm(file, { force: true })

const underWay = (holder: Holder | undefined): string => {
  if (holder === undefined) return "the run may be under way"
  return `the run is under way in process ${holder.pid}${holder.host === hostname() ? "" : ` on ${holder.host}`}`
}

/** The file appears with its content or not at all: as with O_EXCL a name that exists is refused, but after the writing. */
const appears = async (file: string, own: Holder): Promise<boolean> => {
  const draft = `${file}.${randomBytes(6).toString("hex")}`
  try {
    await writeFile(draft, JSON.stringify(own), { flag: "wx", mode: 0o600 })
    await link(draft, file)
    return true
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "EEXIST") return false
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
    const holder = holderIn(await readFile(beside, "utf8").catch(() => JSON.stringify(own)))
    if (holder === undefined || !(await mayRun(holder)))
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

const holderIn = (text: string): Holder | undefined => {
  try {
    const { began, host, pid } = JSON.parse(text)
    const isHolder = Number.isInteger(pid) && pid > 0 && typeof host === "string" && (began === null || typeof began === "string")
    return isHolder ? { pid, host, began } : undefined
  } catch {
    return undefined
  }
}

const mayRun = async ({ began, host, pid }: Holder): Promise<boolean> => {
  if (host !== hostname()) return true
  const now = await beganAt(pid)
  // Processes of other users may be hidden.
  return began === null || now === null ? isNumberUsed(pid) : now === began
}

const onLinux = existsSync("/proc/self/stat")

/** When a process began; null where there is none, or it is not known. */
const beganAt = async (pid: number): Promise<string | null> => {
  try {
    if (!onLinux) return (await promisify(execFile)("ps", ["-o", "lstart=", "-p", String(pid)])).stdout.trim() || null
    const stat = await readFile(`/proc/${pid}/stat`, "utf8")
    const boot = await readFile("/proc/sys/kernel/random/boot_id", "utf8")
    // The name in parentheses may hold spaces; the state is field 3 and the start time field 22 of proc_pid_stat(5).
    const [state, ...fields] = stat.slice(stat.lastIndexOf(")") + 2).split(" ")
    return state === "Z" ? "ended" : `${fields[18]} ${boot.trim()}`
  } catch {
    return null
  }
}

const isNumberUsed = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return error instanceof Error && "code" in error && error.code === "EPERM"
  }
}
