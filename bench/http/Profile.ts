import { mkdtempSync, readdirSync, readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { type Cluster, withCluster } from "../Cluster.ts"
import { cpuSeconds } from "../Processes.ts"
import { openOutgoing } from "../webhooks/Outgoing.ts"
import { costsOf } from "./Costs.ts"
import { faultless, openOurs, openStand, type Stand } from "./Sides.ts"

// node bench/http/Profile.ts [--what payout|read|webhook] [--requests N] [--connections N] [--tenants N]: where one gateway's processor
// time goes. The milliseconds a request hardly depend on what else the machine does; how many a second do.

const { values } = parseArgs({
  options: {
    what: { type: "string", default: "payout" },
    requests: { type: "string", default: "4000" },
    connections: { type: "string", default: "64" },
    tenants: { type: "string", default: "64" }
  }
})
const count = Number(values.requests)
/** So that what is measured is compiled. */
const WARM_UP = 3000
const AT_MOST_SECONDS = 300
const folder = mkdtempSync(join(tmpdir(), "payment-gateway-profile-"))
const node = ["--cpu-prof", `--cpu-prof-dir=${folder}`]
const microseconds = (): number => Number(process.hrtime.bigint() / 1000n)

/** `rate` answers how many a second there were. */
const observed = async (pid: number, rate: () => Promise<number>) => {
  const [from, before] = [microseconds(), cpuSeconds(pid)]
  const reached = await rate()
  const used = cpuSeconds(pid) - before
  console.log(`${values.what}: ${reached.toFixed(0)} a second, ${((1000 * used) / count).toFixed(2)} ms of processor time each`)
  return { from, to: microseconds() }
}

const requests = async (cluster: Cluster, stand: Stand) => {
  const ours = await openOurs(cluster, stand, { tenants: Number(values.tenants), node })
  const task = {
    ports: [ours.port],
    keys: ours.keys,
    connections: Number(values.connections),
    ahead: 1000,
    seconds: AT_MOST_SECONDS
  }
  const { references } = faultless(await stand.load({ ...task, what: "payout", count: WARM_UP }))
  const what = values.what === "read" ? "read" : "payout"
  const stretch = await observed(ours.pid, async () => {
    const outcome = faultless(await stand.load({ ...task, what, count, references }))
    return outcome.answered / outcome.seconds
  })
  await ours.stop()
  return stretch
}

const webhooks = async (cluster: Cluster, stand: Stand) => {
  const outgoing = await openOutgoing(cluster, stand, node)
  await outgoing.delivered(WARM_UP)
  const stretch = await observed(outgoing.pid, () => outgoing.delivered(count))
  await outgoing.stop()
  return stretch
}

const stretch = await withCluster(async (cluster) => {
  const stand = await openStand()
  const seen = await (values.what === "webhook" ? webhooks : requests)(cluster, stand)
  await stand.close()
  return seen
})
const [file = ""] = readdirSync(folder).filter((name) => name.endsWith(".cpuprofile"))
console.log(costsOf(JSON.parse(readFileSync(join(folder, file), "utf8")), stretch))
console.log(`\nThe profile, to open in a browser's developer tools: ${join(folder, file)}`)
