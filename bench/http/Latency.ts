import type { Cluster } from "../Cluster.ts"
import { type Effort, type Measured, median, type Part, percentile } from "../Report.ts"
import { perSecond, pushed, type Rig, withRig } from "./Rig.ts"
import type { Side } from "./Sides.ts"

// The time of a payout at half of the load that the slower side can take, the same rate for both. Requests are sent when they are due, and
// their time runs from then: a service that stops for a moment pays for everything that was due meanwhile.

const TENANTS = 64
const HALF = 0.5

type Seen = Readonly<Record<"ours" | "theirs", ReadonlyArray<ReadonlyArray<number>>>> & { readonly rate: number }

const measure = (cluster: Cluster, { rounds, secondsARound: seconds }: Effort): Promise<Seen> =>
  withRig(cluster, TENANTS, async (rig) => {
    const rate = Math.floor(HALF * Math.min(await maximum(rig, rig.ours, seconds), await maximum(rig, rig.theirs, seconds)))
    const seen: Record<"ours" | "theirs", Array<ReadonlyArray<number>>> = { ours: [], theirs: [] }
    for (let round = 0; round < rounds; round++) {
      for (const name of round % 2 === 0 ? (["ours", "theirs"] as const) : (["theirs", "ours"] as const)) {
        const outcome = await pushed(rig, rig[name], { what: "payout", seconds: seconds * 2, rate, connections: 256 })
        seen[name].push(outcome.latencies)
      }
    }
    return { ...seen, rate }
  })

const maximum = async (rig: Rig, side: Side, seconds: number): Promise<number> =>
  perSecond(await pushed(rig, side, { what: "payout", seconds }))

/** Both figures come from one measurement. */
const measured = new WeakMap<Cluster, Promise<Seen>>()

const latencyPart = (name: string, share: number, target: number): Part => ({
  name,
  against: "the same bare service at the same rate: half of what the slower one can take",
  target,
  atMost: true,
  run: async (cluster, effort): Promise<Measured> => {
    const running = measured.get(cluster) ?? measure(cluster, effort)
    measured.set(cluster, running)
    const { ours, rate, theirs } = await running
    const at = (rounds: Seen["ours"]) => median(rounds.map((latencies) => percentile(latencies, share)))
    return {
      ours: at(ours),
      theirs: at(theirs),
      ratio: at(ours) / at(theirs),
      unit: "ms",
      note: `${rate} payouts/s`,
      details: { rate, ours: figures(ours), theirs: figures(theirs) }
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

export const p50: Part = latencyPart("latency-p50", 0.5, 1.3)
export const p99: Part = latencyPart("latency-p99", 0.99, 1)
