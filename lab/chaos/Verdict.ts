import type { Operation } from "./Load.ts"
import type { Heard } from "./Receiver.ts"

/** One movement of money as the provider's own account has it. */
export interface Execution {
  readonly direction: "payout" | "collection" | "exchange" | "return"
  readonly client_reference: string | null
  readonly amount_minor: number
  readonly provider?: string
}

type Record_ = Readonly<Record<string, unknown>>

/** All that is known at the end, from outside: nothing of it comes from the gateway's own rules. */
export interface Evidence {
  readonly operations: ReadonlyArray<Operation>
  readonly executions: ReadonlyArray<Execution>
  /** The tenant-safe record of each reference, as it was read at the end. */
  readonly records: ReadonlyMap<string, Record_>
  /** By tenant: the float position as it was read at the end. */
  readonly floats: ReadonlyMap<string, Readonly<Record<string, number>>>
  readonly credit: number
  readonly heard: Heard
  /** What a payout costs, where that is not `PAYOUT_FEE`. */
  readonly payoutFee?: number
}

export interface Verdict {
  readonly lost: ReadonlyArray<string>
  readonly doubled: ReadonlyArray<string>
  readonly invented: ReadonlyArray<string>
  readonly floats: ReadonlyArray<string>
  readonly webhooks: ReadonlyArray<string>
  /** Payouts whose float is still reserved because nobody can know that they were not executed. */
  readonly open: number
}

export const PAYOUT_FEE = 1000
export const COLLECTION_FEE_PER_MILLE = 15

export const isTerminal = (status: string): boolean => ["successful", "failed", "expired"].includes(status)

/** A plain fold of what the provider executed, held against what the tenants were told and what their floats say. */
export const judge = (evidence: Evidence): Verdict => {
  const { executions, heard, operations, records } = evidence
  const moved = new Map<string, Array<Execution>>()
  for (const one of executions) {
    const reference = one.client_reference ?? ""
    const own = moved.get(reference)
    if (own === undefined) moved.set(reference, [one])
    else own.push(one)
  }
  const lost: Array<string> = []
  const doubled: Array<string> = []
  const invented: Array<string> = []
  const webhooks: Array<string> = [...heard.faults]
  const known = new Set(operations.map(({ reference }) => reference))
  for (const reference of moved.keys())
    if (!known.has(reference)) invented.push(`${reference}: executed, and no tenant asked for it`)
  let open = 0
  for (const operation of operations) {
    const { key, kind, reference, settled } = operation
    if (settled === undefined) {
      lost.push(`${key}: never answered for good`)
      continue
    }
    if (reference === undefined) continue
    const record = records.get(reference)
    if (record === undefined) {
      lost.push(`${reference}: answered, and no longer there`)
      continue
    }
    const own = (moved.get(reference) ?? []).filter(({ direction }) => direction === kind)
    const status = String(record["status"])
    if (own.length > 1) doubled.push(`${reference}: executed ${own.length} times`)
    if (own.length === 1 && status !== "successful") lost.push(`${reference}: executed, and ${status} here (${operation.ending})`)
    if (own.length === 0 && status === "successful")
      invented.push(`${reference}: successful here, and never executed (${operation.ending})`)
    if (own.some(({ amount_minor }) => amount_minor !== operation.amount))
      invented.push(`${reference}: another amount was executed`)
    if (!isTerminal(status)) open++
    else if (!heard.types(reference).has(`${kind}.${status}`))
      webhooks.push(`${reference}: ${kind}.${status} was never delivered`)
    else if (heard.newest(reference)?.["status"] !== status)
      webhooks.push(`${reference}: the newest event does not say ${status}`)
  }
  return { lost, doubled, invented, webhooks, open, floats: floatFaults(evidence, moved) }
}

const floatFaults = (evidence: Evidence, moved: ReadonlyMap<string, ReadonlyArray<Execution>>): ReadonlyArray<string> => {
  const { payoutFee = PAYOUT_FEE } = evidence
  const expected = new Map<string, { available: number; reserved: number; collected: number; paid: number; fees: number }>()
  for (const appId of evidence.floats.keys())
    expected.set(appId, { available: evidence.credit, reserved: 0, collected: 0, paid: 0, fees: 0 })
  for (const { amount, kind, reference, tenant } of evidence.operations) {
    const own = expected.get(tenant.app_id)
    if (own === undefined || reference === undefined) continue
    const rows = moved.get(reference) ?? []
    const isOpen = evidence.records.get(reference)?.["status"] === "pending"
    if (kind === "payout" && rows.some(({ direction }) => direction === "payout")) {
      own.available -= amount + payoutFee
      own.paid += amount
      own.fees += payoutFee
      if (rows.some(({ direction }) => direction === "return")) own.available += amount
    } else if (kind === "payout" && isOpen) {
      own.available -= amount + payoutFee
      own.reserved += amount + payoutFee
    } else if (kind === "collection" && rows.some(({ direction }) => direction === "collection")) {
      const fee = Math.ceil((amount * COLLECTION_FEE_PER_MILLE) / 1000)
      own.available += amount - fee
      own.collected += amount
      own.fees += fee
    }
  }
  return [...expected].flatMap(([appId, own]) => {
    const float = evidence.floats.get(appId) ?? {}
    const pairs: ReadonlyArray<readonly [name: string, wanted: number]> = [
      ["available_minor", own.available],
      ["reserved_minor", own.reserved],
      ["collected_minor", own.collected],
      ["paid_out_minor", own.paid],
      ["provider_fees_minor", own.fees]
    ]
    return pairs.flatMap(([name, wanted]) =>
      float[name] === wanted ? [] : [`${appId}: ${name} is ${float[name]}, not ${wanted}`]
    )
  })
}

/** What the provider sent back of payouts that had been successful. */
export const returnedByTenant = ({ executions, operations }: Evidence): ReadonlyMap<string, number> => {
  const amounts = new Map<string, number>()
  const owners = new Map(operations.map(({ reference, tenant }) => [reference, tenant.app_id]))
  for (const { amount_minor, client_reference, direction } of executions) {
    const owner = owners.get(client_reference ?? "")
    if (direction === "return" && owner !== undefined) amounts.set(owner, (amounts.get(owner) ?? 0) + amount_minor)
  }
  return amounts
}

/** The accounts may differ in what nobody can prove never to have been executed. A dearer fee is booked as drift, and reported as known. */
export const unexplained = (report: unknown, operations: ReadonlyArray<Operation>): ReadonlyArray<string> => {
  const endings = new Map(operations.map(({ ending, reference }) => [reference, ending]))
  const { differences }: { differences: ReadonlyArray<{ kind: string; reference: string; ours: string }> } = JSON.parse(
    JSON.stringify(report)
  )
  return differences
    .filter(({ kind, ours }) => !(kind === "missing_there" && ours.startsWith("pending")))
    .map(({ kind, ours, reference }) => `reconcile: ${kind} ${reference} ${ours} (${endings.get(reference)})`)
}
