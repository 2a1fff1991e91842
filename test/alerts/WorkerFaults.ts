import { readdirSync, readFileSync } from "node:fs"
import { setTimeout as pause } from "node:timers/promises"
import { variablesOf } from "../../src/processes/WorkerSlot.ts"
import type { Fault } from "./Fault.ts"
import type { Scene } from "./Scene.ts"

/** So many has the second gateway of the drill. */
export const WORKERS = 2
const KILL_EVERY_MS = 200

/** One that is killed once is replaced before anybody looks. */
export const workerDown = ({ stage }: Scene): Fault => {
  const over = new AbortController()
  let killing: Promise<void> = Promise.resolve()
  return {
    about: "a worker dies again and again as soon as it is started, until it does not",
    alerts: ["WorkerDown"],
    how: "real",
    begin: async () => {
      killing = (async () => {
        while (!over.signal.aborted) {
          for (const pid of workersOf(stage.dataDir, WORKERS)) process.kill(pid, "SIGKILL")
          await pause(KILL_EVERY_MS)
        }
      })()
    },
    mend: async () => {
      over.abort()
      await killing
    }
  }
}

/** The processes of this installation that are the worker of this number. */
const workersOf = (dataDir: string, number: number): ReadonlyArray<number> => {
  const wanted = Object.entries({ DATA_DIR: dataDir, ...variablesOf({ number, workers: WORKERS }) })
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const set = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0")
        return wanted.every(([name, value]) => set.includes(`${name}=${value}`))
      } catch {
        // It has ended by itself.
        return false
      }
    })
    .map(Number)
}
