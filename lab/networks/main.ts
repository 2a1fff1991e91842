import { spawnSync } from "node:child_process"
import { parseArgs } from "node:util"
import { type Random, seeded } from "../../test/support/Random.ts"
import { account } from "../chaos/Accounting.ts"
import { anomalies } from "../chaos/Anomalies.ts"
import { tellCallbacks } from "../chaos/everything/Accounts.ts"
import { failOver } from "../chaos/Failovers.ts"
import { type Recorder, record } from "../chaos/History.ts"
import { type Operation, planner } from "../chaos/Load.ts"
import { bell, load } from "../chaos/Loading.ts"
import { endings, leadToMtn, settingsOfMtn } from "../chaos/OnlyMtn.ts"
import { openReceiver } from "../chaos/Receiver.ts"
import { CREDIT, makeTenants } from "../chaos/Tenants.ts"
import { returnedByTenant } from "../chaos/Verdict.ts"
import { watch } from "../chaos/Watchers.ts"
import { runRecorder } from "../runs/Runs.ts"
import { trouble } from "./Nemesis.ts"
import { withoutDatabase } from "./OutOfReach.ts"
import { openScene, type Scene } from "./Scene.ts"
import { type Split, splitBrain } from "./SplitBrain.ts"

// A cluster whose network is cut, slow, one-way and lossy while tenants pay, its primary is killed, and a clock jumps. Then the three accounts of
// chaos are held against each other, and what clients saw against what one register could have shown. Exits 1 on the first cent that differs.

const usage =
  "npm run networks -- [--cuts N] [--failovers N] [--splits N] [--through direct|haproxy] [--seed N] [--clients N] [--record]"
/** Troubles under way at once. */
const AT_ONCE = 3
/** The time of an arrival, and half a second for a machine whose cores are all at work. */
const ANSWERS_WITHIN_MS = 5_500
const options = (() => {
  try {
    const { values } = parseArgs({
      options: {
        cuts: { type: "string", default: "60" },
        failovers: { type: "string", default: "2" },
        splits: { type: "string", default: "1" },
        through: { type: "string", default: "direct" },
        seed: { type: "string", default: "1" },
        clients: { type: "string", default: "12" },
        record: { type: "boolean", default: false }
      }
    })
    const number = (text: string) => {
      if (!/^(0|[1-9]\d{0,8})$/.test(text)) throw new Error(`${text} is not a whole number`)
      return Number(text)
    }
    const through = (["direct", "haproxy"] as const).find((way) => way === values.through)
    if (through === undefined) throw new Error("--through is direct or haproxy")
    const { clients, cuts, failovers, record, seed, splits } = values
    return {
      through,
      record,
      cuts: number(cuts),
      failovers: number(failovers),
      splits: number(splits),
      seed: number(seed),
      clients: number(clients)
    }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\nusage: ${usage}`)
    process.exit(2)
  }
})()

/** Set where this process has a network of its own, in which it makes the others. */
const INSIDE = "PAYMENT_GATEWAY_NETWORKS"

const inside = (): never => {
  const again = [process.execPath, ...process.execArgv, import.meta.filename, ...process.argv.slice(2)]
  const { error, status } = spawnSync("unshare", ["--net", ...again], {
    stdio: "inherit",
    env: { ...process.env, [INSIDE]: "1" }
  })
  if (error !== undefined) console.error(`a network of its own needs Linux, root and unshare: ${error.message}`)
  process.exit(status ?? 1)
}

const main = async () => {
  const putOnRecord = runRecorder("networks", options.record)
  const scene = await openScene(options.through, settingsOfMtn)
  try {
    const { faults, ran } = await play(scene)
    for (const [name, value] of Object.entries(ran)) console.log(`${name.padEnd(16)} ${JSON.stringify(value)}`)
    for (const fault of faults.slice(0, 50)) console.error(fault)
    putOnRecord(faults.length === 0, { ...ran, faults: faults.length })
    process.exitCode = faults.length === 0 ? 0 : 1
  } catch (error) {
    console.error(error instanceof Error ? (error.stack ?? error.message) : error)
    process.exitCode = 1
  } finally {
    await scene.stage.close()
  }
  console.error(`what is stored, and what each process said, is in ${scene.stage.dataDir}`)
}

interface Disturbed {
  readonly cuts: Readonly<Record<string, number>>
  readonly failovers: number
  readonly splits: ReadonlyArray<Split>
  readonly outOfReach: Awaited<ReturnType<typeof withoutDatabase>>
}

interface Disturbing {
  readonly scene: Scene
  readonly created: () => Promise<void>
  readonly arrive: () => void
  readonly plan: () => Operation
  readonly recorder: Recorder
  readonly random: Random
}

/** A database out of reach; then everything at once; then the primaries that are two. */
const disturb = async ({ arrive, created, plan, random, recorder, scene }: Disturbing): Promise<Disturbed> => {
  const outOfReach = await withoutDatabase(scene, { plan, recorder })
  const cuts: Record<string, number> = {}
  const total = () => Object.values(cuts).reduce((sum, one) => sum + one, 0)
  let areFailed = options.failovers === 0
  const isOver = () => areFailed && total() >= options.cuts
  const begun = (kind: string) => {
    cuts[kind] = (cuts[kind] ?? 0) + 1
    if (total() % 20 === 0) console.error(`${new Date().toISOString()} ${total()} cuts`)
  }
  const troubles = Array.from({ length: AT_ONCE }, (_, index) =>
    trouble({ pairs: scene.pairs, clock: scene.clock, random: seeded(options.seed * 31 + index), isOver, begun })
  )
  const failing = failOver(scene.stage, scene.members, options.failovers, {
    created,
    arrive,
    comesBack: false,
    random,
    told: (made, { milliseconds }) =>
      console.error(`${new Date().toISOString()} failover ${made}: first 201 after ${milliseconds} ms`)
  }).finally(() => void (areFailed = true))
  const [failovers] = await Promise.all([failing, ...troubles])
  const splits: Array<Split> = []
  const [a, b] = scene.members
  for (let split = 0; split < options.splits; split++) {
    const isTurned = (options.failovers + split) % 2 === 1
    const split_ = await splitBrain({ ...scene, members: isTurned ? [b, a] : [a, b] }, created)
    splits.push(split_)
    console.error(`${new Date().toISOString()} two primaries: ${JSON.stringify(split_)}`)
  }
  return { cuts: { total: total(), ...cuts }, failovers: failovers.length, splits, outOfReach }
}

const play = async (scene: Scene) => {
  const { stage } = scene
  const random = seeded(options.seed)
  const recorder = record()
  const heard = await openReceiver(recorder.told)
  await scene.tenants.serve(Number(new URL(heard.url("")).port))
  await leadToMtn(stage)
  const tenants = await makeTenants(stage, heard.url, heard.learn)
  await tellCallbacks(stage, stage.gateways[0].url)
  const any = () => random.pick(stage.gateways)
  const created = bell()
  const plan = planner(random, tenants, endings)
  let disturbed: Disturbed | undefined
  const loaded = await load({
    plan,
    any,
    clients: options.clients,
    created: created.ring,
    recorder,
    watching: (begun: ReadonlyArray<Operation>, isOver) => watch({ operations: begun, tenants, any, random, recorder, isOver }),
    disturb: async (arrive) => {
      disturbed = await disturb({ scene, created: created.next, arrive, plan, recorder, random: seeded(options.seed * 17) })
    }
  })
  const operations = [...loaded, ...(disturbed?.outOfReach.operations ?? [])]
  const whole = performance.now()
  console.error(`load over: ${operations.length} operations; settling`)
  const accounted = await account(stage, { operations, tenants, any, heard, isEachToEnd: true, provider: undefined })
  const history = recorder.history(CREDIT, returnedByTenant(accounted.evidence))
  const strange = anomalies(history)
  await heard.close()
  const { verdict } = accounted
  const outOfReach = disturbed?.outOfReach.answers ?? []
  const slowest = Math.max(0, ...outOfReach.map(({ milliseconds }) => milliseconds))
  const ran = {
    through: options.through,
    seed: options.seed,
    cuts: disturbed?.cuts,
    failovers: disturbed?.failovers,
    two_primaries: disturbed?.splits.length,
    commits_not_acknowledged: disturbed?.splits.reduce((sum, { waiting }) => sum + waiting, 0),
    without_database_ms: slowest,
    without_database: counted(outOfReach.map(({ said }) => said)),
    operations: operations.length,
    sent: operations.reduce((sum, { attempts }) => sum + attempts, 0),
    accepted: operations.filter(({ settled }) => settled === "accepted").length,
    executions: accounted.evidence.executions.length,
    webhooks: heard.count(),
    lost: verdict.lost.length,
    doubled: verdict.doubled.length,
    invented: verdict.invented.length,
    wrong_floats: verdict.floats.length,
    missed_webhooks: verdict.webhooks.length,
    open: verdict.open,
    settled_after_s: Math.round((performance.now() - whole) / 1000),
    reads: history.looks.length + history.positions.length,
    final_answers: history.answers.length,
    anomalies: strange.length,
    ledger_ok: accounted.ledgerOk,
    audit_ok: accounted.auditOk
  }
  const faults = [
    ...accounted.faults,
    ...strange,
    ...(slowest > ANSWERS_WITHIN_MS ? [`a gateway without its database answered after ${slowest} ms`] : []),
    ...outOfReach.filter(({ isRight }) => !isRight).map(({ said }) => `a gateway without its database said ${said}`),
    ...(disturbed?.splits ?? []).filter(({ isServed }) => !isServed).map(() => "the new primary served nobody")
  ]
  return { ran, faults }
}

const counted = (words: ReadonlyArray<string>): Readonly<Record<string, number>> => {
  const counts: Record<string, number> = {}
  for (const word of words) counts[word] = (counts[word] ?? 0) + 1
  return counts
}

if (process.env[INSIDE] === undefined) inside()
else await main()
