import { mkdtempSync, readdirSync, readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect } from "effect"
import { EmbeddedPostgres } from "../../src/persistence/EmbeddedPostgres.ts"
import { makeGround } from "./Ground.ts"
import { simulate } from "./Simulation.ts"

const [from = 1, count = 10, steps = 8] = process.argv.slice(2).map(Number)
const maxFaults = 12
const pgCpu = (port: number): number => {
  const pids = readdirSync("/proc").filter((n) => /^\d+$/.test(n))
  const stat = (pid: string) => {
    try {
      return readFileSync(`/proc/${pid}/stat`, "utf8")
        .replace(/^.*\) /, "")
        .split(" ")
    } catch {
      return []
    }
  }
  const cmd = (pid: string) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8")
    } catch {
      return ""
    }
  }
  const master = pids.find((pid) => cmd(pid).includes(`port=${port}`))
  const all = pids.filter((pid) => pid === master || stat(pid)[1] === master)
  return all.reduce((sum, pid) => {
    const f = stat(pid).map(Number)
    return sum + ((f[11] ?? 0) + (f[12] ?? 0) + (pid === master ? (f[13] ?? 0) + (f[14] ?? 0) : 0)) / 100
  }, 0)
}
await Effect.runPromise(
  Effect.scoped(
    Effect.gen(function* () {
      const dataDir = mkdtempSync(join(tmpdir(), "simmany-"))
      const server = yield* EmbeddedPostgres.ensureRunning(dataDir, "off")
      yield* Effect.addFinalizer(() => Effect.orDie(EmbeddedPostgres.stop(dataDir)))
      const ground = yield* makeGround(EmbeddedPostgres.url(server))
      const totals = { seeds: 0, operations: 0, crashes: 0, movements: 0, reviewed: 0, failed: 0 }
      const c = process.cpuUsage()
      const pc = pgCpu(server.port)
      const t = performance.now()
      for (let seed = from; seed < from + count && totals.failed < maxFaults; seed++) {
        const { faults, operations, crashes, movements, reviewed } = yield* simulate(seed, steps, ground)
        totals.seeds++
        totals.operations += operations
        totals.crashes += crashes
        totals.movements += movements
        totals.reviewed += reviewed
        if (faults.length > 0) {
          totals.failed++
          console.log(
            "FAILED",
            seed,
            steps,
            faults
              .slice(0, 4)
              .map((f) => f.slice(0, 600))
              .join(" | ")
          )
        }
        if (totals.seeds % 100 === 0) console.log(JSON.stringify(totals))
      }
      const d = process.cpuUsage(c)
      console.log(
        JSON.stringify(totals),
        "pg cpu s",
        (pgCpu(server.port) - pc).toFixed(1),
        "node cpu s",
        (d.user + d.system) / 1e6,
        "wall",
        (performance.now() - t) / 1000
      )
    })
  )
)
