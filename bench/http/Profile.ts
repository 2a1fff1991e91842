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
// time goes, and how much it allocates. What others do on the machine changes the shares little, the milliseconds more (smaller batches,
// colder caches), and how many a second most.

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
const node = ["--cpu-prof", `--cpu-prof-dir=${folder}`, "--trace-gc"]
const microseconds = (): number => Number(process.hrtime.bigint() / 1000n)

/** `rate` answers how many a second there were. */
const observed = async ({ log, pid }: { readonly log: string; readonly pid: number }, rate: () => Promise<number>) => {
  const [from, before, logged] = [microseconds(), cpuSeconds(pid), readFileSync(log, "utf8").length]
  const reached = await rate()
  const used = cpuSeconds(pid) - before
  const { collections, megabytes } = allocatedIn(readFileSync(log, "utf8").slice(logged))
  const each = (value: number) => (value / count).toFixed(2)
  console.log(`${values.what}: ${reached.toFixed(0)} a second, ${each(1000 * used)} ms of processor time each`)
  console.log(`${each(megabytes)} MB allocated each (V8's heap, without buffers), ${collections} collections`)
  return { from, to: microseconds() }
}

/** What V8 traced of its collections: between two of them the heap grew by what was allocated. */
const allocatedIn = (log: string) => {
  const traced = [...log.matchAll(/: (?:Scavenge|Mark-Compact).*? ([\d.]+) \([\d.]+\) -> ([\d.]+) \(/g)].map(
    ([, before, after]) => ({
      before: Number(before),
      after: Number(after)
    })
  )
  const megabytes = traced.slice(1).reduce((sum, { before }, at) => sum + before - (traced[at]?.after ?? before), 0)
  return { collections: traced.length, megabytes }
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
  const stretch = await observed(ours, async () => {
    const outcome = faultless(await stand.load({ ...task, what, count, references }))
    return outcome.answered / outcome.seconds
  })
  await ours.stop()
  return stretch
}

const webhooks = async (cluster: Cluster, stand: Stand) => {
  const outgoing = await openOutgoing(cluster, stand, node)
  await outgoing.delivered(WARM_UP)
  const stretch = await observed(outgoing, () => outgoing.delivered(count))
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
