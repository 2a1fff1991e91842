import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { parseArgs } from "node:util"
import { withCluster } from "../Cluster.ts"
import { residentBytes } from "../Processes.ts"
import { bytesOf, grown, type Heap, readHeap } from "./HeapSnapshot.ts"
import { faultless, openOurs, openStand } from "./Sides.ts"

// node bench/http/Retained.ts [--first N] [--more N] [--connections N] [--tenants N] [--rest SECONDS]: what a gateway still holds after the
// first payouts, and after many more: two snapshots of its heap, each after a rest, and what the second one has more.

const { values } = parseArgs({
  options: {
    first: { type: "string", default: "20000" },
    more: { type: "string", default: "80000" },
    connections: { type: "string", default: "64" },
    tenants: { type: "string", default: "64" },
    rest: { type: "string", default: "60" }
  }
})
const [first, more, rest] = [Number(values.first), Number(values.more), Number(values.rest)]
const [connections, tenants] = [Number(values.connections), Number(values.tenants)]
const AT_MOST_SECONDS = 7200
const SHOWN = 25
const MIB = 1024 * 1024
const folder = mkdtempSync(join(tmpdir(), "payment-gateway-retained-"))

/** The snapshot that a process writes when it is asked to, once it is whole. */
const snapshotOf = async (pid: number): Promise<Heap> => {
  const before = new Set(readdirSync(folder))
  process.kill(pid, "SIGUSR2")
  let [file, size] = ["", -1]
  for (;;) {
    await pause(1000)
    file ||= readdirSync(folder).find((name) => name.endsWith(".heapsnapshot") && !before.has(name)) ?? ""
    if (file === "") continue
    const now = statSync(join(folder, file)).size
    if (now > 0 && now === size) break
    size = now
  }
  const heap = readHeap(join(folder, file))
  rmSync(join(folder, file))
  return heap
}

await withCluster(async (cluster) => {
  const stand = await openStand()
  const ours = await openOurs(cluster, stand, { tenants, node: ["--heapsnapshot-signal=SIGUSR2", `--diagnostic-dir=${folder}`] })
  const task = {
    ports: [ours.port],
    keys: ours.keys,
    connections,
    ahead: 1000,
    seconds: AT_MOST_SECONDS,
    what: "payout"
  } as const
  const after = async (count: number): Promise<Heap> => {
    faultless(await stand.load({ ...task, count }))
    const resident = residentBytes(ours.pid)
    // What is kept for a time, such as what was asked about a moment ago, has ended by then.
    await pause(rest * 1000)
    const heap = await snapshotOf(ours.pid)
    console.log(
      `after ${count} payouts more: ${(resident / MIB).toFixed(0)} MiB resident, ${(bytesOf(heap) / MIB).toFixed(2)} MiB reachable`
    )
    return heap
  }
  const [before, later] = [await after(first), await after(more)]
  const kinds = grown(before, later)
  const perPayout = (bytesOf(later) - bytesOf(before)) / more
  console.log(`\n${perPayout.toFixed(2)} bytes a payout more; what grew most:`)
  for (const { bytes, count, kind } of kinds.slice(0, SHOWN))
    console.log(`${(bytes / 1024).toFixed(1).padStart(9)} KiB ${String(count).padStart(8)}  ${kind.slice(0, 100)}`)
  await ours.stop()
  await stand.close()
})
rmSync(folder, { recursive: true, force: true })
