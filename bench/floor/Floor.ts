import { randomBytes } from "node:crypto"
import type { Cluster } from "../Cluster.ts"
import { program, RUNTIME } from "../http/Child.ts"
import { openStand } from "../http/Sides.ts"
import { gatewayCpuMs, TENANTS } from "../http/Spread.ts"
import { openTenants } from "../http/Tenants.ts"
import { type Effort, median, type Part } from "../Report.ts"
import type { Floor, Task } from "./Process.ts"

const CALLERS = 64
const WARM_UP = 1500
const PAYOUTS = 1500
const PAYOUTS_ALONE = 200

/** The floor by as many callers as `payouts-spread` has connections, and by one. */
const measured = async (cluster: Cluster, { rounds }: Effort) => {
  const [stand, database] = [await openStand(), await cluster.fresh("floor")]
  const masterKey = randomBytes(32).toString("base64")
  const keys = await openTenants(database.url, masterKey, { tenants: TENANTS })
  const variables = {
    DATABASE_URL: database.url,
    PROVIDER_URL: stand.providerUrl,
    MASTER_KEY: masterKey,
    KEYS: JSON.stringify(keys)
  }
  const { child } = await program("../floor/Process.ts", variables, { node: RUNTIME })
  const run = (task: Task): Promise<Floor> =>
    new Promise((resolve, reject) => {
      child.process.once("message", ({ failure, outcome }: { readonly outcome?: Floor; readonly failure?: string }) =>
        outcome === undefined ? reject(new Error(failure)) : resolve(outcome)
      )
      child.process.send(task)
    })
  try {
    await run({ callers: CALLERS, count: WARM_UP })
    const [together, alone]: [Array<Floor>, Array<Floor>] = [[], []]
    for (let round = 0; round < rounds; round++) {
      together.push(await run({ callers: CALLERS, count: PAYOUTS }))
      alone.push(await run({ callers: 1, count: PAYOUTS_ALONE }))
    }
    return { together, alone }
  } finally {
    await child.stop()
    await stand.close()
    await database.drop()
  }
}

/** What the gateway's process spends on a payout, beside the least that the same duties cost it. */
export const part: Part = {
  name: "floor",
  against: "the same functions, statements and provider calls in one fiber, without the shell",
  run: async (cluster, effort) => {
    const ours = await gatewayCpuMs(cluster, effort)
    const { alone, together } = await measured(cluster, effort)
    const [theirs, byOne] = [together, alone].map((rounds) => median(rounds.map(({ cpuMs }) => cpuMs)))
    const floor = theirs ?? Number.NaN
    const shell = `${(ours - floor).toFixed(2)} ms for the shell; the floor is ${byOne?.toFixed(2)} ms for one caller`
    return { ours, theirs: floor, ratio: ours / floor, unit: "ms", note: shell, details: { together, alone } }
  }
}
