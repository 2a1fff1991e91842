import { setTimeout as pause } from "node:timers/promises"
import { seeded } from "../../test/support/Random.ts"
import { account } from "../chaos/Accounting.ts"
import { anomalies } from "../chaos/Anomalies.ts"
import type { Answer } from "../chaos/Client.ts"
import { tellCallbacks } from "../chaos/everything/Accounts.ts"
import { type Recorder, record } from "../chaos/History.ts"
import { type Operation, perform, planner } from "../chaos/Load.ts"
import { bell, load } from "../chaos/Loading.ts"
import { endings, leadToMtn } from "../chaos/OnlyMtn.ts"
import { openReceiver } from "../chaos/Receiver.ts"
import type { Address } from "../chaos/Stage.ts"
import { CREDIT, makeTenants } from "../chaos/Tenants.ts"
import { returnedByTenant } from "../chaos/Verdict.ts"
import { watch } from "../chaos/Watchers.ts"
import { playDamages } from "./Damage.ts"
import type { Scene } from "./Scene.ts"

// One trouble after the other under signed load; then the three accounts of chaos are held against each other.

export type Figures = Readonly<Record<string, unknown>>

export interface Trouble {
  readonly name: string
  /** Whether gateways may end under it, and are started again. */
  readonly endsGateways?: boolean
  /** From its beginning until it is mended; its figures, and what was wrong. */
  readonly play: (
    scene: Scene,
    clients: Clients
  ) => Promise<{ readonly figures: Figures; readonly faults: ReadonlyArray<string> }>
}

export interface Clients {
  /** So many more clients of a gateway, for so long. Answers how many requests they sent. */
  readonly crowd: (count: number, of: Address, milliseconds: number) => Promise<number>
  /** How many requests were answered, or not, since the trouble began. */
  readonly asked: () => number
}

const STEADY_MS = 3_000
const BACK_WITHIN_MS = 60_000
const LOOKED_EVERY_MS = 100
/** An ordinary success: nothing but a fault of ours refuses it. */
const ORDINARY = "1000"

interface Options {
  /** Whether files are damaged at the end. */
  readonly damages: boolean
  readonly seed: number
  readonly clients: number
}

export const playAll = async (scene: Scene, troubles: ReadonlyArray<Trouble>, { clients, damages, seed }: Options) => {
  const { stage } = scene
  const random = seeded(seed)
  const heardOf = tallied(record())
  const { recorder } = heardOf
  const heard = await openReceiver(recorder.told)
  await leadToMtn(stage)
  const tenants = await makeTenants(stage, heard.url, heard.learn)
  await tellCallbacks(stage, stage.gateways[0].url)
  const any = () => random.pick(stage.gateways)
  const created = bell()
  const plan = planner(random, tenants, endings)
  const crowded: Array<Operation> = []
  const crowd: Clients["crowd"] = async (count, of, milliseconds) => {
    const limit = performance.now() + milliseconds
    const isOver = () => performance.now() > limit
    const one = async () => {
      while (!isOver()) {
        const operation = plan()
        crowded.push(operation)
        await perform(
          operation,
          () => of,
          isOver,
          (begun, answer) => recorder.answer({ begun, ended: performance.now() }, operation, answer)
        )
      }
    }
    const before = heardOf.asked()
    await Promise.all(Array.from({ length: count }, one))
    return heardOf.asked() - before
  }
  const figures: Record<string, Figures> = {}
  const faults: Array<string> = []
  const disturb = async () => {
    for (const { endsGateways = false, name, play } of troubles) {
      await created.next()
      await pause(STEADY_MS)
      const before = restarts(scene)
      heardOf.begin()
      console.error(`${new Date().toISOString()} ${name}`)
      const happened = await play(scene, { crowd, asked: heardOf.asked })
      const back = await backAgain(scene, created.next())
      const again = restarts(scene)
      const ended = { gateways: again.gateways - before.gateways, database: again.database - before.database }
      figures[name] = { ...happened.figures, ...back, ended, ...heardOf.end() }
      console.error(`${new Date().toISOString()} ${name}: ${JSON.stringify(figures[name])}`)
      faults.push(...happened.faults.map((fault) => `${name}: ${fault}`))
      if (back.first_201_ms === null || back.ready_ms === null) faults.push(`${name}: it did not come back`)
      if (ended.gateways > 0 && !endsGateways) faults.push(`${name}: a gateway ended ${ended.gateways} times`)
    }
  }
  const watching = (operations: ReadonlyArray<Operation>, isOver: () => boolean) =>
    watch({ operations, tenants, any, random, recorder, isOver })
  const loaded = await load({ plan, any, clients, created: created.ring, recorder, watching, disturb })
  const operations = [...loaded, ...crowded]
  console.error(`load over: ${operations.length} operations; settling`)
  const whole = performance.now()
  const accounted = await account(stage, { operations, tenants, any, heard, isEachToEnd: true, provider: undefined })
  const { evidence, verdict } = accounted
  const history = recorder.history(CREDIT, returnedByTenant(evidence))
  const strange = anomalies(history)
  const damaged = damages ? await playDamages({ scene, operations }) : undefined
  await heard.close()
  const failed = operations.filter(({ ending, settled }) => ending === ORDINARY && settled === "refused")
  // Without a reference nothing was recorded. With one it was tried, and it is proved that nothing was executed.
  const refused = failed.filter(({ reference }) => reference === undefined)
  const ran = {
    seed,
    troubles: figures,
    operations: operations.length,
    sent: operations.reduce((sum, { attempts }) => sum + attempts, 0),
    accepted: operations.filter(({ settled }) => settled === "accepted").length,
    executions: evidence.executions.length,
    webhooks: heard.count(),
    lost: verdict.lost.length,
    doubled: verdict.doubled.length,
    invented: verdict.invented.length,
    refused_for_good: refused.length,
    failed_although_ordinary: failed.length - refused.length,
    wrong_floats: verdict.floats.length,
    missed_webhooks: verdict.webhooks.length,
    open: verdict.open,
    settled_after_s: Math.round((performance.now() - whole) / 1000),
    anomalies: strange.length,
    ledger_ok: accounted.ledgerOk,
    audit_ok: accounted.auditOk,
    ...(damaged === undefined ? {} : { damages: damaged.figures })
  }
  faults.push(...accounted.faults, ...strange, ...(damaged?.faults ?? []))
  faults.push(...refused.map(({ key }) => `${key} was refused for good`))
  return { ran, faults }
}

const restarts = ({ gateways: [one, two], server }: Scene) => ({
  gateways: one.restarts() + two.restarts(),
  database: server.restarts()
})

/** How long it takes until somebody gets a 201, and until every gateway says that it is ready; null where it does not within a minute. */
const backAgain = async ({ stage }: Scene, created: Promise<void>) => {
  const began = performance.now()
  const passed = () => Math.round(performance.now() - began)
  const first = Promise.race([created.then(passed), pause(BACK_WITHIN_MS).then(() => null)])
  let ready: number | null = null
  while (ready === null && passed() < BACK_WITHIN_MS) {
    const all = await Promise.all(stage.managements.map(({ url }) => readiness(url)))
    if (all.every((one) => one.status === 200)) ready = passed()
    else await pause(LOOKED_EVERY_MS)
  }
  return { first_201_ms: await first, ready_ms: ready }
}

export const readiness = (url: string): Promise<{ readonly status: number; readonly text: string }> =>
  fetch(`${url}/readyz`, { signal: AbortSignal.timeout(5_000) }).then(
    async (answer) => ({ status: answer.status, text: (await answer.text()).trim() }),
    () => ({ status: 0, text: "nothing" })
  )

/** A recorder, and how often each answer was heard since the last trouble began. */
const tallied = (inner: Recorder) => {
  let said: Record<string, number> = {}
  let slowest = 0
  let asked = 0
  const recorder: Recorder = {
    ...inner,
    answer: (interval, operation, answer) => {
      asked++
      slowest = Math.max(slowest, interval.ended - interval.begun)
      const words = wordsOf(answer)
      said[words] = (said[words] ?? 0) + 1
      inner.answer(interval, operation, answer)
    }
  }
  return {
    recorder,
    asked: () => asked,
    begin: () => {
      said = {}
      slowest = 0
    },
    end: () => ({ said, slowest_ms: Math.round(slowest) })
  }
}

const wordsOf = (answer: Answer | undefined): string => {
  if (answer === undefined) return "nothing"
  return answer.body.error === undefined ? String(answer.status) : `${answer.status} ${answer.body.error.code}`
}
