import { Client } from "pg"
import { applyStatement } from "../../src/persistence/ledger/FloatLedgerPg.ts"
import { openStatement } from "../../src/persistence/ledger/OpenSteps.ts"
import type { Bench, Cluster } from "../Cluster.ts"
import { type Effort, inTurn, median, type Part, percentile, shared } from "../Report.ts"
import { costing, STEPS } from "./MoneySteps.ts"
import { openLedger } from "./Ours.ts"
import { givenPayouts, givenTenants, type Steps } from "./Payout.ts"
import { valuesOf } from "./Values.ts"

/** One after the other; so many that their processor time is a multiple of the system's unit of 10 ms. */
const PAYOUTS = 400

/** The same two statements on a connection of their own, with nobody who collects steps before them. */
const unbatched = async (bench: Bench, payouts: ReadonlyArray<Steps>): Promise<ReadonlyArray<number>> => {
  const client = new Client({ connectionString: bench.url })
  await client.connect()
  try {
    const took: Array<number> = []
    for (const { apply, open } of payouts) {
      const asked = performance.now()
      const [opening, opened] = openStatement([{ ...open, traceparent: null }])
      await client.query({ name: "open", text: opening, values: valuesOf(opened) })
      const [applying, applied] = applyStatement([{ ...apply, traceparent: null }])
      await client.query({ name: "apply", text: applying, values: valuesOf(applied) })
      took.push(performance.now() - asked)
    }
    return took
  } finally {
    await client.end()
  }
}

const measure = async (cluster: Cluster, effort: Effort) => {
  const bench = await cluster.fresh("alone")
  const ledger = openLedger(bench)
  const [ours, theirs]: [Array<number>, Array<number>] = [[], []]
  const each = () => STEPS * PAYOUTS
  try {
    await givenTenants(bench, 1)
    const [ourCosts, theirCosts] = [await costing(bench), await costing(bench)]
    const { rounds, ...measured } = await inTurn(
      effort,
      async () => {
        const payouts = await givenPayouts(bench, PAYOUTS, 1)
        const took: Array<number> = []
        await ourCosts.of(() => ledger.commit(payouts, 1, took), each)
        ours.push(...took)
        return median(took)
      },
      async () => {
        const payouts = await givenPayouts(bench, PAYOUTS, 1)
        return theirCosts.of(async () => {
          const took = await unbatched(bench, payouts)
          theirs.push(...took)
          return median(took)
        }, each)
      }
    )
    const details = {
      rounds,
      p99: { ours: percentile(ours, 0.99), theirs: percentile(theirs, 0.99) },
      payouts_a_round: PAYOUTS,
      processor_us_a_step: { ours: ourCosts.middle(), theirs: theirCosts.middle() }
    }
    return { ...measured, unit: "ms", details }
  } finally {
    await ledger.close()
    await bench.drop()
  }
}

export const oneCaller = shared(measure)

/** A step that comes alone is not kept waiting for company. */
export const part: Part = {
  name: "ledger-alone",
  against: "the same statements without batching, one caller",
  target: 1.1,
  atMost: true,
  run: oneCaller
}
