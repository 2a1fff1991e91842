import { appendFileSync } from "node:fs"
import { setTimeout as pause } from "node:timers/promises"
import { withSession } from "../../test/support/DatabaseSession.ts"
import type { Actor, Address, Stage } from "../chaos/Stage.ts"
import { databaseFigures, handlesOf, heapOf, heapPagesOf, mebibytes, memoryOf, treeOf, unsharedOf } from "./Samples.ts"
import { type FittedLine, lineThrough } from "./Trend.ts"

const EVERY_MS = 15_000
/** The heap grows and is collected every few seconds: a look has the mean of some readings. */
const HEAP_EVERY_MS = 3_000
/**
 * From when on looks count: a successful payout is asked about again after an hour, so that the work is the same from then on. Of a run that
 * ends before, what a process takes while it gets going, compiling and filling its caches, is no leak either.
 */
const STEADY_HOURS = 70 / 60
const WARM_UP_HOURS = 10 / 60
const HOUR_MS = 3_600_000
const DISK = "PostgreSQL: disk, MiB"
const DISK_BY_OPERATIONS = "PostgreSQL: disk, MiB per 1,000 operations"

type Figures = Readonly<Record<string, number>>

/** What one look found; of a look that failed in part, the rest. */
interface Look {
  readonly hours: number
  /** Answered until then. */
  readonly operations: number
  readonly figures: Figures
  readonly missed?: string
}

export type Trends = Readonly<Record<string, FittedLine>>

/** Looks at a stage until it is ended, and writes each look to a file at once. Of a short run all looks count. */
export const watch = (stage: Stage, file: string) => {
  const looks: Array<Look> = []
  const began = performance.now()
  let latencies: Array<number> = []
  let [failed, operations] = [0, 0]
  const look = async () => {
    const hours = (performance.now() - began) / HOUR_MS
    const took = latencies
    latencies = []
    const made = operations
    const own = { ...processFigures(stage), ...latencyFigures(took), ...heaps.means() }
    const found = await databaseOf(stage).then(
      (figures) => ({ figures: { ...own, ...figures } }),
      (cause: unknown) => ({ figures: own, missed: String(cause) })
    )
    const one = { hours, operations: made, ...found }
    looks.push(one)
    appendFileSync(file, `${JSON.stringify(one)}\n`)
  }
  const end = new AbortController()
  const heaps = readHeaps(stage)
  const again = async (everyMs: number, one: () => Promise<void>) => {
    while (!end.signal.aborted) {
      await one()
      await pause(everyMs, undefined, { signal: end.signal }).catch(() => undefined)
    }
  }
  const looking = Promise.all([again(EVERY_MS, look), again(HEAP_EVERY_MS, heaps.read)])
  return {
    /** How long the first answer to an operation took, from when it was due. */
    answered: (milliseconds: number, status: number | undefined) => {
      latencies.push(milliseconds)
      operations++
      // Refusals by the provider are among the endings.
      if (status === undefined || status >= 500 || status === 429) failed++
    },
    ended: async () => {
      end.abort()
      await looking
      await look()
      const missed = looks.filter((one) => one.missed !== undefined).length
      return { failed, samples: looks.length, missed, trends: trendsOf(looks) }
    }
  }
}

export type Watching = ReturnType<typeof watch>

const processFigures = ({ actors }: Stage): Figures => {
  const [first, second, simulator, server] = actors
  const figures: Record<string, number> = { "this harness: memory, MiB": memoryOf(process.pid) }
  for (const { name, pid } of [first, second, simulator] satisfies ReadonlyArray<Actor>) {
    const id = pid?.()
    if (id === undefined) continue
    figures[`${name}: memory, MiB`] = memoryOf(id)
    figures[`${name}: open files and sockets`] = handlesOf(id)
  }
  for (const { name, pid } of [first, second] satisfies ReadonlyArray<Actor>) {
    const id = pid?.()
    if (id === undefined) continue
    const { inMemory, taken } = heapPagesOf(id)
    figures[`${name}: pages of its heap, MiB`] = taken
    figures[`${name}: pages of its heap in memory, MiB`] = inMemory
    figures[`${name}: memory beside them, MiB`] = (figures[`${name}: memory, MiB`] ?? 0) - inMemory
  }
  const postgres = server.pid?.()
  if (postgres !== undefined) {
    const all = treeOf(postgres)
    figures["PostgreSQL: memory, MiB"] = all.reduce((sum, pid) => sum + memoryOf(pid), 0)
    figures["PostgreSQL: memory beside shared buffers, MiB"] = all.reduce((sum, pid) => sum + unsharedOf(pid), 0)
  }
  return figures
}

/** What both gateways said of their heaps since the last look; one that does not answer is left out. */
const readHeaps = ({ actors: [first, second], managements: [ofFirst, ofSecond] }: Stage) => {
  let readings: ReadonlyArray<readonly [name: string, mebibytes: number]> = []
  const reading = async (name: string, { host }: Address) => {
    const found = await heapOf(host).catch(() => undefined)
    if (found !== undefined) readings = [...readings, [`${name}: JavaScript heap in use, MiB`, found]]
  }
  return {
    read: async () => {
      await Promise.all([reading(first.name, ofFirst), reading(second.name, ofSecond)])
    },
    means: (): Figures => {
      const taken = Map.groupBy(readings, ([name]) => name)
      readings = []
      return Object.fromEntries([...taken].map(([name, all]) => [name, all.reduce((sum, [, one]) => sum + one, 0) / all.length]))
    }
  }
}

const latencyFigures = (took: ReadonlyArray<number>): Figures => {
  const sorted = took.toSorted((one, other) => one - other)
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
  const [p50, p99] = [at(0.5), at(0.99)]
  return p50 === undefined || p99 === undefined ? {} : { "p50 of an operation, ms": p50, "p99 of an operation, ms": p99 }
}

const databaseOf = async (stage: Stage): Promise<Figures> => {
  const [found] = await withSession(addressOf(stage), databaseFigures)
  if (found === undefined) throw new Error("PostgreSQL said nothing")
  return {
    [DISK]: mebibytes(found.bytes),
    "PostgreSQL: connections": found.connections,
    "open transactions": found.open
  }
}

const trendsOf = (looks: ReadonlyArray<Look>): Trends => {
  const since = (from: number) => looks.filter(({ hours }) => hours >= from)
  const counted = [since(STEADY_HOURS), since(WARM_UP_HOURS)].find(({ length }) => length >= 3) ?? looks
  const lineOf = (name: string, of: (look: Look) => number) => {
    const samples = counted.flatMap((look) => {
      const value = look.figures[name]
      return value === undefined ? [] : [{ at: of(look), value }]
    })
    return lineThrough(samples)
  }
  const names = [...new Set(counted.flatMap(({ figures }) => Object.keys(figures)))]
  const lines = [
    ...names.map((name) => [name, lineOf(name, ({ hours }) => hours)] as const),
    [DISK_BY_OPERATIONS, lineOf(DISK, ({ operations }) => operations / 1000)] as const
  ]
  return Object.fromEntries(lines.flatMap(([name, line]) => (line === undefined ? [] : [[name, rounded(line)]])))
}

const rounded = ({ from, give_or_take, slope, to }: FittedLine): FittedLine => {
  const short = (value: number) => Math.round(value * 100) / 100
  return { from: short(from), to: short(to), slope: short(slope), give_or_take: short(give_or_take) }
}

const addressOf = ({ variables }: Stage) => {
  const { hostname, password, pathname, port, username } = new URL(variables["DATABASE_URL"] ?? "")
  return { host: hostname, port: Number(port), username, password, database: pathname.slice(1) }
}
