import { execFileSync } from "node:child_process"
import { appendFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { parseArgs } from "node:util"
import { tellCallbacks } from "../chaos/Callbacks.ts"
import { type Operation, perform } from "../chaos/Load.ts"
import { openReceiver } from "../chaos/Receiver.ts"
import { after, each, lookAgain, reconciliation, settle } from "../chaos/Settling.ts"
import { openStage, type Stage } from "../chaos/Stage.ts"
import { makeTenants } from "../chaos/Tenants.ts"
import { judge, unexplained } from "../chaos/Verdict.ts"
import { type Random, seeded } from "../support/Random.ts"
import { watch } from "./Watch.ts"

// Two gateways work for hours at a steady rate. What they have in memory, open and on disk, and how fast they answer, is sampled, and a line
// drawn through the samples: a leak is a slope. Afterwards every cent is accounted for. With --record the part is a line of a file.

const usage = "npm run soak -- [--minutes N] [--rate OPERATIONS_A_SECOND] [--seed N] [--record]"
const RECORD = join(import.meta.dirname, "..", "..", "docs", "reliability", "soak.jsonl")
const SETTLE_WITHIN_MS = 300_000
/** Six of a hundred operations take a way of their own; all of them end by themselves. */
const ENDINGS: readonly [string, ...ReadonlyArray<string>] = [
  "0001",
  "0002",
  "0003",
  "0005",
  "0006",
  "0009",
  ...Array<string>(94).fill("1000")
]

const options = (() => {
  try {
    const { values } = parseArgs({
      options: {
        minutes: { type: "string", default: "120" },
        rate: { type: "string", default: "20" },
        seed: { type: "string", default: "1" },
        record: { type: "boolean", default: false }
      }
    })
    const number = (text: string) => {
      if (!/^[1-9]\d{0,5}$/.test(text)) throw new Error(`${text} is not a whole number above 0`)
      return Number(text)
    }
    const { minutes, rate, record, seed } = values
    return { minutes: number(minutes), rate: number(rate), seed: number(seed), record }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\nusage: ${usage}`)
    process.exit(2)
  }
})()

const main = async () => {
  const stage = await openStage({ SIMULATOR_DELAY_MS: "50", RATE_LIMIT_MONEY: "off", RATE_LIMIT_READS: "off" })
  try {
    await play(stage)
  } finally {
    await stage.close()
  }
}

const play = async (stage: Stage) => {
  const heard = await openReceiver()
  const tenants = await makeTenants(stage, heard.url, heard.learn)
  await tellCallbacks(stage)
  const random = seeded(options.seed)
  const any = () => random.pick(stage.gateways)
  const watching = watch(stage)
  const operations: Array<Operation> = []
  const under = new Set<Promise<void>>()
  const isOver = after(options.minutes * 60_000)
  const began = performance.now()
  // Sent when it is due, whether or not the others are answered.
  for (let made = 0; !isOver(); made++) {
    const due = began + (made * 1000) / options.rate
    const operation = planned(random, random.pick(tenants), made)
    operations.push(operation)
    await pause(Math.max(0, due - performance.now()))
    let isFirst = true
    const sent = perform(operation, any, isOver, (_begun, answer) => {
      if (isFirst) watching.answered(performance.now() - due, answer?.status)
      isFirst = false
    })
    under.add(sent)
    void sent.finally(() => under.delete(sent))
  }
  await Promise.all(under)
  const { failed, trends } = await watching.ended()
  const tooLate = after(SETTLE_WITHIN_MS)
  await each(
    operations.filter(({ settled }) => settled === undefined),
    (operation) => perform(operation, any, tooLate)
  )
  const executions = async () => JSON.parse(await (await fetch(`${stage.simulatorUrl}/__simulator/executions`)).text())
  const evidence = await settle({
    operations,
    tenants,
    any,
    executions,
    heard,
    tooLate,
    lookAgain: () => lookAgain(stage),
    isEachToEnd: true
  })
  const { doubled, floats, invented, lost, open, webhooks } = judge(evidence)
  const [ledger, audit] = [await stage.command("ledger", "verify"), await stage.command("audit", "verify")]
  const differences = unexplained(await reconciliation(stage), operations)
  const faults = [...lost, ...doubled, ...invented, ...floats, ...webhooks, ...differences]
  for (const fault of faults.slice(0, 20)) console.error(fault)
  await heard.close()
  console.table(trends)
  const part = {
    date: new Date().toISOString().slice(0, 10),
    commit: execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim(),
    minutes: options.minutes,
    rate: options.rate,
    seed: options.seed,
    operations: operations.length,
    executed: evidence.executions.length,
    webhooks: heard.count(),
    failed,
    open,
    lost: lost.length,
    doubled: doubled.length,
    invented: invented.length,
    wrong_floats: floats.length,
    missed_webhooks: webhooks.length,
    unexplained: differences.length,
    ledger_ok: ledger.code === 0,
    audit_ok: audit.code === 0,
    trends
  }
  console.log(JSON.stringify(part))
  if (options.record) appendFileSync(RECORD, `${JSON.stringify(part)}\n`)
  process.exitCode = faults.length === 0 && open === 0 && part.ledger_ok && part.audit_ok ? 0 : 1
}

const planned = (random: Random, tenant: Operation["tenant"], made: number): Operation => {
  const kind = random.chance(0.6) ? "payout" : "collection"
  const ending = random.pick(ENDINGS)
  const amount = 500 + random.below(2000)
  const party = { type: "momo", msisdn: `256${10_000 + (made % 90_000)}${ending}`, network: "MTN", country: "UG" }
  const terms = { amount_minor: amount, currency: "UGX", country: "UG", method: "momo", metadata: { made } }
  const body = kind === "payout" ? { ...terms, destination: party } : { ...terms, source: party }
  return { tenant, kind, ending, amount, key: `soak-${made}`, body, attempts: 0, reference: undefined, settled: undefined }
}

await main()
