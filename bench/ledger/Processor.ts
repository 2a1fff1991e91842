import { type Part, within } from "../Report.ts"
import { oneCaller } from "./Alone.ts"
import { onOneRow } from "./OneRow.ts"
import { overTenants } from "./Spread.ts"

// What a money step costs the server in processor time: that of all of its processes, whatever else the machine does.

const LIMIT_US = 85
const LIMIT_ALONE_US = 330

/** In batches, by the rounds of `ledger-one-row` and of `ledger-spread`: the dearer of the two. */
export const inBatches: Part = {
  name: "ledger-cpu",
  against: `${LIMIT_US} µs of the server's processor time a step, one row or 1,000 tenants`,
  target: 1,
  atMost: true,
  run: async (cluster, effort) => {
    const [oneRow, spread] = [await onOneRow(cluster, effort), await overTenants(cluster, effort)].map(
      ({ details }) => details.processor_us_a_step.ours.database
    )
    const dearer = Math.max(oneRow ?? Number.NaN, spread ?? Number.NaN)
    return { ...within(LIMIT_US, dearer), unit: "µs", details: { one_row: oneRow, spread } }
  }
}

/** With one caller, by the rounds of `ledger-alone`. */
export const alone: Part = {
  name: "ledger-alone-cpu",
  against: `${LIMIT_ALONE_US} µs of the server's processor time a step, one caller`,
  target: 1,
  atMost: true,
  run: async (cluster, effort) => {
    const { processor_us_a_step: step } = (await oneCaller(cluster, effort)).details
    return { ...within(LIMIT_ALONE_US, step.ours.database), unit: "µs", details: step }
  }
}
