import { setTimeout as pause } from "node:timers/promises"
import { parseArgs } from "node:util"
import { seeded } from "../../test/support/Random.ts"
import { account } from "../chaos/Accounting.ts"
import { tellCallbacks } from "../chaos/Callbacks.ts"
import { clusterDatabase } from "../chaos/ClusterDatabase.ts"
import { type Operation, perform } from "../chaos/Load.ts"
import { openReceiver } from "../chaos/Receiver.ts"
import { type Actor, openStage, type Stage } from "../chaos/Stage.ts"
import { callsOf, type Sent, SLOW_MS } from "./DrillCalls.ts"
import { tenantsOfTwoWorkers } from "./DrillTenants.ts"

// A worker of a cluster dies, and another time stands still with its connections open, while tenants of both workers pay. The tenants of the other
// worker must not notice; its own have to go on by themselves, and no cent may be wrong. Exits 1 where it is otherwise.

const usage = "PG_BIN=FOLDER npm run citus-drill -- [--tenants N] [--every MS] [--down S] [--silent S] [--json]"
const CALM_MS = 10_000
/** So long after a worker is back its tenants are paid as before. */
const BACK_MS = 12_000

const options = (() => {
  try {
    const { values } = parseArgs({
      options: {
        tenants: { type: "string", default: "4" },
        every: { type: "string", default: "400" },
        down: { type: "string", default: "10" },
        silent: { type: "string", default: "25" },
        json: { type: "boolean", default: false }
      }
    })
    const number = (text: string) => {
      if (!/^[1-9]\d{0,5}$/.test(text)) throw new Error(`${text} is not a whole number above 0`)
      return Number(text)
    }
    const { down, every, json, silent, tenants } = values
    return { tenants: number(tenants), every: number(every), down: number(down) * 1000, silent: number(silent) * 1000, json }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\nusage: ${usage}`)
    process.exit(2)
  }
})()

const main = async () => {
  const stage = await openStage({}, clusterDatabase())
  try {
    await play(stage)
  } finally {
    // A server that stands still would never end.
    for (const actor of stage.actors) actor.signal("SIGCONT")
    await stage.close()
  }
}

const play = async (stage: Stage) => {
  const heard = await openReceiver()
  const { disturbed, others } = await tenantsOfTwoWorkers(stage, options.tenants, heard)
  await tellCallbacks(stage)
  const random = seeded(1)
  const any = () => random.pick(stage.gateways)
  const worker = workerOf(stage)
  const [operations, calls, under]: [Array<Operation>, Array<Sent>, Array<Promise<void>>] = [[], [], []]
  let [phase, since] = ["calm", performance.now()]
  let over = false
  const isOver = () => over
  let made = 0
  const pay = async (tenant: Operation["tenant"], isDisturbed: boolean) => {
    const operation = payout(tenant, made++)
    operations.push(operation)
    const begun = performance.now()
    const [own, sinceMs, sent] = [phase, begun - since, { status: 0 }]
    await perform(
      operation,
      any,
      () => true,
      (_begun, answer) => void (sent.status = answer?.status ?? 0)
    )
    calls.push({ phase: own, isDisturbed, status: sent.status, milliseconds: performance.now() - begun, sinceMs, operation })
  }
  const customers = [...disturbed.map((key) => [key, true] as const), ...others.map((key) => [key, false] as const)]
  const running = customers.map(async ([key, isDisturbed], at) => {
    await pause((options.every / customers.length) * at)
    while (!isOver()) {
      under.push(pay(key, isDisturbed))
      await pause(options.every)
    }
  })
  const during = async (name: string, milliseconds: number) => {
    ;[phase, since] = [name, performance.now()]
    console.error(`${new Date().toISOString()} ${name}`)
    await pause(milliseconds)
  }
  await during("calm", CALM_MS)
  await worker.kill()
  await during("killed", options.down)
  const back = worker.start()
  await during("back after the kill", BACK_MS)
  await back
  worker.signal("SIGSTOP")
  await during("silent", options.silent)
  worker.signal("SIGCONT")
  await during("back after the silence", BACK_MS)
  await during("calm again", CALM_MS)
  over = true
  await Promise.all([...running, ...under])
  const phases = callsOf(calls, heard)
  const table = phases.flatMap(({ name, others, own }) => [
    { phase: name, of: "others", ...others },
    { phase: name, of: "its own", ...own }
  ])
  console.error(`load over: ${operations.length} payouts; settling`)
  if (!options.json) console.table(table)

  const tenants = customers.map(([key]) => key)
  const { faults: wrong } = await account(stage, { operations, tenants, any, heard, isEachToEnd: true, provider: "eversend" })
  const felt = phases.flatMap(({ name, others }) =>
    others.failed === 0 ? [] : [`${name}: ${others.failed} requests of others failed`]
  )
  const late = phases.flatMap(({ name, others }) =>
    others.slowest > SLOW_MS ? [`${name}: a request of others took ${others.slowest} ms`] : []
  )
  const stuck = phases.flatMap(({ name, own }) =>
    name === "calm again" && own.failed > 0 ? [`${own.failed} of its own failed at the end`] : []
  )
  const faults = [...wrong, ...felt, ...stuck]
  await heard.close()
  if (options.json) console.log(JSON.stringify({ operations: operations.length, phases, faults, late }))
  for (const line of [...faults, ...late].slice(0, 30)) console.error(line)
  process.exitCode = faults.length === 0 ? 0 : 1
}

/** The last one. */
const workerOf = ({ actors }: Stage): Actor => {
  const worker = actors.at(-1)
  if (worker === undefined || !worker.name.startsWith("worker")) throw new Error("the cluster has no worker")
  return worker
}

const payout = (tenant: Operation["tenant"], number: number): Operation => ({
  tenant,
  kind: "payout",
  ending: "1000",
  amount: 1000,
  key: `drill-${number}`,
  body: {
    amount_minor: 1000,
    currency: "UGX",
    country: "UG",
    method: "momo",
    metadata: { number },
    destination: { type: "momo", msisdn: `256${10_000 + (number % 90_000)}1000`, network: "MTN", country: "UG" }
  },
  attempts: 0,
  reference: undefined,
  settled: undefined
})

await main()
