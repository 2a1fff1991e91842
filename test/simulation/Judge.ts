import { executedOf, type Kind, MINUTE, type Mode, type Movement } from "./Movement.ts"
import { wrongPositions } from "./Positions.ts"

// The independent model: a plain fold of what the providers did and of what the tenants were told. It shares no rule with the gateway.

export interface Heard {
  readonly status: number
  readonly body: string
  readonly isReplay: boolean
  /** From the request that claimed the key, not from one that found it claimed. */
  readonly isOwn: boolean
  /** Where another request with the key stood, inside its lease, when this one was answered; null where none was under way. */
  readonly beside: string | null
}

/** One operation of a tenant and everything that it was ever told about it. */
export interface Told {
  readonly appId: string
  readonly mode: Mode
  readonly kind: Kind
  readonly amount: bigint
  /** Whose number is charged or paid; empty for an exchange. */
  readonly party: string
  readonly key: string
  /** Every whole answer to this key, in order. */
  readonly answers: Array<Heard>
  reference: string | undefined
  settled: "accepted" | "refused" | undefined
}

/** An event as the tenant's endpoint took it. */
export interface Event {
  readonly id: string
  readonly type: string
  readonly body: string
  readonly reference: string
  readonly version: number
  readonly status: string
}

export interface Stored {
  readonly status: string
  readonly needsReview: boolean
  readonly returned: boolean
  readonly createdAt: number
}

export interface Seen {
  /** What each position began with, by tenant, mode and currency. */
  readonly credits: ReadonlyMap<string, bigint>
  /** Payouts that a tenant may have in an hour, by tenant and mode. */
  readonly caps: ReadonlyMap<string, number>
  readonly told: ReadonlyArray<Told>
  readonly movements: ReadonlyArray<Movement>
  readonly events: ReadonlyArray<Event>
  /** By reference, as it is stored at the end. */
  readonly records: ReadonlyMap<string, Stored>
  readonly positions: ReadonlyMap<string, Position>
  /** Differences that the ledger finds in itself. */
  readonly ledger: ReadonlyArray<string>
}

export interface Position {
  readonly available: bigint
  readonly reserved: bigint
  readonly collected: bigint
  readonly paidOut: bigint
  readonly fees: bigint
}

const HOUR = 60 * MINUTE
const LOOK_BACK_MS = 15 * MINUTE
export const TEST_CEILING = 20_000n

/** Empty where every cent is accounted for and nobody was told anything that is not so. */
export const judge = (seen: Seen): ReadonlyArray<string> => [
  ...seen.told.flatMap((one) => faultsOf(one, seen)),
  ...strangers(seen),
  ...wrongPositions(seen),
  ...overCaps(seen),
  ...doubleCharges(seen),
  ...seen.events.flatMap((event) => changedBytes(event, seen.events)),
  ...seen.ledger.map((line) => `ledger: ${line}`)
]

const faultsOf = (one: Told, seen: Seen): ReadonlyArray<string> => {
  const { key, kind, reference, settled } = one
  if (settled === undefined) return [`${key}: never answered for good`]
  const faults = contradictions(one)
  if (reference === undefined) return faults
  const record = seen.records.get(reference)
  if (record === undefined) return [...faults, `${reference}: named in an answer, and not recorded`]
  const moved = executedOf(seen.movements, reference)
  const events = seen.events.filter((event) => event.reference === reference)
  const types = new Set(events.map(({ type }) => type))
  const newest = events.toSorted((a, b) => b.version - a.version)[0]
  const returned = moved.some(({ returnsAt }) => returnsAt !== null)
  const family = kind === "exchange" ? "fx" : kind
  return [
    ...faults,
    ...moved.flatMap((movement) => strays(one, movement)),
    ...(moved.length > 1 ? [`${reference}: executed ${moved.length} times`] : []),
    ...(record.needsReview ? [`${reference}: still in review`] : []),
    ...(moved.length > 0 && record.status !== "successful" ? [`${reference}: executed, and ${record.status} here`] : []),
    ...(moved.length === 0 && record.status === "successful" ? [`${reference}: successful here, and never executed`] : []),
    ...(returned !== record.returned ? [`${reference}: ${returned ? "came back, unseen" : "did not come back"}`] : []),
    ...(types.has(`${family}.${record.status}`) ? [] : [`${reference}: ${family}.${record.status} was never delivered`]),
    ...(newest === undefined || newest.status === record.status ? [] : [`${reference}: the newest event says ${newest.status}`]),
    ...(kind !== "collection" && types.has(`${family}.successful`) && types.has(`${family}.failed`)
      ? [`${reference}: told successful and failed`]
      : [])
  ]
}

/** It moved in the wrong account, more than was asked for, or over the ceiling of the test mode. */
const strays = ({ amount, mode, reference }: Told, moved: Movement): ReadonlyArray<string> => [
  ...(moved.mode === mode ? [] : [`${reference}: a ${mode} request moved ${moved.mode} money`]),
  ...(moved.amount > amount ? [`${reference}: ${moved.amount} moved, and ${amount} was asked for`] : []),
  ...(mode === "test" && moved.amount > TEST_CEILING ? [`${reference}: over the ceiling of the test mode`] : [])
]

/** One key has one reference, what was answered for good stays so byte for byte, and nobody works beside a living claim. */
const contradictions = ({ answers, key }: Told): ReadonlyArray<string> => {
  const references = new Set(answers.flatMap(({ body }) => named(body) ?? []))
  const kept = answers.find(({ body, isOwn, status }) => isOwn && isFinal(status, body)) ?? answers.find((one) => one.isReplay)
  return [
    ...(references.size > 1 ? [`${key}: answered with ${references.size} references`] : []),
    ...answers
      .filter(({ body, isReplay, status }) => isReplay && (body !== kept?.body || status !== kept.status))
      .map(() => `${key}: a replay with other bytes`),
    ...answers
      .filter(({ beside, status }) => beside !== null && status !== 409)
      .map(({ beside, status }) => `${key}: answered ${status} while another request stood ${beside}`)
  ]
}

const isFinal = (status: number, body: string): boolean => {
  const { error }: { error?: { terminal: boolean } } = JSON.parse(body)
  return status === 201 || error?.terminal === true
}

const strangers = ({ movements, told }: Seen): ReadonlyArray<string> => {
  const known = new Set(told.map(({ reference }) => reference))
  return movements
    .filter(({ reference }) => !known.has(reference))
    .map(({ reference }) => `${reference}: executed, and nobody was told`)
}

/** What failed gave its place back, so that what did not fail must fit. */
const overCaps = ({ caps, records, told }: Seen): ReadonlyArray<string> => {
  const used = new Map<string, number>()
  for (const { appId, kind, mode, reference } of told) {
    const record = records.get(reference ?? "")
    if (kind !== "payout" || record === undefined || record.status === "failed") continue
    const window = `${appId}/${mode} ${Math.floor(record.createdAt / HOUR)}`
    used.set(window, (used.get(window) ?? 0) + 1)
  }
  return [...used].flatMap(([window, count]) => {
    const cap = caps.get(window.split(" ")[0] ?? "")
    return cap !== undefined && count > cap ? [`${window}: ${count} payouts in an hour, and ${cap} may be`] : []
  })
}

/** Nobody is charged while an earlier charge of the same number is still live. */
const doubleCharges = ({ movements, records, told }: Seen): ReadonlyArray<string> => {
  const charges = told.flatMap((one) => {
    const record = records.get(one.reference ?? "")
    const [moved] = executedOf(movements, one.reference)
    return one.kind === "collection" && record !== undefined && moved !== undefined ? [{ ...one, record, moved }] : []
  })
  return charges.flatMap((late) =>
    charges
      .filter(
        (early) =>
          early.party === late.party &&
          early.appId === late.appId &&
          early.mode === late.mode &&
          early.record.createdAt < late.record.createdAt &&
          late.record.createdAt < early.record.createdAt + LOOK_BACK_MS &&
          late.record.createdAt < early.moved.settlesAt
      )
      .map((early) => `${late.reference}: charged while ${early.reference} of the same number was live`)
  )
}

const changedBytes = (event: Event, events: ReadonlyArray<Event>): ReadonlyArray<string> =>
  events.some(({ body, id }) => id === event.id && body !== event.body) ? [`${event.id}: sent again with other bytes`] : []

export const named = (body: string): string | undefined => {
  const { data, error }: { data?: { reference?: string }; error?: { code: string; details: { reference?: string } } } =
    JSON.parse(body)
  return error?.code === "duplicate_charge_in_flight" ? undefined : (data?.reference ?? error?.details.reference)
}
