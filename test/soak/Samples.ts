import { readdirSync, readFileSync } from "node:fs"
import type { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { parentOf } from "../../bench/Processes.ts"

// What the system and the database say about a gateway that works.

const MEBIBYTE = 1024 * 1024

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
