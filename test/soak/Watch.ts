import { Effect } from "effect"
import type { Actor, Stage } from "../chaos/Stage.ts"
import { withSession } from "../support/DatabaseSession.ts"
import { databaseFigures, handlesOf, mebibytes, memoryOf, treeOf } from "./Samples.ts"
import { type Sample, type Trend, trendOf } from "./Trend.ts"

const EVERY_MS = 15_000
/** What a process takes while it gets going, compiling and filling its caches, is no leak. */
const WARM_UP_HOURS = 10 / 60
const HOUR_MS = 3_600_000

/** Samples a stage until it is ended; of a short run all samples count. */
export const watch = (stage: Stage) => {
  const [first, second, simulator, server] = stage.actors
  const series = new Map<string, Array<Sample>>()
  const began = performance.now()
  const latencies: Array<number> = []
  let failed = 0
  const note = (name: string, value: number) => {
    const own = series.get(name) ?? []
    series.set(name, own)
    own.push({ hours: (performance.now() - began) / HOUR_MS, value })
  }
  const ofProcess = ({ name, pid }: Actor) => {
    const id = pid?.()
    if (id === undefined) return
    note(`${name}: memory, MiB`, memoryOf(id))
    note(`${name}: open files and sockets`, handlesOf(id))
  }
  const look = async () => {
    for (const actor of [first, second, simulator]) ofProcess(actor)
    const postgres = server.pid?.()
    if (postgres !== undefined)
      note(
        "PostgreSQL: memory, MiB",
        treeOf(postgres).reduce((sum, pid) => sum + memoryOf(pid), 0)
      )
    const [figures] = await withSession(addressOf(stage), databaseFigures)
    if (figures !== undefined) {
      note("PostgreSQL: disk, MiB", mebibytes(figures.bytes))
      note("PostgreSQL: connections", figures.connections)
      note("open transactions", figures.open)
    }
    const sorted = latencies.splice(0).toSorted((one, other) => one - other)
    const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
    for (const [name, share] of [
      ["p50", 0.5],
      ["p99", 0.99]
    ] as const) {
      const latency = at(share)
      if (latency !== undefined) note(`${name} of an operation, ms`, latency)
    }
  }
  const end = new AbortController()
  const looking = Effect.runPromise(Effect.forever(Effect.andThen(Effect.promise(look), Effect.sleep(EVERY_MS))), {
    signal: end.signal
  }).catch((cause: unknown) => {
    if (!end.signal.aborted) throw cause
  })
  return {
    /** How long the first answer to an operation took, from when it was due. */
    answered: (milliseconds: number, status: number | undefined) => {
      latencies.push(milliseconds)
      // Refusals by the provider are among the endings.
      if (status === undefined || status >= 500 || status === 429) failed++
    },
    ended: async () => {
      await look()
      end.abort()
      await looking
      return { failed, trends: Object.fromEntries([...series].flatMap(([name, all]) => trendFor(name, all))) }
    }
  }
}

const trendFor = (name: string, all: ReadonlyArray<Sample>): ReadonlyArray<readonly [string, Trend]> => {
  const warm = all.filter(({ hours }) => hours >= WARM_UP_HOURS)
  const trend = trendOf(warm.length < 3 ? all : warm)
  return trend === undefined ? [] : [[name, rounded(trend)]]
}

const rounded = ({ from, give_or_take, per_hour, to }: Trend): Trend => {
  const short = (value: number) => Math.round(value * 100) / 100
  return { from: short(from), to: short(to), per_hour: short(per_hour), give_or_take: short(give_or_take) }
}

const addressOf = ({ variables }: Stage) => {
  const { hostname, password, pathname, port, username } = new URL(variables["DATABASE_URL"] ?? "")
  return { host: hostname, port: Number(port), username, password, database: pathname.slice(1) }
}
