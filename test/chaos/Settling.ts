import { setTimeout as pause } from "node:timers/promises"
import { Effect } from "effect"
import { gateway } from "../commands/Gateway.ts"
import { type Key, send } from "./Client.ts"
import type { Operation } from "./Load.ts"
import type { Address, Stage } from "./Stage.ts"
import { CREDIT } from "./Tenants.ts"
import { type Evidence, type Execution, judge } from "./Verdict.ts"

const LOOK_AGAIN_EVERY_MS = 60_000
const POLLS_AT_ONCE = 8
const RECONCILED_AT_MOST = 5

interface Settling {
  readonly operations: ReadonlyArray<Operation>
  readonly tenants: ReadonlyArray<Key>
  /** Any of the gateways. */
  readonly any: () => Address
  readonly executions: () => Promise<ReadonlyArray<Execution>>
  readonly heard: Evidence["heard"]
  readonly tooLate: () => boolean
  readonly lookAgain: () => Promise<void>
  /** Also until none is open: where no ending of the load stays open for hours. */
  readonly isEachToEnd?: boolean
}

/** Reads everything until nothing changes any more that still can. */
export const settle = async ({
  any,
  executions,
  heard,
  isEachToEnd = false,
  lookAgain,
  operations,
  tenants,
  tooLate
}: Settling): Promise<Evidence> => {
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
    const { floats: wrong, lost, open, webhooks } = judge(evidence)
    const isStill = lost.length === 0 && wrong.length === 0 && webhooks.length === 0 && (open === 0 || !isEachToEnd)
    if (isStill || tooLate()) return evidence
    await pause(1000)
  }
}

/**
 * What an operator does once the provider is back: a callback that found nobody to ask, again and again, would be looked into ten minutes
 * after it came, and half an hour.
 */
export const lookAgain = async (stage: Stage) => {
  // In this process: a command's own start takes longer than what it does.
  const inbox = (...args: ReadonlyArray<string>) => Effect.runPromise(gateway(stage.variables, "inbox", ...args, "--json"))
  const waiting: ReadonlyArray<{ id: string }> = JSON.parse((await inbox("list", "--status", "due")).output)
  for (const { id } of waiting) await inbox("replay", id)
}

/** As an operator does: a provider that was slow to list its account is asked again. */
export const reconciliation = async (stage: Stage): Promise<unknown> => {
  for (let attempt = 1; ; attempt++) {
    const { errors, json } = await stage.command("reconcile", "eversend")
    if (json !== null) return json
    if (attempt === RECONCILED_AT_MOST) throw new Error(`gateway reconcile eversend: ${errors}`)
  }
}

export const after = (ms: number) => {
  const end = performance.now() + ms
  return () => performance.now() > end
}

const isAtRest = (record: Readonly<Record<string, unknown>> | undefined): boolean =>
  ["successful", "failed"].includes(String(record?.["status"]))

export const each = async <A>(all: ReadonlyArray<A>, work: (one: A) => Promise<void>): Promise<void> => {
  const waiting = [...all]
  await Promise.all(
    Array.from({ length: POLLS_AT_ONCE }, async () => {
      for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) await work(one)
    })
  )
}
