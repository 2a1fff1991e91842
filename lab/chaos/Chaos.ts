import { setTimeout as pause } from "node:timers/promises"
import { parseArgs } from "node:util"
import { seeded } from "../../test/support/Random.ts"
import { wrongTime } from "../../test/support/WrongTime.ts"
import { runRecorder } from "../runs/Runs.ts"
import { account } from "./Accounting.ts"
import { anomalies } from "./Anomalies.ts"
import { tellCallbacks } from "./Callbacks.ts"
import { clusterDatabase } from "./ClusterDatabase.ts"
import { type Failover, failOver, pairOfServers, ways } from "./Failovers.ts"
import { record } from "./History.ts"
import { type Operation, planner } from "./Load.ts"
import { bell, load } from "./Loading.ts"
import { playedOn } from "./PlayedOn.ts"
import { openReceiver } from "./Receiver.ts"
import { after } from "./Settling.ts"
import { type Actor, openStage, type Stage } from "./Stage.ts"
import { CREDIT, makeTenants } from "./Tenants.ts"
import { returnedByTenant } from "./Verdict.ts"
import { watch } from "./Watchers.ts"

// Real processes under signed load, killed at random moments; afterwards three accounts are held against each other: what the provider
// executed, what the tenants were told, and the ledger. Exits 1 on the first cent that differs.

const usage =
  "npm run chaos -- [--seconds N | --failover [--failovers N] [--through direct|haproxy|pgbouncer|pgbouncer-session]] [--skew SECONDS] [--citus] [--seed N] [--clients N] [--json] [--record]"
/** A failover that takes longer until the first 201 is a fault. */
const BACK_WITHIN_MS = 3_000
const SHORTEST_LIFE_MS = 1_000
const LONGEST_LIFE_MS = 18_000

const options = (() => {
  try {
    const { values } = parseArgs({
      options: {
        seconds: { type: "string", default: "60" },
        seed: { type: "string", default: "1" },
        clients: { type: "string", default: "12" },
        failover: { type: "boolean", default: false },
        failovers: { type: "string", default: "10" },
        citus: { type: "boolean", default: false },
        through: { type: "string", default: "direct" },
        skew: { type: "string" },
        json: { type: "boolean", default: false },
        record: { type: "boolean", default: false }
      }
    })
    const number = (text: string) => {
      if (!/^[1-9]\d{0,8}$/.test(text)) throw new Error(`${text} is not a whole number above 0`)
      return Number(text)
    }
    if (values.failover && values.citus) throw new Error("--failover is of one server and its standby, --citus of a cluster")
    const through = ways.find((way) => way === values.through)
    if (through === undefined) throw new Error(`--through is one of ${ways.join(", ")}`)
    return {
      through,
      skew: values.skew === undefined ? 0 : number(values.skew),
      seconds: number(values.seconds),
      seed: number(values.seed),
      clients: number(values.clients),
      failovers: values.failover ? number(values.failovers) : 0,
      citus: values.citus,
      json: values.json,
      record: values.record
    }
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : error}\nusage: ${usage}`)
    process.exit(2)
  }
})()
const putOnRecord = runRecorder("chaos", options.record)

const pair = pairOfServers(options.through, options.skew)
const database = options.failovers > 0 ? pair.database : options.citus ? clusterDatabase(options.skew) : undefined

const main = async () => {
  const { skew } = options
  const stage = await openStage(
    {},
    database,
    skew === 0 ? undefined : [{ variables: wrongTime(skew) }, { variables: wrongTime(-skew) }]
  )
  await playedOn(stage, play)
}

/** Each process has its own misfortune, so that some die alone and some together, also while another comes back. */
const killEverything = async (stage: Stage, kills: Record<string, number>) => {
  const isOver = after(options.seconds * 1000)
  const haunt = async ({ kill, name, start }: Actor, index: number) => {
    const own = seeded(options.seed * 31 + index)
    while (!isOver()) {
      await pause(SHORTEST_LIFE_MS + own.below(LONGEST_LIFE_MS - SHORTEST_LIFE_MS))
      await kill()
      kills[name] = (kills[name] ?? 0) + 1
      await start()
    }
  }
  await Promise.all(stage.actors.map(haunt))
}

const play = async (stage: Stage) => {
  const random = seeded(options.seed)
  const recorder = record()
  const heard = await openReceiver(recorder.told)
  const tenants = await makeTenants(stage, heard.url, heard.learn)
  await tellCallbacks(stage)
  const kills: Record<string, number> = {}
  const any = () => random.pick(stage.gateways)
  const created = bell()
  let failovers: ReadonlyArray<Failover> = []
  const members = pair.members()
  const disturb = async (arrive: () => void) => {
    if (members === undefined) return killEverything(stage, kills)
    failovers = await failOver(stage, members, options.failovers, {
      created: created.next,
      arrive,
      comesBack: options.through === "direct",
      random: seeded(options.seed * 31),
      told: (made, { milliseconds, promotedMs, written }) =>
        console.error(
          `${new Date().toISOString()} failover ${made}: promoted after ${promotedMs} ms, first 201 after ${milliseconds} ms${written === null ? "" : `, and the old primary came back (${written} writes)`}`
        )
    })
  }
  const watching = (operations: ReadonlyArray<Operation>, isOver: () => boolean) =>
    watch({ operations, tenants, any, random, recorder, isOver })
  const plan = planner(random, tenants)
  const operations = await load({ plan, any, clients: options.clients, created: created.ring, recorder, watching, disturb })
  console.error(`load over: ${operations.length} operations, ${total(kills)} kills; settling`)

  const accounted = await account(stage, { operations, tenants, any, heard, provider: "eversend" })
  const { evidence, verdict } = accounted
  const history = recorder.history(CREDIT, returnedByTenant(evidence))
  const strange = anomalies(history)
  const times = sorted(failovers.map(({ milliseconds }) => milliseconds))
  const returns = failovers.flatMap(({ written }) => written ?? [])
  const ran = {
    ...(members === undefined
      ? { seconds: options.seconds, kills: { total: total(kills), ...kills } }
      : {
          failovers: failovers.length,
          promoted_ms: middleAndEnd(sorted(failovers.map(({ promotedMs }) => promotedMs))),
          first_201_ms: middleAndEnd(times),
          old_primaries_back: returns.length,
          old_primaries_written: returns.filter((written) => written > 0).length
        }),
    seed: options.seed,
    ...(options.skew === 0 ? {} : { skew_seconds: options.skew }),
    operations: operations.length,
    sent: operations.reduce((sum, { attempts }) => sum + attempts, 0),
    accepted: operations.filter(({ settled }) => settled === "accepted").length,
    executions: evidence.executions.length,
    webhooks: heard.count(),
    lost: verdict.lost.length,
    doubled: verdict.doubled.length,
    invented: verdict.invented.length,
    wrong_floats: verdict.floats.length,
    missed_webhooks: verdict.webhooks.length,
    open: verdict.open,
    reads: history.looks.length + history.positions.length,
    final_answers: history.answers.length,
    anomalies: strange.length,
    ledger_ok: accounted.ledgerOk,
    audit_ok: accounted.auditOk,
    unexplained: accounted.unexplained
  }
  const faults = [
    ...accounted.faults,
    ...strange,
    ...times.filter((ms) => ms > BACK_WITHIN_MS).map((ms) => `the first 201 came ${ms} ms after a promotion`),
    ...returns.filter((written) => written > 0).map((written) => `an old primary was written to: ${written} rows or sessions`)
  ]
  await heard.close()
  if (options.json) console.log(JSON.stringify(ran))
  else for (const [name, value] of Object.entries(ran)) console.log(`${name.padEnd(16)} ${JSON.stringify(value)}`)
  for (const fault of faults.slice(0, 50)) console.error(fault)
  putOnRecord(faults.length === 0, { ...ran, faults: faults.length })
  process.exitCode = faults.length === 0 ? 0 : 1
}

const sorted = (times: ReadonlyArray<number>) => times.toSorted((one, other) => one - other)
const middleAndEnd = (times: ReadonlyArray<number>) => ({ median: times[Math.floor(times.length / 2)], longest: times.at(-1) })

const total = (kills: Readonly<Record<string, number>>): number => Object.values(kills).reduce((sum, one) => sum + one, 0)

await main()
