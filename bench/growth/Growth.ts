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
const RULE_TIMEOUT_MS = 30_000
/** What PostgreSQL says of a statement that `statement_timeout` ended. */
const CANCELLED = "57014"

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
    const { seconds, unfinished } = await verified(full.bench)
    const details = {
      ...past,
      loaded_seconds: Math.round(loaded),
      stored: await stored(full.bench),
      rounds,
      sweeping,
      verified_seconds: seconds
    }
    const note = `not verified for lack of time: ${unfinished.join(", ")}`
    return { ...measured, unit: "1/s", details, ...(unfinished.length > 0 && { note }) }
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

/** What `gateway ledger verify` asks, of all of it: how many seconds each rule took, and which did not end in time. What they find is an error. */
const verified = async ({ url }: Bench) => {
  const client = new Client({ connectionString: url })
  await client.connect()
  const seconds: Record<string, number> = {}
  const unfinished: Array<string> = []
  try {
    await client.query(`SET statement_timeout = ${RULE_TIMEOUT_MS}`)
    for (const { broken, rule } of ledgerRules) {
      const started = performance.now()
      const found = await client.query(`${broken} ORDER BY 1 LIMIT 3`).catch((cause: unknown) => {
        if (cause instanceof Error && "code" in cause && cause.code === CANCELLED) return undefined
        throw cause
      })
      if (found === undefined) unfinished.push(rule)
      else if (found.rows.length > 0) throw new Error(`${rule} is broken: ${JSON.stringify(found.rows)}`)
      else seconds[rule] = Math.round((performance.now() - started) / 100) / 10
    }
    return { seconds, unfinished }
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
