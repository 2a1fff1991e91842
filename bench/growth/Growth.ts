import { Client } from "pg"
import { ledgerRules } from "../../src/persistence/LedgerRules.ts"
import type { Bench, Cluster } from "../Cluster.ts"
import { CALLERS, filling } from "../ledger/MoneySteps.ts"
import { openLedger } from "../ledger/Ours.ts"
import { givenPayouts, givenTenants } from "../ledger/Payout.ts"
import { type Effort, inTurn, type Measured, type Part, percentile } from "../Report.ts"
import { givenPast, type Past } from "./History.ts"
import { beside } from "./Sweeps.ts"

const FULL: Past = { tenants: 10_000, transactions: 2_000_000 }
const QUICK: Past = { tenants: 1_000, transactions: 50_000 }

/** Payouts whose latency is looked at, of few callers. */
const SINGLES = 2_000
const SINGLE_CALLERS = 16
const RULE_TIMEOUT_MS = 120_000

/** A database with the tenants and their float, and its ledger. */
const opened = async (cluster: Cluster, name: string, { tenants }: Past) => {
  const bench = await cluster.fresh(name)
  await givenTenants(bench, tenants)
  return { bench, ledger: openLedger(bench) }
}

/** Payouts a second where much is stored, beside an empty database on the same server. */
const run = async (cluster: Cluster, effort: Effort): Promise<Measured> => {
  const past = effort.quick ? QUICK : FULL
  const [full, empty] = [await opened(cluster, "grown", past), await opened(cluster, "new", past)]
  try {
    const loaded = await givenPast(full.bench, past)
    const rate = ({ bench, ledger }: typeof full) =>
      filling(effort, async (count) => ledger.commit(await givenPayouts(bench, count, past.tenants), CALLERS))
    const [ours, theirs] = [rate(full), rate(empty)]
    const { rounds, ...measured } = await inTurn(effort, ours, theirs)
    const sweeping = await besideSweeps(full, past)
    const details = {
      ...past,
      loaded_seconds: Math.round(loaded),
      stored: await stored(full.bench),
      rounds,
      sweeping,
      verified: await verified(full.bench)
    }
    return { ...measured, unit: "1/s", details }
  } finally {
    await Promise.all([full.ledger.close(), empty.ledger.close()])
    await Promise.all([full.bench.drop(), empty.bench.drop()])
  }
}

/** How long single payouts take while old rows are removed, and while they are not. */
const besideSweeps = async ({ bench, ledger }: Awaited<ReturnType<typeof opened>>, { tenants }: Past) => {
  const figures = async () => {
    const took: Array<number> = []
    await ledger.commit(await givenPayouts(bench, SINGLES, tenants), SINGLE_CALLERS, took)
    return { p50_ms: percentile(took, 0.5), p99_ms: percentile(took, 0.99) }
  }
  const without = await figures()
  const { removed, result } = await beside(bench, figures)
  return { without, beside: result, removed }
}

const stored = async ({ query }: Bench) => {
  const [row] = await query(`SELECT pg_size_pretty(pg_database_size(current_database())) AS size,
    (SELECT count(*) FROM transactions)::int AS transactions, (SELECT count(*) FROM postings)::int AS postings`)
  return row
}

/** What `gateway ledger verify` asks, of all of it: what it finds, and how many seconds each rule took, or null where it did not end in time. */
const verified = async ({ url }: Bench) => {
  const client = new Client({ connectionString: url })
  await client.connect()
  const seconds: Record<string, number | null> = {}
  const differences: Array<unknown> = []
  try {
    await client.query(`SET statement_timeout = ${RULE_TIMEOUT_MS}`)
    for (const { broken, rule } of ledgerRules) {
      const started = performance.now()
      const found = await client.query(`${broken} ORDER BY 1 LIMIT 3`).catch(() => undefined)
      differences.push(...(found?.rows ?? []))
      seconds[rule] = found === undefined ? null : Math.round((performance.now() - started) / 100) / 10
    }
    return { differences, seconds }
  } finally {
    await client.end()
  }
}

export const part: Part = {
  name: "growth",
  against: "the same on an empty database",
  target: 0.67,
  run
}
