import { appendFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout as pause } from "node:timers/promises"
import { parseArgs } from "node:util"
import { type Random, seeded } from "../../test/support/Random.ts"
import { account } from "../chaos/Accounting.ts"
import { tellCallbacks } from "../chaos/Callbacks.ts"
import { type Operation, perform } from "../chaos/Load.ts"
import { openReceiver } from "../chaos/Receiver.ts"
import { after } from "../chaos/Settling.ts"
import { type Address, openStage, type Stage } from "../chaos/Stage.ts"
import { makeTenants } from "../chaos/Tenants.ts"
import { commitPlayed, mustStillPlay } from "../runs/Commit.ts"
import { RECORD } from "./Sums.ts"
import { verdictsOf } from "./Verdict.ts"
import { type Watching, watch } from "./Watch.ts"

// Two gateways work for hours at a steady rate. What they have in memory, open and on disk, and how fast they answer, is sampled, and a line
// drawn through the samples: a leak is a slope. Afterwards every cent is accounted for. With --record the part is a line of a file, whatever was
// found. A signal ends the load early, and the rest is done as ever.

const usage = "npm run soak -- [--minutes N] [--rate OPERATIONS_A_SECOND] [--seed N] [--record]"
/** Of all samples; with fewer nothing is said about trends. */
const MISSED_AT_MOST = 0.5
/** So many faults are in the record as they are. */
const SHOWN = 20
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

const commit = commitPlayed(options.record)

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
  const file = join(stage.dataDir, "samples.jsonl")
  console.error(`what is sampled is in ${file}; kill -TERM ${process.pid} ends the load early`)
  const watching = watch(stage, file)
  const began = performance.now()
  let isStopped = false
  stage.onSignal(() => {
    isStopped = true
    console.error("stopped: what there is is accounted for; another signal ends this at once")
  })
  const isTime = after(options.minutes * 60_000)
  const isOver = () => isStopped || isTime()
  const operations = await load((made) => planned(random, random.pick(tenants), made), any, isOver, watching)
  const minutes = Math.round((performance.now() - began) / 6_000) / 10
  const { failed, missed, samples, trends } = await watching.ended()
  const verdicts = verdictsOf({ minutes, trends })
  console.table(trends)
  console.table(verdicts)
  console.error(`load over: ${operations.length} operations; settling. ${JSON.stringify(trends)}`)
  const { counts, faults } = await accountedFor(stage, { operations, tenants, any, heard })
  await heard.close()
  const all = [...faults, ...(missed > samples * MISSED_AT_MOST ? [`${missed} of ${samples} samples were missed`] : [])]
  const part = {
    date: new Date().toISOString().slice(0, 10),
    commit,
    minutes,
    rate: options.rate,
    seed: options.seed,
    operations: operations.length,
    webhooks: heard.count(),
    failed,
    ...counts,
    faults: all.length,
    found: all.slice(0, SHOWN),
    samples,
    missed_samples: missed,
    trends
  }
  console.log(JSON.stringify(part))
  if (options.record) {
    mustStillPlay(commit)
    appendFileSync(RECORD, `${JSON.stringify(part)}\n`)
  }
  process.exitCode = all.length === 0 && verdicts.every(({ verdict }) => verdict !== "grows") ? 0 : 1
}

/** Each is sent when it is due, whether or not the others are answered. */
const load = async (plan: (made: number) => Operation, any: () => Address, isOver: () => boolean, { answered }: Watching) => {
  const operations: Array<Operation> = []
  const under = new Set<Promise<void>>()
  const began = performance.now()
  while (!isOver()) {
    const due = began + (operations.length * 1000) / options.rate
    const operation = plan(operations.length)
    operations.push(operation)
    await pause(Math.max(0, due - performance.now()))
    let isFirst = true
    const sent = perform(operation, any, isOver, (_begun, answer) => {
      if (isFirst) answered(performance.now() - due, answer?.status)
      isFirst = false
    })
    under.add(sent)
    void sent.finally(() => under.delete(sent))
  }
  await Promise.all(under)
  return operations
}

/** What was accounted for; a part of which that failed is on record, too, as what it is. */
const accountedFor = async (stage: Stage, played: Omit<Parameters<typeof account>[1], "isEachToEnd" | "provider">) => {
  try {
    const { auditOk, evidence, faults, ledgerOk, unexplained, verdict } = await account(stage, {
      ...played,
      isEachToEnd: true,
      provider: "eversend"
    })
    const counts = {
      executed: evidence.executions.length,
      open: verdict.open,
      lost: verdict.lost.length,
      doubled: verdict.doubled.length,
      invented: verdict.invented.length,
      wrong_floats: verdict.floats.length,
      missed_webhooks: verdict.webhooks.length,
      unexplained: unexplained.length,
      ledger_ok: ledgerOk,
      audit_ok: auditOk
    }
    return { counts, faults }
  } catch (cause) {
    console.error(cause)
    return { counts: {}, faults: [`not accounted for: ${cause}`] }
  }
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
