import type { Cluster } from "../Cluster.ts"
import { type Effort, inTurn, median, percentile } from "../Report.ts"
import type { Outcome } from "./Generator.ts"
import { costOf, perSecond, pushed, type Rig, withRig } from "./Rig.ts"
import type { Side } from "./Sides.ts"

const MANY_CONNECTIONS = 256

/** Payouts a second that each side answers when it is asked as fast as it answers. */
export const payoutsASecond = (cluster: Cluster, effort: Effort, tenants: number) =>
  withRig(cluster, tenants, async (rig) => {
    const counted = counting()
    const round = (side: Side, name: "ours" | "theirs") => () =>
      counted.round(name, side, () => pushed(rig, side, { what: "payout", seconds: effort.secondsARound }))
    const measured = await inTurn(effort, round(rig.ours, "ours"), round(rig.theirs, "theirs"))
    const many = await withMany(rig, effort)
    const { rounds, ...figures } = measured
    return {
      ...figures,
      unit: "payouts/s",
      details: { rounds, ...counted.details(), [`at ${MANY_CONNECTIONS} connections`]: many }
    }
  })

const withMany = async (rig: Rig, { secondsARound: seconds }: Effort) => {
  const [ours, theirs] = [
    await pushed(rig, rig.ours, { what: "payout", seconds, connections: MANY_CONNECTIONS }),
    await pushed(rig, rig.theirs, { what: "payout", seconds, connections: MANY_CONNECTIONS })
  ]
  return { ours: perSecond(ours), theirs: perSecond(theirs), ratio: perSecond(ours) / perSecond(theirs) }
}

/** Reads a second of payouts that each side made before. */
export const readsASecond = (cluster: Cluster, effort: Effort, tenants: number) =>
  withRig(cluster, tenants, async (rig) => {
    const counted = counting()
    const made = { what: "payout", count: tenants * 8, seconds: 60 } as const
    const known = {
      ours: (await pushed(rig, rig.ours, made)).references,
      theirs: (await pushed(rig, rig.theirs, made)).references
    }
    const round = (side: Side, name: "ours" | "theirs") => () =>
      counted.round(name, side, () =>
        pushed(rig, side, { what: "read", seconds: effort.secondsARound, references: known[name], ahead: 8000 })
      )
    const { rounds, ...figures } = await inTurn(effort, round(rig.ours, "ours"), round(rig.theirs, "theirs"))
    return { ...figures, unit: "reads/s", details: { rounds, ...counted.details() } }
  })

/** Keeps what the table has no room for: of the first round, which warms up, the latencies only. */
const counting = () => {
  const costs: Record<"ours" | "theirs", Array<{ readonly cpuMs: number; readonly databaseMs: number }>> = {
    ours: [],
    theirs: []
  }
  const latencies: Record<"ours" | "theirs", Array<number>> = { ours: [], theirs: [] }
  const figures = (name: "ours" | "theirs") => ({
    cpu_ms_a_request: median(costs[name].slice(1).map(({ cpuMs }) => cpuMs)),
    database_cpu_ms_a_request: median(costs[name].slice(1).map(({ databaseMs }) => databaseMs)),
    p50_ms: percentile(latencies[name], 0.5),
    p99_ms: percentile(latencies[name], 0.99)
  })
  const processorRounds = () =>
    costs.ours.slice(1).map(({ cpuMs }, at) => [cpuMs, costs.theirs[at + 1]?.cpuMs ?? Number.NaN] as const)
  return {
    round: async (name: "ours" | "theirs", side: Side, run: () => Promise<Outcome>): Promise<number> => {
      const { outcome, ...cost } = await costOf(side, run)
      costs[name].push(cost)
      latencies[name].push(...outcome.latencies)
      return perSecond(outcome)
    },
    details: () => ({ ours: figures("ours"), theirs: figures("theirs"), processor_rounds: processorRounds() })
  }
}
