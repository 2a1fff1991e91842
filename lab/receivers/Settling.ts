import { setTimeout as pause } from "node:timers/promises"
import { send } from "../chaos/Client.ts"
import type { Operation } from "../chaos/Load.ts"
import type { Address } from "../chaos/Stage.ts"
import type { Books, Waiting } from "./Books.ts"
import { EVENT_TYPES, each, recover, repair, type Tenant } from "./Tenant.ts"
import { type Account, account } from "./Verdict.ts"

const LOOK_EVERY_MS = 2_000
const CALLS_AT_ONCE = 16
/** What is open may still end for so long. */
const REST_MS = 60_000
const SETTLE_WITHIN_MS = 300_000

export interface Settled {
  readonly accounts: ReadonlyArray<readonly [kind: string, Account]>
  /** Payouts of which nobody can know the end. */
  readonly open: number
  /** Deliveries that nobody could have again. */
  readonly parked: number
  /** By the kind of their receiver: how often tenants had nothing waiting and still missed an event that they knew of by asking. */
  readonly recoveries: ReadonlyMap<string, number>
  /** Of those, the kinds whose endpoint was never disabled: nothing explains what they missed. */
  readonly unexplained: ReadonlyArray<string>
}

/** Lets every tenant repair what is its own until nothing is missing, or it is too late. */
export const settle = async (
  tenants: ReadonlyArray<Tenant>,
  any: () => Address,
  books: Books,
  { say, since }: { readonly since: string; readonly say: (line: string) => void }
): Promise<Settled> => {
  const started = performance.now()
  const versions = new Map<string, number>()
  const operations = tenants.flatMap((tenant) => tenant.operations).filter(({ reference }) => reference !== undefined)
  const recoveries = new Map<string, number>()
  const disabled = new Set<string>()
  for (;;) {
    // What may never end by itself: a payout whose sender died is asked for, and where the provider proves nothing it waits for a person.
    const open = operations.filter(({ reference = "" }) => !versions.has(reference))
    await each(open, CALLS_AT_ONCE, (operation) => readVersion(operation, any, versions))
    await each(tenants, CALLS_AT_ONCE, async (tenant) => {
      if (await repair(tenant, any, since)) disabled.add(tenant.receiver.kind.name)
    })
    const accounts = tenants.map((tenant) => [tenant.receiver.kind.name, accountOf(tenant, versions)] as const)
    const seconds = Math.round((performance.now() - started) / 1000)
    const left = operations.length - versions.size
    const missing = tenants.filter((_, index) => isMissing(accounts[index]?.[1]))
    const unexplained = [...recoveries.keys()].filter((kind) => !disabled.has(kind))
    const isOver = performance.now() - started > SETTLE_WITHIN_MS
    const waiting = await books.waiting()
    const parked = waiting.reduce((sum, own) => sum + own.parked, 0)
    const isRepaired = missing.length + parked === 0
    if (isOver || (isRepaired && (left === 0 || performance.now() - started > REST_MS)))
      return { accounts, open: left, parked, recoveries, unexplained }
    say(`${seconds} s: ${left} payouts open, ${missing.length} receivers miss something, ${parked} deliveries parked`)
    for (const tenant of missing) {
      const own = waiting.find(({ app_id }) => app_id === tenant.key.app_id)
      // What was on its way a moment ago may have arrived before it was asked what waits.
      const latest = accountOf(tenant, versions)
      const { name } = tenant.receiver.kind
      say(`  ${name}: ${latest.lost} events; ${reasonOf(own)}`)
      if (own === undefined && isMissing(latest) && (await recover(tenant.key, any, since)))
        recoveries.set(name, (recoveries.get(name) ?? 0) + 1)
    }
    await pause(LOOK_EVERY_MS)
  }
}

const readVersion = async ({ reference = "", tenant }: Operation, any: () => Address, versions: Map<string, number>) => {
  const record = (await send(any(), tenant, { method: "GET", target: `/v1/payouts/${reference}` }))?.body.data
  if (record?.["status"] === "successful") versions.set(reference, Number(record["version"]))
}

const isMissing = (one: Account | undefined): boolean => one === undefined || one.lost + one.stale > 0

const reasonOf = (own: Waiting | undefined): string => {
  if (own === undefined) return "nothing waits for it"
  const { due, enabled, leased, most_attempts, parked, soonest_seconds } = own
  const next = soonest_seconds === null ? "" : `, the next in ${soonest_seconds} s`
  return `${enabled ? "enabled" : "disabled"}, ${due} due (${leased} under way${next}), ${parked} parked, at most ${most_attempts} attempts`
}

const accountOf = ({ operations, receiver }: Tenant, versions: ReadonlyMap<string, number>): Account => {
  const ids = new Map<string, string>()
  for (const [id, body] of receiver.heard.bodies) {
    const { data, type }: { type: string; data: { reference: string } } = JSON.parse(body)
    ids.set(`${data.reference} ${type}`, id)
  }
  // What never came has no id to know it by. A payout that is not successful owes its first event only.
  const owed = operations.flatMap(({ reference = "" }) =>
    EVENT_TYPES.filter((type) => type === "payout.pending" || versions.has(reference)).map(
      (type) => ids.get(`${reference} ${type}`) ?? `${reference} ${type}`
    )
  )
  const ended = operations.flatMap(({ reference = "" }) => {
    const version = versions.get(reference)
    return version === undefined ? [] : [[reference, version] as const]
  })
  return account(receiver, owed, new Map(ended))
}
