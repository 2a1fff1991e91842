import { type Movement, PAYOUT_FEE } from "./World.ts"

// The independent model: a plain fold of what the providers did and of what the tenants were told. It shares no rule with the gateway.

/** One operation of a tenant and everything that it was ever told about it. */
export interface Told {
  readonly appId: string
  readonly kind: "payout" | "collection"
  readonly amount: bigint
  readonly key: string
  /** Every whole answer to this key, in order. */
  readonly answers: Array<{ readonly status: number; readonly body: string; readonly isReplay: boolean }>
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

export interface Seen {
  readonly credit: bigint
  readonly told: ReadonlyArray<Told>
  readonly movements: ReadonlyArray<Movement>
  readonly events: ReadonlyArray<Event>
  /** By reference, as it is stored at the end. */
  readonly records: ReadonlyMap<string, { readonly status: string; readonly needsReview: boolean; readonly returned: boolean }>
  /** By tenant. */
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

/** Empty where every cent is accounted for and nobody was told anything that is not so. */
export const judge = (seen: Seen): ReadonlyArray<string> => [
  ...seen.told.flatMap((one) => faultsOf(one, seen)),
  ...strangers(seen),
  ...[...seen.positions].flatMap(([appId, position]) => wrongPosition(appId, position, seen)),
  ...seen.events.flatMap((event) => changedBytes(event, seen.events)),
  ...seen.ledger.map((line) => `ledger: ${line}`)
]

const executed = (movements: ReadonlyArray<Movement>, reference: string | undefined): ReadonlyArray<Movement> =>
  movements.filter((one) => one.reference === reference && one.outcome === "successful")

const faultsOf = (one: Told, seen: Seen): ReadonlyArray<string> => {
  const { key, kind, reference, settled } = one
  if (settled === undefined) return [`${key}: never answered for good`]
  const faults = contradictions(one)
  if (reference === undefined) return faults
  const record = seen.records.get(reference)
  if (record === undefined) return [...faults, `${reference}: named in an answer, and not recorded`]
  const moved = executed(seen.movements, reference)
  const events = seen.events.filter((event) => event.reference === reference)
  const types = new Set(events.map(({ type }) => type))
  const newest = events.toSorted((a, b) => b.version - a.version)[0]
  const returned = moved.some(({ returnsAt }) => returnsAt !== null)
  return [
    ...faults,
    ...(moved.length > 1 ? [`${reference}: executed ${moved.length} times`] : []),
    ...(record.needsReview ? [`${reference}: still in review`] : []),
    ...(moved.length > 0 && record.status !== "successful" ? [`${reference}: executed, and ${record.status} here`] : []),
    ...(moved.length === 0 && record.status === "successful" ? [`${reference}: successful here, and never executed`] : []),
    ...(returned !== record.returned ? [`${reference}: ${returned ? "came back, unseen" : "did not come back"}`] : []),
    ...(types.has(`${kind}.${record.status}`) ? [] : [`${reference}: ${kind}.${record.status} was never delivered`]),
    ...(newest === undefined || newest.status === record.status ? [] : [`${reference}: the newest event says ${newest.status}`]),
    ...(kind === "payout" && types.has("payout.successful") && types.has("payout.failed")
      ? [`${reference}: told successful and failed`]
      : [])
  ]
}

/** One key has one reference, and what was answered for good stays so, byte for byte. */
const contradictions = ({ answers, key }: Told): ReadonlyArray<string> => {
  const references = new Set(answers.flatMap(({ body }) => named(body) ?? []))
  const final = answers.filter(({ status }) => status === 201)
  const [first] = final
  return [
    ...(references.size > 1 ? [`${key}: answered with ${references.size} references`] : []),
    ...final.filter(({ body, isReplay }) => isReplay && body !== first?.body).map(() => `${key}: a replay with other bytes`)
  ]
}

const strangers = ({ movements, told }: Seen): ReadonlyArray<string> => {
  const known = new Set(told.map(({ reference }) => reference))
  return movements
    .filter(({ reference }) => !known.has(reference))
    .map(({ reference }) => `${reference}: executed, and nobody was told`)
}

const wrongPosition = (appId: string, position: Position, { credit, movements, told }: Seen): ReadonlyArray<string> => {
  let [available, collected, paidOut, fees] = [credit, 0n, 0n, 0n]
  for (const one of told) {
    if (one.appId !== appId) continue
    for (const { amount, fee, kind, returnsAt } of executed(movements, one.reference)) {
      if (kind === "collection") {
        available += amount - fee
        collected += amount
        fees += fee
        continue
      }
      // The tenant is debited the smaller of what was held for the fee and what it was.
      const debited = fee < PAYOUT_FEE ? fee : PAYOUT_FEE
      available -= amount + debited
      paidOut += amount
      fees += debited
      if (returnsAt !== null) available += amount
    }
  }
  const wanted: Position = { available, reserved: 0n, collected, paidOut, fees }
  return Object.entries(wanted).flatMap(([name, value]) => {
    const own = Object.entries(position).find(([other]) => other === name)?.[1]
    return own === value ? [] : [`${appId}: ${name} is ${own}, not ${value}`]
  })
}

const changedBytes = (event: Event, events: ReadonlyArray<Event>): ReadonlyArray<string> =>
  events.some(({ body, id }) => id === event.id && body !== event.body) ? [`${event.id}: sent again with other bytes`] : []

export const named = (body: string): string | undefined => {
  const { data, error }: { data?: { reference?: string }; error?: { code: string; details: { reference?: string } } } =
    JSON.parse(body)
  return error?.code === "duplicate_charge_in_flight" ? undefined : (data?.reference ?? error?.details.reference)
}
