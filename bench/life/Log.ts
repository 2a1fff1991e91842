import { setTimeout as pause } from "node:timers/promises"
import type { Bench, Cluster } from "../Cluster.ts"

// What the server writes, counted in its write-ahead log by pg_walinspect: exact, and the same on a busy machine. No table is named here.

/** What was written in a stretch of the log. */
export interface Written {
  readonly seconds: number
  /** Transactions that wrote something. Those that only read leave no record. */
  readonly commits: number
  /** Bytes by which the log grew, without the images of whole pages. */
  readonly bytes: number
  /** Bytes of the images: each page is logged whole when it is first written after a checkpoint. */
  readonly imageBytes: number
  readonly tables: Tables
}

/** One table with its indexes and what is stored out of line; partitions are counted as their table. */
export interface TableWrites {
  readonly inserts: number
  /** All updates, and those of them in place (HOT): no index was written. */
  readonly updates: number
  readonly hotUpdates: number
  readonly deletes: number
  /** Entries in the leaves of its B-trees. */
  readonly entries: number
  readonly bytes: number
}

type Tables = Readonly<Record<string, TableWrites>>

const counts = ["inserts", "updates", "hotUpdates", "deletes", "entries", "bytes"] as const

/** Switches automatic vacuuming off, whose writes would belong to no payout; `restore` undoes it. */
export const prepareLog = async (cluster: Cluster, { query }: Bench) => {
  await query("CREATE EXTENSION IF NOT EXISTS pg_walinspect")
  const autovacuum = async (command: string) => {
    await cluster.query(command)
    await cluster.query("SELECT pg_reload_conf()")
  }
  await autovacuum("ALTER SYSTEM SET autovacuum = off")
  return { restore: () => autovacuum("ALTER SYSTEM RESET autovacuum") }
}

/** How long the server may go on with what was asked of it, before its log is read. */
const AFTERWARDS_MS = 500

/** What was written while `work` ran, by everything on the server. */
export const written = async ({ query }: Bench, work: () => Promise<void>): Promise<Written> => {
  const from = await position(query)
  const startedAt = performance.now()
  await work()
  await pause(AFTERWARDS_MS)
  const seconds = (performance.now() - startedAt) / 1000
  const stretch = [from, await position(query)]
  if (from === stretch[1]) return { seconds, commits: 0, bytes: 0, imageBytes: 0, tables: {} }
  const [row] = await query(RECORDS, stretch)
  const tables = (await query(BLOCKS, stretch)).map(
    (table) => [String(table["name"]), pick((name) => Number(table[name]))] as const
  )
  const imageBytes = Number(row?.["image_bytes"])
  const bytes = Number(row?.["bytes"]) - imageBytes
  return { seconds, commits: Number(row?.["commits"]), bytes, imageBytes, tables: Object.fromEntries(tables) }
}

/** Each of `count` units of work, without what the server writes in the same time when it is idle. */
export const eachOf = (count: number, busy: Written, idle: Written): Omit<Written, "seconds"> => {
  const share = busy.seconds / idle.seconds
  const each = (during: number, besides = 0) => (during - besides * share) / count
  const tables = Object.entries(busy.tables).map(
    ([name, table]) => [name, pick((what) => each(table[what], idle.tables[name]?.[what]))] as const
  )
  return {
    commits: each(busy.commits, idle.commits),
    bytes: each(busy.bytes, idle.bytes),
    imageBytes: each(busy.imageBytes, idle.imageBytes),
    tables: Object.fromEntries(tables)
  }
}

/** Of all tables together. */
export const sumOf = (tables: Tables): TableWrites =>
  pick((what) => Object.values(tables).reduce((sum, table) => sum + table[what], 0))

/** One figure a kind of write. */
export const pick = (of: (what: (typeof counts)[number]) => number): TableWrites => ({
  inserts: of("inserts"),
  updates: of("updates"),
  hotUpdates: of("hotUpdates"),
  deletes: of("deletes"),
  entries: of("entries"),
  bytes: of("bytes")
})

const position = async (query: Bench["query"]): Promise<string> => {
  const [row] = await query("SELECT pg_current_wal_insert_lsn() AS at")
  return String(row?.["at"])
}

const RECORDS = `
SELECT $2::pg_lsn - $1::pg_lsn AS bytes, coalesce(sum(fpi_length), 0) AS image_bytes,
  count(*) FILTER (WHERE resource_manager = 'Transaction' AND record_type LIKE 'COMMIT%') AS commits
FROM pg_get_wal_records_info($1::pg_lsn, $2::pg_lsn)`

// A record's first block is the one that it is about. An entry of a B-tree comes with INSERT_LEAF, with INSERT_POST (into a list of equal
// keys), or with the split of a leaf that has no room for it.
const BLOCKS = `
WITH records AS (
  SELECT pg_filenode_relation(reltablespace, relfilenode) AS relation, resource_manager || ' ' || split_part(record_type, '+', 1) AS record,
    record_length - block_fpi_length AS bytes, description
  FROM pg_get_wal_block_info($1::pg_lsn, $2::pg_lsn, false)
  WHERE block_id = 0 AND relforknumber = 0 AND reldatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
), owned AS (
  SELECT records.*, coalesce(i.indrelid, t.oid, relation)::regclass AS owner
  FROM records LEFT JOIN pg_index i ON i.indexrelid = relation LEFT JOIN pg_class t ON t.reltoastrelid = coalesce(i.indrelid, relation)
)
SELECT coalesce(pg_partition_root(owner), owner)::text AS name,
  coalesce(sum(CASE record WHEN 'Heap INSERT' THEN 1 WHEN 'Heap2 MULTI_INSERT' THEN substring(description from 'ntuples: (\\d+)')::int END), 0) AS inserts,
  count(*) FILTER (WHERE record IN ('Heap UPDATE', 'Heap HOT_UPDATE')) AS updates,
  count(*) FILTER (WHERE record = 'Heap HOT_UPDATE') AS "hotUpdates",
  count(*) FILTER (WHERE record = 'Heap DELETE') AS deletes,
  count(*) FILTER (WHERE record IN ('Btree INSERT_LEAF', 'Btree INSERT_POST')
    OR record IN ('Btree SPLIT_L', 'Btree SPLIT_R') AND description LIKE '%level: 0,%') AS entries,
  sum(bytes) AS bytes
FROM owned GROUP BY 1 ORDER BY 1`
