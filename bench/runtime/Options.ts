import { writeFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { type Cluster, withCluster } from "../Cluster.ts"
import { RUNTIME } from "../http/Child.ts"
import { costOf, perSecond, pushed } from "../http/Rig.ts"
import { openOurs, openStand, type Stand } from "../http/Sides.ts"
import { residentBytes } from "../Processes.ts"
import { columns, figure, median } from "../Report.ts"

// node bench/runtime/Options.ts [--rounds N] [--payouts N] [--json FILE] [--quick]: what two of Node's options cost in memory and save in time,
// in one table. A larger young space is collected more seldom, and a larger growth of the heap puts off the collections of the old one.
// Each pair has a gateway and a database of its own, and every round begins with another pair.

const SEMI_SPACES = [16, 32, 64] as const
/** V8 decides by itself where it is told 0. */
const BY_ITSELF = 0
const GROWTHS = [BY_ITSELF, 60, 100] as const
const TENANTS = 64
const MB = 1024 * 1024
/** As in `payouts-spread`, and as in `memory`. */
const FEW = 64
const MANY = 256
const WARM_UP = 1_500
const AT_MOST_SECONDS = 300

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    payouts: { type: "string", default: "10000" },
    json: { type: "string" },
    quick: { type: "boolean", default: false }
  }
})
const rounds = values.quick ? 1 : Number(values.rounds)
/** With each number of connections. */
const payouts = values.quick ? 300 : Number(values.payouts)
const warmUp = values.quick ? payouts : WARM_UP
if (![rounds, payouts].every((value) => Number.isSafeInteger(value) && value > 0)) {
  console.error("--rounds and --payouts: whole numbers above 0")
  process.exit(2)
}

interface Pair {
  readonly semiSpace: number
  readonly growth: number
}

const pairs: ReadonlyArray<Pair> = SEMI_SPACES.flatMap((semiSpace) => GROWTHS.map((growth) => ({ semiSpace, growth })))

// Of an option that is named twice the last one holds.
const nodeOptions = ({ growth, semiSpace }: Pair) => [`--max-semi-space-size=${semiSpace}`, `--heap-growing-percent=${growth}`]

const isTheGateways = (pair: Pair): boolean => nodeOptions(pair).every((option) => RUNTIME.includes(option))

/** Payouts over few connections and then over many; memory is what the process holds after the last one. */
const measured = async (cluster: Cluster, stand: Stand, pair: Pair) => {
  const ours = await openOurs(cluster, stand, { tenants: TENANTS, node: nodeOptions(pair) })
  try {
    const push = (count: number, connections: number) =>
      costOf(ours, () =>
        pushed({ stand }, ours, { what: "payout", seconds: AT_MOST_SECONDS, count, connections, ahead: Math.min(count, WARM_UP) })
      )
    await push(warmUp, FEW)
    const few = await push(payouts, FEW)
    const many = await push(payouts, MANY)
    return {
      few_a_second: perSecond(few.outcome),
      few_cpu_ms: few.cpuMs,
      many_a_second: perSecond(many.outcome),
      many_cpu_ms: many.cpuMs,
      resident_mb: residentBytes(ours.pid) / MB
    }
  } finally {
    await ours.stop()
  }
}

type Seen = Awaited<ReturnType<typeof measured>>

const seen = new Map<Pair, Array<Seen>>(pairs.map((pair) => [pair, []]))

await withCluster(async (cluster) => {
  const stand = await openStand()
  for (let round = 0; round < rounds; round++)
    for (let turn = 0; turn < pairs.length; turn++) {
      const pair = pairs[(round + turn) % pairs.length]
      if (pair === undefined) continue
      seen.get(pair)?.push(await measured(cluster, stand, pair))
      console.error(`round ${round + 1} of ${rounds}: ${nodeOptions(pair).join(" ")}`)
    }
  await stand.close()
})

const middle = (all: ReadonlyArray<Seen>, of: (one: Seen) => number): string => figure(median(all.map(of)))

const rows = [...seen].map(([pair, all]) => [
  `${pair.semiSpace}`,
  pair.growth === BY_ITSELF ? "default" : `${pair.growth}`,
  middle(all, (one) => one.few_a_second),
  middle(all, (one) => one.few_cpu_ms),
  middle(all, (one) => one.many_a_second),
  middle(all, (one) => one.many_cpu_ms),
  middle(all, (one) => one.resident_mb),
  isTheGateways(pair) ? "the gateway's" : ""
])
const [few, many] = [FEW, MANY].map((connections) => [`payouts/s at ${connections}`, `ms at ${connections}`])
console.log(
  `medians of ${rounds} rounds of ${payouts} payouts with each number of connections; ms of the gateway's processor time a payout`
)
console.log(columns(["semi-space MB", "growth %", ...(few ?? []), ...(many ?? []), `MB after ${MANY}`, ""], rows))
if (values.json !== undefined) {
  const found = [...seen].map(([pair, all]) => ({ ...pair, rounds: all }))
  writeFileSync(values.json, `${JSON.stringify(found, null, 1)}\n`)
}
