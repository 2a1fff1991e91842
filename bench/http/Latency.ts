import type { Cluster } from "../Cluster.ts"
import { type Effort, figure, inTurn, type Measured, median, type Part, percentile, shared } from "../Report.ts"
import { perSecond, pushed, type Rig, withRig } from "./Rig.ts"
import type { Side } from "./Sides.ts"

// The time of a payout where both sides get the same rate. Requests are sent when they are due, and their time runs from then: a service
// that stops for a moment pays for everything that was due meanwhile.

const TENANTS = 64
const CONNECTIONS = 256
const HALF = 0.5
/** Payouts a second. A team that chooses a gateway knows its own rate, and not half of what a machine can take. */
const RATES = [50, 100, 200] as const
/** A side that answers less than this share of what is due falls behind, and its times say how long the round was. */
const KEEPS_UP = 0.9

type Name = "ours" | "theirs"

interface Round {
  /** Milliseconds, one a payout. */
  readonly latencies: ReadonlyArray<number>
  readonly answeredASecond: number
}

type Rounds = Readonly<Record<Name, ReadonlyArray<Round>>>

/** Both sides in turn. The first round warms up: batches are smaller at such a rate than at the most. */
const atRate = async (rig: Rig, { rounds, secondsARound }: Effort, rate: number): Promise<Rounds> => {
  const seen: Record<Name, Array<Round>> = { ours: [], theirs: [] }
  for (let round = 0; round <= rounds; round++) {
    for (const name of round % 2 === 0 ? (["ours", "theirs"] as const) : (["theirs", "ours"] as const)) {
      const task = { what: "payout", seconds: secondsARound * 2, rate, connections: CONNECTIONS } as const
      const outcome = await pushed(rig, rig[name], task)
      if (round > 0) seen[name].push({ latencies: outcome.latencies, answeredASecond: perSecond(outcome) })
    }
  }
  return seen
}

const atHalf = shared((cluster: Cluster, effort: Effort) =>
  withRig(cluster, TENANTS, async (rig) => {
    const maximum = (side: Side) => async () =>
      perSecond(await pushed(rig, side, { what: "payout", seconds: effort.secondsARound }))
    const most = await inTurn(effort, maximum(rig.ours), maximum(rig.theirs))
    const rate = Math.floor(HALF * Math.min(most.ours, most.theirs ?? most.ours))
    return { rate, most: { ours: most.ours, theirs: most.theirs }, rounds: await atRate(rig, effort, rate) }
  })
)

const atRates = shared((cluster: Cluster, effort: Effort) =>
  withRig(cluster, TENANTS, async (rig) => {
    const seen = new Map<number, Rounds>()
    for (const rate of RATES) seen.set(rate, await atRate(rig, effort, rate))
    return seen
  })
)

/** The median of the rounds. */
const timeAt = (rounds: ReadonlyArray<Round>, share: number): number =>
  median(rounds.map(({ latencies }) => percentile(latencies, share)))

const comparedAt = ({ ours, theirs }: Rounds, share: number) => ({
  ours: timeAt(ours, share),
  theirs: timeAt(theirs, share),
  ratio: timeAt(ours, share) / timeAt(theirs, share)
})

const figuresOf = ({ ours, theirs }: Rounds) => ({ ours: figures(ours), theirs: figures(theirs) })

const figures = (rounds: ReadonlyArray<Round>) => {
  const all = rounds.flatMap(({ latencies }) => latencies)
  return {
    requests: all.length,
    answered_a_second: median(rounds.map(({ answeredASecond }) => answeredASecond)),
    p50: percentile(all, 0.5),
    p90: percentile(all, 0.9),
    p99: percentile(all, 0.99),
    max: percentile(all, 1)
  }
}

const halfPart = (name: string, share: number, target: number): Part => ({
  name,
  against: "the same bare service at the same rate: half of what the slower one can take",
  target,
  atMost: true,
  run: async (cluster, effort): Promise<Measured> => {
    const { most, rate, rounds } = await atHalf(cluster, effort)
    return {
      ...comparedAt(rounds, share),
      unit: "ms",
      note: `${rate} payouts/s`,
      details: { rate, most, ...figuresOf(rounds) }
    }
  }
})

export const p50: Part = halfPart("latency-p50", 0.5, 1.5)
export const p99: Part = halfPart("latency-p99", 0.99, 1.1)

/** Of a rate, in one line: the median as the part's figure, the 99th percentile in its note. */
const ratePart = (rate: number): Part => ({
  name: `latency-at-${rate}`,
  against: `the same bare service at ${rate} payouts a second: p50`,
  run: async (cluster, effort): Promise<Measured> => {
    const rounds = (await atRates(cluster, effort)).get(rate)
    if (rounds === undefined) throw new Error(`${rate} payouts a second were not measured`)
    const { ours, ratio, theirs } = comparedAt(rounds, 0.99)
    const late = (["ours", "theirs"] as const).filter((name) => figures(rounds[name]).answered_a_second < KEEPS_UP * rate)
    const behind = late.length === 0 ? "" : `; fell behind: ${late.join(" and ")}`
    return {
      ...comparedAt(rounds, 0.5),
      unit: "ms",
      note: `p99 ${figure(ours)} against ${figure(theirs)} ms, ${figure(ratio)} x${behind}`,
      details: { rate, ...figuresOf(rounds) }
    }
  }
})

export const fixedRates: ReadonlyArray<Part> = RATES.map(ratePart)
