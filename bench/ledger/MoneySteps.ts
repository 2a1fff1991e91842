import type { Bench, Cluster } from "../Cluster.ts"
import { type Effort, inTurn, type Measured } from "../Report.ts"
import { CONNECTIONS, driver, givenOrdinary, ordinary } from "./Ordinary.ts"
import { openLedger } from "./Ours.ts"
import { givenPayouts, givenTenants } from "./Payout.ts"

/** Callers at once, each waiting for its own step. */
export const CALLERS = 256
/** A payout is two steps. */
const STEPS = 2
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
): Promise<Measured> => {
  const [bench, other] = [await cluster.fresh("ledger"), await cluster.empty("baseline")]
  const ledger = openLedger(bench)
  try {
    await givenTenants(bench, tenants)
    await theirs.given(other)
    const ours = filling(effort, async (count) => ledger.commit(await givenPayouts(bench, count, tenants), CALLERS))
    const measured = await inTurn(
      effort,
      async () => STEPS * (await ours()),
      () => theirs.once(other, effort.secondsARound)
    )
    const { rounds, ...figures } = measured
    return {
      ...figures,
      unit: "1/s",
      details: { tenants, callers: CALLERS, connections: CONNECTIONS, rounds }
    }
  } finally {
    await ledger.close()
    await bench.drop()
    await other.drop()
  }
}

export const againstOrdinary = async (cluster: Cluster, effort: Effort, tenants: number): Promise<Measured> => ({
  ...(await moneySteps(cluster, effort, tenants, {
    given: (bench) => givenOrdinary(bench, tenants),
    once: (bench, seconds) => ordinary(bench, tenants, seconds)
  })),
  note: `by ${await driver}`
})
