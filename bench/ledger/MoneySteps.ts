import type { Bench, Cluster } from "../Cluster.ts"
import { ownCpuSeconds, parentOf, serverCpuSeconds } from "../Processes.ts"
import { type Effort, inTurn, median } from "../Report.ts"
import { CONNECTIONS, driver, givenOrdinary, ordinary } from "./Ordinary.ts"
import { openLedger } from "./Ours.ts"
import { givenPayouts, givenTenants } from "./Payout.ts"

/** Callers at once, each waiting for its own step. */
export const CALLERS = 256
/** A payout is two steps. */
export const STEPS = 2
/** What the first round tries, and what no round exceeds: its steps are made ready beforehand. */
const FIRST = 1_000
const AT_MOST = 16_000

/** As many payouts a round as fill its time, going by the round before. */
export const filling = ({ secondsARound }: Effort, round: (count: number) => Promise<number>) => {
  let count = FIRST
  return async (): Promise<number> => {
    const milliseconds = await round(count)
    const rate = count / (milliseconds / 1000)
    count = Math.round(Math.min(AT_MOST, Math.max(FIRST, rate * secondsARound)))
    return rate
  }
}

/** Money steps a second over that many tenants, against a baseline in transactions a second. */
export const moneySteps = async (
  cluster: Cluster,
  effort: Effort,
  tenants: number,
  theirs: { readonly given: (bench: Bench) => Promise<void>; readonly once: (bench: Bench, seconds: number) => Promise<number> }
) => {
  const [bench, other] = [await cluster.fresh("ledger"), await cluster.empty("baseline")]
  const ledger = openLedger(bench)
  try {
    await givenTenants(bench, tenants)
    await theirs.given(other)
    const [ourCosts, theirCosts] = [await costing(bench), await costing(other)]
    const ours = filling(effort, async (count) => {
      const payouts = await givenPayouts(bench, count, tenants)
      return ourCosts.of(
        () => ledger.commit(payouts, CALLERS),
        () => STEPS * count
      )
    })
    const measured = await inTurn(
      effort,
      async () => STEPS * (await ours()),
      () =>
        theirCosts.of(
          () => theirs.once(other, effort.secondsARound),
          (rate) => rate * effort.secondsARound
        )
    )
    const { rounds, ...figures } = measured
    return {
      ...figures,
      unit: "1/s",
      details: {
        tenants,
        callers: CALLERS,
        connections: CONNECTIONS,
        rounds,
        processor_us_a_step: { ours: ourCosts.middle(), theirs: theirCosts.middle() }
      }
    }
  } finally {
    await ledger.close()
    await bench.drop()
    await other.drop()
  }
}

/** Microseconds of processor time in the whole server, and in who asks it: this process, or the pgbench that it ran. */
export const costing = async ({ query }: Bench) => {
  const [row] = await query("SELECT pg_backend_pid() AS pid")
  // Connections come and go, and their server stays.
  const server = parentOf(Number(row?.["pid"]))
  const used = () => ({ database: serverCpuSeconds(server), asking: ownCpuSeconds() })
  const costs: Array<ReturnType<typeof used>> = []
  return {
    of: async (round: () => Promise<number>, steps: (answer: number) => number): Promise<number> => {
      const before = used()
      const answer = await round()
      const after = used()
      const each = (name: keyof typeof before) => (1e6 * (after[name] - before[name])) / steps(answer)
      costs.push({ database: each("database"), asking: each("asking") })
      return answer
    },
    /** Without the round that warms up. */
    middle: () => ({
      database: median(costs.slice(1).map(({ database }) => database)),
      asking: median(costs.slice(1).map(({ asking }) => asking))
    })
  }
}

export const againstOrdinary = async (cluster: Cluster, effort: Effort, tenants: number) => ({
  ...(await moneySteps(cluster, effort, tenants, {
    given: (bench) => givenOrdinary(bench, tenants),
    once: (bench, seconds) => ordinary(bench, tenants, seconds)
  })),
  note: `by ${await driver}`
})
