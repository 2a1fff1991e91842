import { Client } from "pg"
import { applyFactSql, applyParameters } from "../../src/persistence/ledger/ApplyFactSql.ts"
import { openParameters } from "../../src/persistence/ledger/OpenColumns.ts"
import { openRecordSql } from "../../src/persistence/ledger/OpenRecordSql.ts"
import type { Bench } from "../Cluster.ts"
import { inTurn, median, type Part, percentile } from "../Report.ts"
import { openLedger } from "./Ours.ts"
import { givenPayouts, givenTenants, type Steps } from "./Payout.ts"
import { valuesOf } from "./Values.ts"

/** One after the other. */
const PAYOUTS = 200

/** The same two statements on a connection of their own, with nobody who collects steps before them. */
const unbatched = async (bench: Bench, payouts: ReadonlyArray<Steps>): Promise<ReadonlyArray<number>> => {
  const client = new Client({ connectionString: bench.url })
  await client.connect()
  try {
    const took: Array<number> = []
    for (const { apply, open } of payouts) {
      const asked = performance.now()
      const opening = valuesOf(openParameters([{ ...open, traceparent: null }]))
      await client.query({ name: "open", text: openRecordSql, values: opening })
      const applying = valuesOf(applyParameters([{ ...apply, traceparent: null }]))
      await client.query({ name: "apply", text: applyFactSql, values: applying })
      took.push(performance.now() - asked)
    }
    return took
  } finally {
    await client.end()
  }
}

/** A step that comes alone is not kept waiting for company. */
export const part: Part = {
  name: "ledger-alone",
  against: "the same statements without batching, one caller",
  target: 1.1,
  atMost: true,
  run: async (cluster, effort) => {
    const bench = await cluster.fresh("alone")
    const ledger = openLedger(bench)
    const [ours, theirs]: [Array<number>, Array<number>] = [[], []]
    try {
      await givenTenants(bench, 1)
      const { rounds, ...measured } = await inTurn(
        effort,
        async () => {
          const took: Array<number> = []
          await ledger.commit(await givenPayouts(bench, PAYOUTS, 1), 1, took)
          ours.push(...took)
          return median(took)
        },
        async () => {
          const took = await unbatched(bench, await givenPayouts(bench, PAYOUTS, 1))
          theirs.push(...took)
          return median(took)
        }
      )
      const details = {
        rounds,
        p99: { ours: percentile(ours, 0.99), theirs: percentile(theirs, 0.99) },
        payouts_a_round: PAYOUTS
      }
      return { ...measured, unit: "ms", details }
    } finally {
      await ledger.close()
      await bench.drop()
    }
  }
}
