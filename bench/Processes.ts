import { readdirSync, readFileSync } from "node:fs"

// What the system says about processes.

const TICKS_PER_SECOND = 100

/** What a process has in memory, in bytes. */
export const residentBytes = (pid: number): number => {
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? []
  return Number(kilobytes) * 1024
}

/** Seconds of processor time that a process has used; none where it has ended. */
export const cpuSeconds = (pid: number): number => {
  const fields = statOf(pid)
  return (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / TICKS_PER_SECOND
}

/** The same of the server's processes that serve one database now. */
export const databaseCpuSeconds = (url: string): number => {
  const name = new URL(url).pathname.slice(1)
  const serves = (pid: number): boolean =>
    read(`/proc/${pid}/cmdline`).startsWith("postgres: ") && read(`/proc/${pid}/cmdline`).split(" ").includes(name)
  return pids().reduce((seconds, pid) => (serves(pid) ? seconds + cpuSeconds(pid) : seconds), 0)
}

/** A server as a whole: all of its processes, those that have ended included. */
export const serverCpuSeconds = (server: number): number => {
  const own = pids().filter((one) => one === server || parentOf(one) === server)
  return own.reduce((seconds, one) => seconds + cpuSeconds(one), endedCpuSeconds(server))
}

/** This process with the programs that it ran. */
export const ownCpuSeconds = (): number => {
  const { system, user } = process.cpuUsage()
  return (user + system) / 1e6 + endedCpuSeconds(process.pid)
}

/** Of the children that have ended. */
const endedCpuSeconds = (pid: number): number => (Number(statOf(pid)[13] ?? 0) + Number(statOf(pid)[14] ?? 0)) / TICKS_PER_SECOND

export const parentOf = (pid: number): number => Number(statOf(pid)[1] ?? 0)

const pids = (): ReadonlyArray<number> =>
  readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)

/** From the third field on: the second, a name, may hold spaces. */
const statOf = (pid: number): ReadonlyArray<string> => read(`/proc/${pid}/stat`).split(") ")[1]?.split(" ") ?? []

const read = (file: string): string => {
  try {
    return readFileSync(file, "utf8")
  } catch {
    return ""
  }
}
