import { setTimeout as pause } from "node:timers/promises"
import { parseArgs } from "node:util"
import { Effect } from "effect"
import { gateway } from "../commands/Gateway.ts"
import { seeded } from "../support/Random.ts"
import { tellCallbacks } from "./Callbacks.ts"
import { type Key, send } from "./Client.ts"
import { type Operation, perform, planner } from "./Load.ts"
import { openReceiver } from "./Receiver.ts"
import { type Actor, type Address, openStage, type Stage } from "./Stage.ts"
import { type Evidence, type Execution, judge, unexplained } from "./Verdict.ts"

// Real processes under signed load, killed at random moments; afterwards three accounts are held against each other: what the provider
// executed, what the tenants were told, and the ledger. Exits 1 on the first cent that differs.

const usage = "npm run chaos -- [--seconds N] [--seed N] [--clients N] [--json]"
const TENANTS = 4
const CREDIT = 1_000_000_000
const SETTLE_WITHIN_MS = 600_000
const LOOK_AGAIN_EVERY_MS = 60_000
const POLLS_AT_ONCE = 8
const RECONCILED_AT_MOST = 5
const SHORTEST_LIFE_MS = 1_000
const LONGEST_LIFE_MS = 18_000

const options = (() => {
  try {
    const { values } = parseArgs({
      options: {
        seconds: { type: "string", default: "60" },
        seed: { type: "string", default: "1" },
        clients: { type: "string", default: "12" },
        json: { type: "boolean", default: false }
      }
    })
    const [seconds, seed, clients] = [values.seconds, values.seed, values.clients].map(Number)
    if (![seconds, seed, clients].every((one) => Number.isSafeInteger(one) && Number(one) > 0))
      throw new Error("not a whole number above 0")
    return { seconds: seconds ?? 0, seed: seed ?? 0, clients: clients ?? 0, json: values.json }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\nusage: ${usage}`)
    process.exit(2)
  }
})()

const makeTenants = async (stage: Stage, url: (appId: string) => string, learn: (appId: string, secret: string) => void) => {
  const keys: Array<Key> = []
  for (let index = 0; index < TENANTS; index++) {
    const appId = `chaos-${index}`
    const must = async (...args: ReadonlyArray<string>): Promise<Readonly<Record<string, string>>> => {
      const { code, errors, json } = await stage.command(...args)
      if (code !== 0) throw new Error(`gateway ${args.join(" ")}: ${errors}`)
      return JSON.parse(JSON.stringify(json))
    }
    await must("tenant", "create", appId)
    const { api_key = "", key_id = "", signing_secret = "" } = await must("key", "issue", appId, "--mode", "live")
    keys.push({ app_id: appId, api_key, key_id, signing_secret })
    const money = ["--currency", "UGX", "--amount-minor", String(CREDIT)]
    await must("float", "credit", appId, "--mode", "live", ...money, "--external-id", "chaos", "--note", "chaos")
    for (const window of ["hour", "day"])
      await must("limit", "set", appId, "--mode", "live", "--window", window, "--count", "1000000")
    const { secret = "" } = await must("webhook", "endpoint", appId, "--mode", "live", "--url", url(appId))
    learn(appId, secret)
  }
  const [first, ...others] = keys
  if (first === undefined) throw new Error("no tenant")
  return [first, ...others] as const
}

const main = async () => {
  const stage = await openStage()
  try {
    await play(stage)
  } finally {
    await stage.close()
  }
}

/**
 * What an operator does once the provider is back: a callback that found nobody to ask, again and again, would be looked into ten minutes
 * after it came, and half an hour.
 */
const lookAgain = async (stage: Stage) => {
  // In this process: a command's own start takes longer than what it does.
  const inbox = (...args: ReadonlyArray<string>) => Effect.runPromise(gateway(stage.variables, "inbox", ...args, "--json"))
  const waiting: ReadonlyArray<{ id: string }> = JSON.parse((await inbox("list", "--status", "due")).output)
  for (const { id } of waiting) await inbox("replay", id)
}

/** As an operator does: a provider that was slow to list its account is asked again. */
const reconciliation = async (stage: Stage): Promise<unknown> => {
  for (let attempt = 1; ; attempt++) {
    const { errors, json } = await stage.command("reconcile", "eversend")
    if (json !== null) return json
    if (attempt === RECONCILED_AT_MOST) throw new Error(`gateway reconcile eversend: ${errors}`)
  }
}

/** Signed operations from every client while every process is killed again and again. */
const load = async (stage: Stage, plan: () => Operation, any: () => Address, kills: Record<string, number>) => {
  const started = performance.now()
  const isOver = () => performance.now() - started > options.seconds * 1000
  const operations: Array<Operation> = []
  const client = async () => {
    while (!isOver()) {
      const operation = plan()
      operations.push(operation)
      await perform(operation, any, isOver)
    }
  }
  /** Each process has its own misfortune, so that some die alone and some together, also while another comes back. */
  const haunt = async ({ kill, name, start }: Actor, index: number) => {
    const own = seeded(options.seed * 31 + index)
    while (!isOver()) {
      await pause(SHORTEST_LIFE_MS + own.below(LONGEST_LIFE_MS - SHORTEST_LIFE_MS))
      await kill()
      kills[name] = (kills[name] ?? 0) + 1
      await start()
    }
  }
  await Promise.all([...Array.from({ length: options.clients }, client), ...stage.actors.map(haunt)])
  return operations
}

const play = async (stage: Stage) => {
  const random = seeded(options.seed)
  const heard = await openReceiver()
  const tenants = await makeTenants(stage, heard.url, heard.learn)
  await tellCallbacks(stage)
  const kills: Record<string, number> = {}
  const any = () => random.pick(stage.gateways)
  const operations = await load(stage, planner(random, tenants), any, kills)
  console.error(`load over: ${operations.length} operations, ${total(kills)} kills; settling`)

  const tooLate = after(SETTLE_WITHIN_MS)
  await each(
    operations.filter(({ settled }) => settled === undefined),
    (operation) => perform(operation, any, tooLate)
  )
  const executions = async (): Promise<ReadonlyArray<Execution>> =>
    JSON.parse(await (await fetch(`${stage.simulatorUrl}/__simulator/executions`)).text())
  const evidence = await settle({ operations, tenants, any, executions, heard, tooLate, lookAgain: () => lookAgain(stage) })
  const verdict = judge(evidence)
  const ledger = await stage.command("ledger", "verify")
  const reconciled = await reconciliation(stage)
  const ran = {
    seconds: options.seconds,
    seed: options.seed,
    operations: operations.length,
    sent: operations.reduce((sum, { attempts }) => sum + attempts, 0),
    accepted: operations.filter(({ settled }) => settled === "accepted").length,
    executions: evidence.executions.length,
    kills: { total: total(kills), ...kills },
    webhooks: heard.count(),
    lost: verdict.lost.length,
    doubled: verdict.doubled.length,
    invented: verdict.invented.length,
    wrong_floats: verdict.floats.length,
    missed_webhooks: verdict.webhooks.length,
    open: verdict.open,
    ledger_ok: ledger.code === 0,
    unexplained: unexplained(reconciled, operations)
  }
  const faults = [
    ...verdict.lost,
    ...verdict.doubled,
    ...verdict.invented,
    ...verdict.floats,
    ...verdict.webhooks,
    ...ran.unexplained
  ]
  await heard.close()
  if (options.json) console.log(JSON.stringify(ran))
  else for (const [name, value] of Object.entries(ran)) console.log(`${name.padEnd(16)} ${JSON.stringify(value)}`)
  for (const fault of faults.slice(0, 50)) console.error(fault)
  process.exitCode = faults.length === 0 && ran.ledger_ok ? 0 : 1
}

interface Settling {
  readonly operations: ReadonlyArray<Operation>
  readonly tenants: ReadonlyArray<Key>
  /** Any of the gateways. */
  readonly any: () => Address
  readonly executions: () => Promise<ReadonlyArray<Execution>>
  readonly heard: Evidence["heard"]
  readonly tooLate: () => boolean
  readonly lookAgain: () => Promise<void>
}

/** Reads everything until nothing changes any more that still can. */
const settle = async ({ any, executions, heard, lookAgain, operations, tenants, tooLate }: Settling): Promise<Evidence> => {
  const records = new Map<string, Readonly<Record<string, unknown>>>()
  const floats = new Map<string, Readonly<Record<string, number>>>()
  const read = async ({ kind, reference, tenant }: Operation) => {
    const answer = await send(any(), tenant, { method: "GET", target: `/v1/${kind}s/${reference}` })
    if (answer?.body.data !== undefined) records.set(reference ?? "", answer.body.data)
  }
  let isTimeToLook = () => true
  for (;;) {
    if (isTimeToLook()) {
      await lookAgain()
      isTimeToLook = after(LOOK_AGAIN_EVERY_MS)
    }
    const moving = operations.filter(({ reference }) => reference !== undefined && !isAtRest(records.get(reference)))
    await each(moving, read)
    for (const tenant of tenants) {
      const answer = await send(any(), tenant, { method: "GET", target: "/v1/float" })
      const [position] = JSON.parse(JSON.stringify(answer?.body.data ?? []))
      floats.set(tenant.app_id, position ?? {})
    }
    const evidence: Evidence = { operations, executions: await executions(), records, floats, credit: CREDIT, heard }
    const { floats: wrong, lost, webhooks } = judge(evidence)
    if ((lost.length === 0 && wrong.length === 0 && webhooks.length === 0) || tooLate()) return evidence
    await pause(1000)
  }
}

const after = (ms: number) => {
  const end = performance.now() + ms
  return () => performance.now() > end
}

const isAtRest = (record: Readonly<Record<string, unknown>> | undefined): boolean =>
  ["successful", "failed"].includes(String(record?.["status"]))

const each = async <A>(all: ReadonlyArray<A>, work: (one: A) => Promise<void>): Promise<void> => {
  const waiting = [...all]
  await Promise.all(
    Array.from({ length: POLLS_AT_ONCE }, async () => {
      for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) await work(one)
    })
  )
}

const total = (kills: Readonly<Record<string, number>>): number => Object.values(kills).reduce((sum, one) => sum + one, 0)

await main()
