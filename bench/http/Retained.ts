import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { parseArgs } from "node:util"
import { withCluster } from "../Cluster.ts"
import { residentBytes } from "../Processes.ts"
import { bytesOf, grown, type Heap, readHeap } from "./HeapSnapshot.ts"
import { faultless, openOurs, openStand } from "./Sides.ts"

// node bench/http/Retained.ts [--first N] [--more N] [--connections N] [--tenants N] [--rest SECONDS]: what a gateway holds after the first
// payouts and after many more. A gateway that makes the first ones alone, and one that makes all of them, each write a snapshot of the heap
// after a rest; printed is what the second snapshot has more. Memory is read before a snapshot, which takes some itself.

const { values } = parseArgs({
  options: {
    first: { type: "string", default: "100000" },
    more: { type: "string", default: "900000" },
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
  const node = ["--heapsnapshot-signal=SIGUSR2", `--diagnostic-dir=${folder}`]
  const ours = await openOurs(cluster, stand, { tenants, node })
  /** The memory in MiB once the payouts are made, and once what is kept for a time, such as the answers of a moment ago, has ended. */
  const pay = async ({ pid, port }: { readonly pid: number; readonly port: number }, count: number): Promise<number> => {
    const task = {
      ports: [port],
      keys: ours.keys,
      connections,
      ahead: 1000,
      seconds: AT_MOST_SECONDS,
      what: "payout",
      count
    } as const
    faultless(await stand.load(task))
    const busy = residentBytes(pid) / MIB
    await pause(rest * 1000)
    const rested = residentBytes(pid) / MIB
    console.log(`process ${pid}, ${count} payouts more: ${busy.toFixed(0)} MiB resident, ${rested.toFixed(0)} after a rest`)
    return rested
  }
  await pay(ours, first)
  const before = await snapshotOf(ours.pid)
  await ours.stopFirst()
  const second = await ours.another()
  const early = await pay(second, first)
  const late = await pay(second, more)
  const after = await snapshotOf(second.pid)
  console.log(`\n${(late / early).toFixed(2)} x the memory after ${first + more} payouts as after ${first}`)
  const [few, many] = [bytesOf(before), bytesOf(after)]
  console.log(`${(few / MIB).toFixed(2)} MiB reachable after ${first}, ${(many / MIB).toFixed(2)} after ${first + more}`)
  console.log(`${((many - few) / more).toFixed(2)} bytes a payout more; what grew most:`)
  for (const { bytes, count, kind } of grown(before, after).slice(0, SHOWN))
    console.log(`${(bytes / 1024).toFixed(1).padStart(9)} KiB ${String(count).padStart(8)}  ${kind.slice(0, 100)}`)
  await ours.stop()
  await stand.close()
})
rmSync(folder, { recursive: true, force: true })
