import { readdirSync, readFileSync } from "node:fs"
import type { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { parentOf } from "../../bench/Processes.ts"

// What the system and the database say about a gateway that works.

const MEBIBYTE = 1024 * 1024
/** V8 takes its heap from the system in pages of this size, at multiples of it. */
const HEAP_PAGE = 256 * 1024
/** glibc's arenas begin at multiples of this size. */
const ARENA = 64 * MEBIBYTE

/** Memory that is a process's own, and its share of what it has with others, in MiB; none where it has ended. */
export const memoryOf = (pid: number): number => proportional(read(`/proc/${pid}/smaps_rollup`), "Pss")

/** The same without segments that processes share to write in, such as PostgreSQL's shared buffers. */
export const unsharedOf = (pid: number): number => {
  const rollup = read(`/proc/${pid}/smaps_rollup`)
  return proportional(rollup, "Pss") - proportional(rollup, "Pss_Shmem")
}

const proportional = (rollup: string, what: "Pss" | "Pss_Shmem"): number => {
  const [, kilobytes] = new RegExp(`^${what}:\\s+(\\d+) kB`, "m").exec(rollup) ?? []
  return Number(kilobytes ?? 0) / 1024
}

/**
 * What V8 has taken from the system for the JavaScript heap, and how much of that is in memory, in MiB. A page of the system counts from its first
 * use on, and V8 keeps it: the second grows towards the first, however little is in use.
 */
export const heapPagesOf = (pid: number): HeapPages => heapPagesIn(read(`/proc/${pid}/smaps`))

export interface HeapPages {
  readonly taken: number
  readonly inMemory: number
}

export const heapPagesIn = (maps: string): HeapPages => {
  const pages = maps.split(/^(?=[0-9a-f]+-[0-9a-f]+ )/m).flatMap((mapping) => {
    const [, from, to] = /^([0-9a-f]+)-([0-9a-f]+) rw-p \S+ \S+ 0 *\n/.exec(mapping) ?? []
    const [start, end] = [Number.parseInt(from ?? "", 16), Number.parseInt(to ?? "", 16)]
    const isPage = start % HEAP_PAGE === 0 && start % ARENA !== 0
    return isPage ? [{ taken: mebibytes(end - start), inMemory: proportional(mapping, "Pss") }] : []
  })
  const sum = (of: (pages: HeapPages) => number) => pages.reduce((total, one) => total + of(one), 0)
  return { taken: sum(({ taken }) => taken), inMemory: sum(({ inMemory }) => inMemory) }
}

/** What a gateway says at `/metrics` that its JavaScript heap has in use, in MiB. */
export const heapOf = async (management: string): Promise<number> => {
  const answer = await fetch(`http://${management}/metrics`, { signal: AbortSignal.timeout(2_000) })
  const [, bytes] = /^nodejs_heap_size_used_bytes (\S+)/m.exec(await answer.text()) ?? []
  if (bytes === undefined) throw new Error(`${management} does not tell its heap`)
  return mebibytes(Number(bytes))
}

/** Files, sockets and pipes that a process has open. */
export const handlesOf = (pid: number): number => {
  try {
    return readdirSync(`/proc/${pid}/fd`).length
  } catch {
    return 0
  }
}

/** A server with all of its processes. */
export const treeOf = (pid: number): ReadonlyArray<number> => {
  const all = readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))
  return [pid, ...all.map(Number).filter((one) => parentOf(one) === pid)]
}

const read = (file: string): string => {
  try {
    return readFileSync(file, "utf8")
  } catch {
    return ""
  }
}

export const mebibytes = (bytes: number): number => bytes / MEBIBYTE

export const databaseFigures = (sql: SqlClient.SqlClient): Effect.Effect<ReadonlyArray<DatabaseFigures>, unknown> =>
  sql<DatabaseFigures>`SELECT pg_database_size(current_database())::float8 AS bytes,
    (SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database()) AS connections,
    (SELECT count(*)::int FROM open_work WHERE is_open) AS open`

export interface DatabaseFigures {
  readonly bytes: number
  readonly connections: number
  readonly open: number
}
