import { readFileSync } from "node:fs"
import { setTimeout as pause } from "node:timers/promises"
import { Effect, Redacted, References } from "effect"
import { Database } from "../../src/persistence/Database.ts"
import { Migrations } from "../../src/persistence/schema/Migrations.ts"
import type { Bench, Cluster } from "../Cluster.ts"
import { whileLoading } from "../growth/Growth.ts"
import { givenPast } from "../growth/History.ts"
import { pushed } from "../http/Rig.ts"
import { openOurs, openStand } from "../http/Sides.ts"
import { givenTenants } from "../ledger/Payout.ts"
import { type Effort, type Measured, type Part, percentile, within } from "../Report.ts"
import { forms, plainly } from "./Forms.ts"
import { type Locks, watchLocks } from "./LockWatch.ts"

// A release on a database that holds much, while payouts go on: each form of a migration, and for how long the longest request waited.

const LIMIT_MS = 1_000
const TENANTS = 64
/** RELEASE_ROWS names another size: 6.5 GB of disk a million. */
const FULL = { rows: Number(process.env["RELEASE_ROWS"] ?? 2_000_000), pastTenants: 10_000, seconds: 10 }
const QUICK = { rows: 20_000, pastTenants: 500, seconds: 2 }
/** Payouts a second, sent when they are due: whatever holds one up counts for each that was due meanwhile. */
const RATE = Number(process.env["RELEASE_RATE"] ?? 20)
const BEFORE_MS = 1_000
const ERRORS_SHOWN = 10

interface Seen extends Locks {
  readonly name: string
  readonly seconds: number
  readonly requests: number
  readonly p50: number
  readonly p99: number
  readonly longest: number
}

const run = async (cluster: Cluster, effort: Effort): Promise<Measured> => {
  const { pastTenants, rows, seconds } = effort.quick ? QUICK : FULL
  const stand = await openStand()
  const prepared = async (bench: Bench) => {
    await givenTenants(bench, pastTenants)
    await whileLoading(cluster, () => givenPast(bench, { tenants: pastTenants, from: 0, to: rows }))
  }
  const ours = await openOurs(cluster, stand, { tenants: TENANTS, prepared })
  try {
    const load = () => pushed({ stand }, ours, { what: "payout", seconds, rate: RATE })
    /** Payouts go on until the work is done, and from before it was begun. */
    const beside = async (name: string, work: () => Promise<unknown>): Promise<Seen> => {
      const locks = watchLocks(ours.database)
      const done = new AbortController()
      const working = pause(BEFORE_MS)
        .then(async () => {
          const began = performance.now()
          await work()
          return performance.now() - began
        })
        .finally(() => done.abort())
      const latencies: Array<number> = []
      try {
        do latencies.push(...(await load()).latencies)
        while (!done.signal.aborted)
      } finally {
        await working
      }
      const took = await working
      const [p50, p99, longest] = [0.5, 0.99, 1].map((share) => Math.round(percentile(latencies, share)))
      return {
        name,
        seconds: took / 1000,
        requests: latencies.length,
        p50: p50 ?? 0,
        p99: p99 ?? 0,
        longest: longest ?? 0,
        ...(await locks())
      }
    }
    await load()
    const without = await beside("nothing", () => pause(BEFORE_MS))
    const seen: Array<Seen> = []
    for (const [at, { name }] of forms.entries()) {
      const migrations = [...Migrations.all, ...forms.slice(0, at + 1)]
      const migrate = Migrations.apply(migrations).pipe(
        Effect.provide(Database.layer({ url: Redacted.make(ours.database.url) })),
        Effect.provideService(References.MinimumLogLevel, "Warn")
      )
      seen.push(await beside(name, () => Effect.runPromise(migrate)))
      console.error(JSON.stringify(seen.at(-1)))
    }
    // Payments wait five seconds for a lock: past that there is no latency to tell of.
    const plain = await beside("a plain index", () => ours.database.query(plainly)).catch(() => null)
    const locked = Math.max(...seen.flatMap((one) => [one.longestWait, one.longestHeld]))
    const requests = [without, ...seen].map((one) => `${one.name} ${one.longest} ms`)
    const ofPlain = plain === null ? "requests fail" : `${Math.round(Math.max(plain.longestWait, plain.longestHeld))} ms`
    return {
      ...within(LIMIT_MS, locked),
      unit: "ms",
      note: `beside a plain index ${ofPlain}; longest requests: ${requests.join(", ")}`,
      details: { rows, rate: RATE, without, seen, plain }
    }
  } catch (cause) {
    // The log goes with the gateway, and says what an answer does not.
    const errors = readFileSync(ours.log, "utf8")
      .split("\n")
      .filter((line) => line.includes('"level":"error"'))
    for (const line of errors.slice(0, ERRORS_SHOWN)) console.error(line)
    throw cause
  } finally {
    await ours.stop()
    await stand.close()
  }
}

export const part: Part = {
  name: "release",
  against: `the longest lock of a table, of which ${LIMIT_MS} ms are allowed; two million payouts are stored, and more come`,
  target: 1,
  atMost: true,
  run
}
