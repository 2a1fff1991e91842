import { inTurn, type Part, percentile } from "../Report.ts"
import { costOf, pushed, withRig } from "./Rig.ts"
import type { Side } from "./Sides.ts"

const TENANTS = 64
/** One after the other on one connection. */
const PAYOUTS = 200
const LONGEST_SECONDS = 60

/** The time of a payout with which nobody shares anything. */
export const part: Part = {
  name: "payout-alone",
  against: "the same bare service: p50 of one caller",
  target: 1.4,
  atMost: true,
  run: (cluster, effort) =>
    withRig(cluster, TENANTS, async (rig) => {
      const seen: Record<"ours" | "theirs", Array<object>> = { ours: [], theirs: [] }
      const round = (side: Side, name: "ours" | "theirs") => async () => {
        const task = { what: "payout", count: PAYOUTS, connections: 1, seconds: LONGEST_SECONDS, ahead: PAYOUTS } as const
        const { cpuMs, databaseMs, outcome } = await costOf(side, () => pushed(rig, side, task))
        const [p50, p99] = [0.5, 0.99].map((share) => percentile(outcome.latencies, share))
        seen[name].push({ p50, p99, cpu_ms: cpuMs, database_cpu_ms: databaseMs })
        return p50 ?? Number.NaN
      }
      const { rounds, ...figures } = await inTurn(effort, round(rig.ours, "ours"), round(rig.theirs, "theirs"))
      return { ...figures, unit: "ms", details: { rounds, payouts_a_round: PAYOUTS, ...seen } }
    })
}
