import { type Part, shared, within } from "../Report.ts"
import { payoutsASecond } from "./Throughput.ts"

const TENANTS = 64
const LIMIT_MS = 1

const measure = shared((cluster, effort) => payoutsASecond(cluster, effort, TENANTS))

export const part: Part = {
  name: "payouts-spread",
  against: "a bare service: node:http, pg, the same checks and rows",
  target: 1,
  run: measure
}

/** What a payout costs the gateway's process under that load, whatever else the machine does. */
export const processor: Part = {
  name: "gateway-cpu",
  against: `${LIMIT_MS} ms of the gateway's processor time a payout`,
  target: 1,
  atMost: true,
  run: async (cluster, effort) => {
    const { details } = await measure(cluster, effort)
    const { ours, theirs } = details
    return { ...within(LIMIT_MS, ours.cpu_ms_a_request), unit: "ms", details: { ours, theirs } }
  }
}
