import type { Heard } from "../Receiver.ts"
import { accountName, losesCharges, tellsReturns, tellsReturnsAsFailures } from "./Accounts.ts"
import type { Execution, Known, Movement } from "./Books.ts"
import type { Operation, OperationKind } from "./Load.ts"

type Record_ = Readonly<Record<string, unknown>>

/** All that is known at the end, from outside: nothing of it comes from the gateway's own rules. */
export interface Evidence {
  readonly operations: ReadonlyArray<Operation>
  /** What the providers' own account knows of a reference, and of which ones it executed anything. */
  readonly books: { readonly of: (reference: string) => Known; readonly references: () => ReadonlyArray<string> }
  /** The tenant-safe record of each reference, as it was read at the end. */
  readonly records: ReadonlyMap<string, Record_>
  /** By holder and currency: the float position as it was read at the end. */
  readonly floats: ReadonlyMap<string, Readonly<Record<string, number>>>
  readonly credit: number
  readonly heard: Pick<Heard, "types" | "newest" | "faults">
}

export interface Verdict {
  readonly lost: ReadonlyArray<string>
  readonly doubled: ReadonlyArray<string>
  readonly invented: ReadonlyArray<string>
  readonly floats: ReadonlyArray<string>
  readonly webhooks: ReadonlyArray<string>
  /** Without an end, because nobody can know that they were not executed. */
  readonly open: number
}

const closed = ["successful", "failed", "expired"]
const eventOf: Readonly<Record<OperationKind, string>> = { payout: "payout", collection: "collection", exchange: "fx" }

/** A plain fold of what the providers executed, held against what the tenants were told and what their floats say. */
export const judge = (evidence: Evidence): Verdict => {
  const { books, heard, operations, records } = evidence
  const lost: Array<string> = []
  const doubled: Array<string> = []
  const invented: Array<string> = []
  const webhooks: Array<string> = [...heard.faults]
  const asked = new Set(operations.flatMap(({ reference }) => reference ?? []))
  for (const reference of books.references())
    if (!asked.has(reference)) invented.push(`${reference}: executed, and no tenant asked for it`)
  let open = 0
  for (const operation of operations) {
    const { faults, key, kind, reference, settled } = operation
    invented.push(...faults)
    if (settled === undefined) lost.push(`${key}: never answered for good`)
    if (settled === undefined || reference === undefined) continue
    const record = records.get(reference)
    if (record === undefined) {
      lost.push(`${reference}: answered, and no longer there`)
      continue
    }
    const { executed, movements } = known(evidence, reference, kind)
    const status = String(record["status"])
    const what = `${kind} at ${operation.holder.provider}, ending ${movements[0]?.ending ?? operation.ending}`
    if (executed.length > 1) doubled.push(`${reference}: executed ${executed.length} times (${what})`)
    if (executed.length === 1 && status !== "successful" && !isTakenBack(movements) && !isToldAsFailed(record, movements))
      lost.push(`${reference}: executed, and ${status} here (${what})`)
    if (executed.length === 0 && status === "successful")
      invented.push(`${reference}: successful here, and never executed (${what})`)
    invented.push(...executed.flatMap((one) => misdirected(operation, one, movements)))
    if (!closed.includes(status)) {
      open++
      if (movements.some((one) => one.status === "failed" && !(kind === "collection" && losesCharges(one.provider))))
        lost.push(`${reference}: failed there, and ${status} here (${what})`)
      continue
    }
    const end = `${eventOf[kind]}.${status}`
    if (!heard.types(reference).has(end)) webhooks.push(`${reference}: ${end} was never delivered (${what})`)
    // The events of an exchange have no version.
    else if (kind !== "exchange" && heard.newest(reference)?.["status"] !== status)
      webhooks.push(`${reference}: the newest event does not say ${status} (${what})`)
  }
  return { lost, doubled, invented, webhooks, open, floats: floatFaults(evidence) }
}

const known = ({ books }: Pick<Evidence, "books">, reference: string, kind: OperationKind) => {
  const { executions, movements } = books.of(reference)
  return {
    movements: movements.filter((one) => one.kind === kind),
    executed: executions.filter(({ direction }) => direction === kind)
  }
}

/** The provider moved it back and says so; of a payout the record stays what it was. */
const isTakenBack = (movements: ReadonlyArray<Movement>): boolean =>
  movements.some(({ kind, provider, returned }) => returned && kind !== "payout" && tellsReturns(provider, kind))

/** Delivered, and back before anybody asked: the provider has no other word for it than that it failed. */
const isToldAsFailed = (record: Record_ | undefined, movements: ReadonlyArray<Movement>): boolean =>
  record?.["status"] === "failed" &&
  movements.some(({ kind, provider, returned }) => returned && kind === "payout" && tellsReturnsAsFailures(provider))

const isRuledFailed = (record: Record_ | undefined, { kind, provider, returned }: Movement): boolean =>
  returned && kind === "payout" && tellsReturnsAsFailures(provider) && (record?.["returned"] ?? null) !== null

/** A charge that was taken back: its provider listed it, beside the charge, and a person ruled so. */
const isRuledBack = (record: Record_ | undefined, movements: ReadonlyArray<Movement>): boolean =>
  (record?.["reversed"] ?? null) !== null && movements.some(({ kind, returned }) => returned && kind === "collection")

const misdirected = ({ amount, currency, holder }: Operation, one: Execution, movements: ReadonlyArray<Movement>) => {
  const wanted = accountName(holder.provider, holder.mode)
  const movement = movements.find(({ id, provider }) => id === one.id && provider === one.provider)
  // A payer who pays a tenth less is ending 0014 of a collection.
  const paid = one.direction === "collection" && movement?.ending === "0014" ? amount - Math.ceil(amount / 10) : amount
  return [
    ...(one.amount === paid && one.currency === currency
      ? []
      : [`${one.reference}: ${one.amount} ${one.currency} was executed, not ${paid} ${currency}`]),
    ...(one.provider === holder.provider && movement?.account === wanted
      ? []
      : [`${one.reference}: executed at ${one.provider}, ${movement?.account}, not at ${holder.provider}, ${wanted}`])
  ]
}

interface Float {
  available: number
  reserved: number
  collected: number
  paid_out: number
  provider_fees: number
}

const floatFaults = (evidence: Evidence): ReadonlyArray<string> => {
  const expected = new Map<string, Float>()
  const positionOf = (operation: Operation, currency: string): Float => {
    const name = `${operation.holder.name} ${currency}`
    const found = expected.get(name)
    if (found !== undefined) return found
    const made = { available: evidence.credit, reserved: 0, collected: 0, paid_out: 0, provider_fees: 0 }
    expected.set(name, made)
    return made
  }
  for (const operation of evidence.operations) {
    const { currency, kind, reference } = operation
    if (reference === undefined) continue
    const own = positionOf(operation, currency)
    const { executed, movements } = known(evidence, reference, kind)
    const record = evidence.records.get(reference)
    const [movement] = movements
    if (isToldAsFailed(record, movements)) continue
    if (isRuledBack(record, movements)) continue
    if (executed.length > 0 && movement !== undefined) {
      const into = positionOf(operation, movement.destinationCurrency)
      moved[kind](own, movement, into)
      // It had been seen delivered, and a person ruled that it failed as its provider says: all of it comes back, the fee, too.
      if (isRuledFailed(record, movement)) own.available += movement.amount + Math.min(movement.fee, movement.firstFee)
    } else if (record?.["status"] === "pending") hold(own, operation, record)
  }
  return [...expected].flatMap(([name, own]) => {
    const float = evidence.floats.get(name) ?? {}
    return Object.entries(own).flatMap(([member, wanted]) =>
      float[`${member}_minor`] === wanted ? [] : [`${name}: ${member} is ${float[`${member}_minor`]}, not ${wanted}`]
    )
  })
}

/** What one executed movement has done to a float: the provider's own amounts and fees. */
const moved: Readonly<Record<OperationKind, (own: Float, movement: Movement, into: Float) => void>> = {
  payout: (own, { amount, fee, feeReturns = false, firstFee, provider, returned }) => {
    // What it cost beyond what it was quoted to cost is the gateway's loss.
    const charged = Math.min(fee, firstFee)
    own.available -= amount + charged
    own.paid_out += amount
    own.provider_fees += charged
    if (returned && tellsReturns(provider, "payout")) own.available += feeReturns ? amount + charged : amount
  },
  collection: (own, { amount, fee, provider, returned }) => {
    if (returned && tellsReturns(provider, "collection")) return
    own.available += amount - fee
    own.collected += amount
    own.provider_fees += fee
  },
  exchange: (own, { amount, destinationAmount, returned }, into) => {
    if (returned) return
    own.available -= amount
    into.available += destinationAmount
  }
}

/** What may still be executed stays reserved, with its fee. */
const hold = (own: Float, { amount, kind }: Operation, record: Record_): void => {
  if (kind === "collection") return
  const held = amount + (kind === "payout" ? Number(record["fees_minor"]) : 0)
  own.available -= held
  own.reserved += held
}
