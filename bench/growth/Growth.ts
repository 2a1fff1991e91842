import type { Bench, Cluster } from "../Cluster.ts"
import { CALLERS, filling } from "../ledger/MoneySteps.ts"
import { openLedger } from "../ledger/Ours.ts"
import { givenPayouts, givenTenants } from "../ledger/Payout.ts"
import { ownCpuSeconds, parentOf, serverCpuSeconds } from "../Processes.ts"
import { type Effort, inTurn, type Measured, type Part, percentile } from "../Report.ts"
import { givenAuditRows, givenEndpoints, givenMonths, givenPast } from "./History.ts"
import { everyDayReads } from "./Reads.ts"
import { besideSweeper } from "./Sweeps.ts"
import { verified } from "./Verified.ts"

/** How many transactions are stored; each is filled up from the one before. GROWTH_SIZES names others: 6.5 GB of disk a million. */
const FULL = {
  tenants: 10_000,
  sizes: (process.env["GROWTH_SIZES"] ?? "200000,2000000").split(",").map(Number)
}
const QUICK = { tenants: 1_000, sizes: [5_000, 50_000] }

/** Payouts whose latency is looked at, of few callers. */
const SINGLES = 4_000
const SINGLE_CALLERS = 16

/** A database with the tenants, their float and their endpoints, and its ledger. */
const opened = async (cluster: Cluster, name: string, tenants: number, prepared: (bench: Bench) => Promise<unknown>) => {
  const bench = await cluster.fresh(name)
  await prepared(bench)
  await givenTenants(bench, tenants)
  await givenEndpoints(bench, tenants)
  await givenAuditRows(bench)
  return { bench, ledger: openLedger(bench) }
}

type Side = Awaited<ReturnType<typeof opened>>

/** Payouts a second where much is stored, beside an empty database on the same server; the last size is what counts. */
const run = async (cluster: Cluster, effort: Effort): Promise<Measured> => {
  const { sizes, tenants } = effort.quick ? QUICK : FULL
  const [grown, empty] = [
    await opened(cluster, "grown", tenants, givenMonths),
    await opened(cluster, "new", tenants, async () => undefined)
  ]
  try {
    const measured: Array<Awaited<ReturnType<typeof measuredAt>>> = []
    for (const [place, to] of sizes.entries()) {
      await whileLoading(cluster, () => givenPast(grown.bench, { tenants, from: sizes[place - 1] ?? 0, to }))
      measured.push(await measuredAt(cluster, effort, { grown, empty }, tenants))
    }
    const sweeping = await besideSweeps(grown, tenants)
    const verification = await verified(grown.bench)
    const [last, ...before] = measured.toReversed()
    if (last === undefined) throw new Error("no size was measured")
    const { ours, ratio, theirs, ...details } = last
    const smaller = before.map((one) => `${one.stored.transactions} stored: ${one.ratio?.toFixed(2)} x`)
    return {
      ours,
      theirs,
      ratio,
      unit: "1/s",
      note: smaller.join("; "),
      details: { tenants, ...details, sweeping, verification, before }
    }
  } finally {
    await Promise.all([grown.ledger.close(), empty.ledger.close()])
    await Promise.all([grown.bench.drop(), empty.bench.drop()])
  }
}

const measuredAt = async (
  cluster: Cluster,
  effort: Effort,
  { empty, grown }: { readonly grown: Side; readonly empty: Side },
  tenants: number
) => {
  const costs = await costing(cluster)
  const [ours, theirs] = [grown, empty].map(({ bench, ledger }) => {
    const each: Array<Cost> = []
    let done = 0
    const rate = filling(effort, async (count) => {
      // Every round goes on with the next tenants, so that it does not find the pages of the one before in memory.
      const payouts = await givenPayouts(bench, count, tenants, done)
      done += count
      const [milliseconds, cost] = await costs(count, () => ledger.commit(payouts, CALLERS))
      each.push(cost)
      return milliseconds
    })
    return { rate, each }
  })
  if (ours === undefined || theirs === undefined) throw new Error("there are two sides")
  // As it is in the long run: every tenant's pages were written since the checkpoint.
  for (const { bench, ledger } of [grown, empty]) await ledger.commit(await givenPayouts(bench, tenants, tenants), CALLERS)
  const figures = await inTurn(effort, ours.rate, theirs.rate)
  return {
    stored: await stored(grown.bench),
    ...figures,
    a_payout: { ours: ours.each, theirs: theirs.each },
    every_day: await everyDayReads(grown.bench, tenants)
  }
}

type Cost = Readonly<Record<"database_us" | "gateway_us" | "wal_kb" | "pages_read", number>>

/** What each of some payouts took: processor time in the server and in this process, log written, pages that were not in shared_buffers. */
const costing = async ({ query }: Cluster) => {
  const now = async () => {
    const [row] =
      await query(`SELECT pg_backend_pid() AS pid, pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 / 1024 AS wal_kb,
      (SELECT sum(reads) FROM pg_stat_io WHERE object = 'relation')::float8 AS pages_read`)
    return {
      database_us: 1e6 * serverCpuSeconds(parentOf(Number(row?.["pid"]))),
      gateway_us: 1e6 * ownCpuSeconds(),
      wal_kb: Number(row?.["wal_kb"]),
      pages_read: Number(row?.["pages_read"])
    }
  }
  return async <A>(count: number, work: () => Promise<A>): Promise<readonly [A, Cost]> => {
    const before = await now()
    const result = await work()
    const after = await now()
    const each = (name: keyof Cost) => Math.round((after[name] - before[name]) / count)
    return [
      result,
      { database_us: each("database_us"), gateway_us: each("gateway_us"), wal_kb: each("wal_kb"), pages_read: each("pages_read") }
    ]
  }
}

/** Loads with little log; what is measured afterwards has the settings of every installation again. */
export const whileLoading = async <A>({ query }: Cluster, load: () => Promise<A>): Promise<A> => {
  const settings = { full_page_writes: "off", autovacuum: "off" }
  for (const [name, value] of Object.entries(settings)) await query(`ALTER SYSTEM SET ${name} = '${value}'`)
  await query("SELECT pg_reload_conf()")
  const loaded = await load()
  await query("ALTER SYSTEM RESET ALL")
  await query("SELECT pg_reload_conf()")
  await query("CHECKPOINT")
  return loaded
}

/** How long single payouts take while old rows are removed, and while they are not. */
const besideSweeps = async ({ bench, ledger }: Side, tenants: number) => {
  const figures = async () => {
    const took: Array<number> = []
    await ledger.commit(await givenPayouts(bench, SINGLES, tenants), SINGLE_CALLERS, took)
    return { p50_ms: percentile(took, 0.5), p99_ms: percentile(took, 0.99) }
  }
  const without = await figures()
  const { removed, result } = await besideSweeper(bench, figures)
  return { without, beside: result, again: await figures(), removed }
}

const stored = async ({ query }: Bench) => {
  const [row] = await query(`SELECT pg_size_pretty(pg_database_size(current_database())) AS size,
    (SELECT count(*) FROM transactions)::int AS transactions, (SELECT count(*) FROM postings)::int AS postings`)
  return { size: row?.["size"], transactions: Number(row?.["transactions"]), postings: Number(row?.["postings"]) }
}

export const part: Part = {
  name: "growth",
  against: "the same on an empty database",
  target: 0.85,
  run
}
