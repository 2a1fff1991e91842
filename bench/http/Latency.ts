import type { Cluster } from "../Cluster.ts"
import { type Effort, inTurn, type Measured, median, type Part, percentile, shared } from "../Report.ts"
import { perSecond, pushed, withRig } from "./Rig.ts"
import type { Side } from "./Sides.ts"

// The time of a payout at half of the load that the slower side can take, the same rate for both. Requests are sent when they are due, and
// their time runs from then: a service that stops for a moment pays for everything that was due meanwhile.

const TENANTS = 64
const HALF = 0.5

type Seen = Readonly<Record<"ours" | "theirs", ReadonlyArray<ReadonlyArray<number>>>> & {
  readonly rate: number
  /** What each side can take, in payouts a second. */
  readonly most: Pick<Measured, "ours" | "theirs">
}

const measure = shared(
  (cluster: Cluster, effort: Effort): Promise<Seen> =>
    withRig(cluster, TENANTS, async (rig) => {
      const { rounds, secondsARound: seconds } = effort
      const maximum = (side: Side) => async () => perSecond(await pushed(rig, side, { what: "payout", seconds }))
      const most = await inTurn(effort, maximum(rig.ours), maximum(rig.theirs))
      const rate = Math.floor(HALF * Math.min(most.ours, most.theirs ?? most.ours))
      const seen: Record<"ours" | "theirs", Array<ReadonlyArray<number>>> = { ours: [], theirs: [] }
      // The first round warms up: batches are smaller at this rate than at the most.
      for (let round = 0; round <= rounds; round++) {
        for (const name of round % 2 === 0 ? (["ours", "theirs"] as const) : (["theirs", "ours"] as const)) {
          const { latencies } = await pushed(rig, rig[name], { what: "payout", seconds: seconds * 2, rate, connections: 256 })
          if (round > 0) seen[name].push(latencies)
        }
      }
      return { ...seen, rate, most: { ours: most.ours, theirs: most.theirs } }
    })
)

const latencyPart = (name: string, share: number, target: number): Part => ({
  name,
  against: "the same bare service at the same rate: half of what the slower one can take",
  target,
  atMost: true,
  run: async (cluster, effort): Promise<Measured> => {
    const { most, ours, rate, theirs } = await measure(cluster, effort)
    const at = (rounds: Seen["ours"]) => median(rounds.map((latencies) => percentile(latencies, share)))
    return {
      ours: at(ours),
      theirs: at(theirs),
      ratio: at(ours) / at(theirs),
      unit: "ms",
      note: `${rate} payouts/s`,
      details: { rate, most, ours: figures(ours), theirs: figures(theirs) }
    }
  }
})

const figures = (rounds: Seen["ours"]) => {
  const all = rounds.flat()
  return {
    requests: all.length,
    p50: percentile(all, 0.5),
    p90: percentile(all, 0.9),
    p99: percentile(all, 0.99),
    max: percentile(all, 1)
  }
}

export const p50: Part = latencyPart("latency-p50", 0.5, 2)
export const p99: Part = latencyPart("latency-p99", 0.99, 1.5)
