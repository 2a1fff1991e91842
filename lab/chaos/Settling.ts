import { setTimeout as pause } from "node:timers/promises"
import { Effect } from "effect"
import { gateway } from "../../test/commands/Gateway.ts"
import { type Key, send } from "./Client.ts"
import type { Operation } from "./Load.ts"
import type { Address, Stage } from "./Stage.ts"
import { CREDIT } from "./Tenants.ts"
import { type Evidence, type Execution, isTerminal, judge, PAYOUT_FEE } from "./Verdict.ts"

const LOOK_AGAIN_EVERY_MS = 60_000
const POLLS_AT_ONCE = 8
const PAUSE_MS = 1_000
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
  /** What a payout costs, where that is not the usual. */
  readonly payoutFee?: number
}

/**
 * Reads until nothing changes any more that still can. Everything once, page by page; then only what moves; and what the provider did and
 * the floats, to judge by, only once nothing moved between two reads.
 */
export const settle = async (settling: Settling): Promise<Evidence> => {
  const { any, executions, heard, isEachToEnd = false, operations, payoutFee = PAYOUT_FEE, tenants, tooLate } = settling
  const records = new Map<string, Shown>()
  const floats = new Map<string, Readonly<Record<string, number>>>()
  await Promise.all(tenants.map((tenant) => readAll({ any, tenant, tooLate }, records)))
  let moving = operations.filter(({ reference }) => reference !== undefined && !isAtRest(records.get(reference)))
  let isTimeToLook = () => true
  for (;;) {
    if (isTimeToLook() && (await looked(settling))) isTimeToLook = after(LOOK_AGAIN_EVERY_MS)
    let moved = 0
    await each(moving, async ({ kind, reference = "", tenant }) => {
      const answer = await send(any(), tenant, { method: "GET", target: `/v1/${kind}s/${reference}` })
      const shown = answer?.body.data?.["status"]
      if (shown === undefined) return
      if (records.get(reference)?.status !== shown) moved++
      records.set(reference, { status: String(shown) })
    })
    moving = moving.filter(({ reference = "" }) => !isAtRest(records.get(reference)))
    const isToWait = moved > 0 || (isEachToEnd && moving.some(({ reference = "" }) => isOpen(records.get(reference))))
    const began = performance.now()
    if (!isToWait || tooLate()) {
      for (const tenant of tenants) {
        const answer = await send(any(), tenant, { method: "GET", target: "/v1/float" })
        const [position] = JSON.parse(JSON.stringify(answer?.body.data ?? []))
        floats.set(tenant.app_id, position ?? {})
      }
      const evidence: Evidence = { operations, executions: await executions(), records, floats, credit: CREDIT, heard, payoutFee }
      const { floats: wrong, lost, open, webhooks } = judge(evidence)
      const isStill = lost.length === 0 && wrong.length === 0 && webhooks.length === 0 && (open === 0 || !isEachToEnd)
      if (isStill || tooLate()) return evidence
    }
    // At most half of the time goes into judging: what has to end meanwhile needs the machine.
    await pause(Math.max(PAUSE_MS, performance.now() - began))
  }
}

/** What a tenant is shown of a record, as far as it is judged. */
interface Shown extends Readonly<Record<string, unknown>> {
  readonly status: string
}

/** All transactions of a tenant as its list shows them: a hundredth of the requests. */
const readAll = async (
  { any, tenant, tooLate }: Pick<Settling, "any" | "tooLate"> & { readonly tenant: Key },
  records: Map<string, Shown>
): Promise<void> => {
  let cursor = ""
  while (!tooLate()) {
    const answer = await send(any(), tenant, { method: "GET", target: `/v1/transactions?${cursor}limit=100` })
    const page: Page | undefined = answer?.status === 200 ? JSON.parse(answer.text).data : undefined
    for (const { reference, status } of page?.items ?? []) records.set(reference, { status })
    if (page?.next_cursor === null) return
    if (page === undefined) await pause(PAUSE_MS)
    else cursor = `cursor=${encodeURIComponent(page.next_cursor)}&`
  }
}

interface Page {
  readonly items: ReadonlyArray<{ readonly reference: string; readonly status: string }>
  readonly next_cursor: string | null
}

/** A busy machine may refuse an operator's connection; it is tried again. */
const looked = ({ lookAgain }: Settling): Promise<boolean> =>
  lookAgain().then(
    () => true,
    (cause: unknown) => {
      console.error(`looking again failed, and is tried again: ${cause}`)
      return false
    }
  )

/**
 * What an operator does once the provider is back: a callback that found nobody to ask, again and again, would be looked into ten minutes
 * after it came, and half an hour.
 */
export const lookAgain = async (stage: Stage) => {
  // In this process: a command's own start takes longer than what it does.
  const inbox = (...args: ReadonlyArray<string>) => Effect.runPromise(gateway(stage.variables, "inbox", ...args, "--json"))
  const listed = await inbox("list", "--status", "due")
  if (listed.code !== 0) throw new Error(`gateway inbox list: ${listed.errors}`)
  const waiting: ReadonlyArray<{ id: string }> = JSON.parse(listed.output)
  for (const { id } of waiting) await inbox("replay", id)
}

/** As an operator does: a provider that was slow to list its account is asked again. */
export const reconciliation = async (stage: Stage, provider: string): Promise<unknown> => {
  for (let attempt = 1; ; attempt++) {
    const { errors, json } = await stage.command("reconcile", provider)
    if (json !== null) return json
    if (attempt === RECONCILED_AT_MOST) throw new Error(`gateway reconcile ${provider}: ${errors}`)
  }
}

export const after = (ms: number) => {
  const end = performance.now() + ms
  return () => performance.now() > end
}

const isAtRest = (record: Readonly<Record<string, unknown>> | undefined): boolean =>
  ["successful", "failed"].includes(String(record?.["status"]))

const isOpen = (record: Shown | undefined): boolean => record !== undefined && !isTerminal(record.status)

export const each = async <A>(all: ReadonlyArray<A>, work: (one: A) => Promise<void>): Promise<void> => {
  const waiting = all.values()
  await Promise.all(
    Array.from({ length: POLLS_AT_ONCE }, async () => {
      for (const one of waiting) await work(one)
    })
  )
}
