import type { Cluster } from "../Cluster.ts"
import { type Effort, median, type Part, shared } from "../Report.ts"
import { payoutsASecond } from "./Throughput.ts"

export const TENANTS = 64

const measure = shared((cluster, effort) => payoutsASecond(cluster, effort, TENANTS))

export const part: Part = {
  name: "payouts-spread",
  against: "a bare service: node:http, pg, the same checks and rows",
  target: 1.1,
  run: measure
}

/** What a payout costs the gateway's process under that load beside what it costs the bare service's: milliseconds belong to the machine. */
export const processor: Part = {
  name: "gateway-cpu",
  against: "the bare service's processor time a payout, in the same rounds",
  target: 1,
  atMost: true,
  run: async (cluster, effort) => {
    const { details } = await measure(cluster, effort)
    const { ours, processor_rounds: rounds, theirs } = details
    return {
      ours: ours.cpu_ms_a_request,
      theirs: theirs.cpu_ms_a_request,
      ratio: median(rounds.map(([one, other]) => one / other)),
      unit: "ms",
      details: { rounds, ours, theirs }
    }
  }
}

/** The gateway's processor time of a payout in the same rounds. */
export const gatewayCpuMs = async (cluster: Cluster, effort: Effort): Promise<number> =>
  (await measure(cluster, effort)).details.ours.cpu_ms_a_request
