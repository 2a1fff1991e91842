import { codeFaults } from "./CodeFaults.ts"
import { executedOf, isReversed, MINUTE, type Movement, PAYOUT_FEE } from "./Movement.ts"
import { wrongPositions } from "./Positions.ts"
import { LOOK_BACK_MS, TEST_CEILING, unjustified } from "./Refusals.ts"
import { leftToOperators } from "./Restores.ts"
import { type Event, named, refusalIn, type Seen, type Told } from "./Seen.ts"

// The independent model: a plain fold of what the providers did and of what the tenants were told. It shares no rule with the gateway.

const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
/** What was placed longer ago may count as never sent, and leaves no more. */
const IN_FLIGHT_MS = MINUTE / 2

/** Empty where every cent is accounted for and nobody was told anything that is not so. */
export const judge = (seen: Seen): ReadonlyArray<string> => [
  ...seen.told.flatMap((one) => faultsOf(one, seen)),
  ...strangers(seen),
  ...seen.strays,
  ...wrongPositions(seen),
  ...overCaps(seen),
  ...overCeiling(seen),
  ...openedFrozen(seen),
  ...codeFaults(seen),
  ...seen.told.flatMap((one) => unjustified(one, seen)),
  ...doubleCharges(seen),
  ...seen.events.flatMap((event) => changedBytes(event, seen.events)),
  ...seen.ledger.map((line) => `ledger: ${line}`)
]

/**
 * After a restore: what the provider did for a tenant, it did once, and it is here as it is there. Refusals, caps and the guard are of what the
 * database knew.
 */
export const judgeRestored = (seen: Seen): ReadonlyArray<string> => {
  const left = leftToOperators(seen)
  const told = seen.told.filter(({ reference }) => reference === undefined || !left.has(reference))
  const rest = { ...seen, told, movements: seen.movements.filter(({ reference }) => !left.has(reference)) }
  return [
    ...told.flatMap((one) => faultsOf(one, rest)),
    ...strangers(rest),
    ...wrongPositions(rest),
    ...seen.events.flatMap((event) => changedBytes(event, seen.events)),
    ...seen.ledger.map((line) => `ledger: ${line}`)
  ]
}

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
  const returned = moved.some(({ kind, returnsAt }) => kind === "payout" && returnsAt !== null)
  // Taken back before anybody here had heard of its success, a charge is over without one: its provider said so, or did not find it in time.
  const isOver = moved.some(isReversed) && (record.status === "failed" || record.status === "expired")
  const family = kind === "exchange" ? "fx" : kind
  return [
    ...faults,
    ...moved.flatMap((movement) => [...strays(one, movement), ...leftLate(movement, seen)]),
    ...(moved.length > 1 ? [`${reference}: executed ${moved.length} times`] : []),
    ...(record.needsReview ? [`${reference}: still in review`] : []),
    ...(moved.length > 0 && record.status !== "successful" && !isOver
      ? [`${reference}: executed, and ${record.status} here`]
      : []),
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
  const error = refusalIn(body)
  return status === 201 || error?.terminal === true || error?.code === "otp_incorrect"
}

const strangers = ({ movements, told }: Seen): ReadonlyArray<string> => {
  const known = new Set(told.map(({ reference }) => reference))
  return movements
    .filter(({ reference }) => !known.has(reference))
    .map(({ reference }) => `${reference}: executed, and nobody was told`)
}

/** Nothing begins for a tenant between its freeze and the end of that. */
const openedFrozen = ({ freezes, openings, told }: Seen): ReadonlyArray<string> =>
  openings.flatMap(({ at, reference }) => {
    const owner = told.find((one) => one.reference === reference)
    return freezes.some(({ appId, from, until }) => appId === owner?.appId && at > from && at < until)
      ? [`${reference}: opened while ${owner?.appId} was frozen`]
      : []
  })

/** What failed gave its place back, so that what did not fail must fit; a charge never does. */
const overCaps = ({ caps, records, told }: Seen): ReadonlyArray<string> => {
  const used = new Map<string, number>()
  for (const { appId, kind, mode, party, reference } of told) {
    const record = records.get(reference ?? "")
    if (kind === "exchange" || record === undefined || (kind === "payout" && record.status === "failed")) continue
    const whose = kind === "payout" ? "payouts" : `charges of ${party}`
    const window = `${appId}/${mode} ${Math.floor(record.createdAt / HOUR)} ${whose}`
    used.set(window, (used.get(window) ?? 0) + 1)
  }
  return [...used].flatMap(([window, count]) => {
    const cap = caps.get(window.split(" ")[0] ?? "")
    return cap !== undefined && count > cap ? [`${window}: ${count} in an hour, and ${cap} may be`] : []
  })
}

/** What is paid out through a provider's account in a day, fees that were held included. */
const overCeiling = ({ ceiling, records, told }: Seen): ReadonlyArray<string> => {
  if (ceiling === null) return []
  const used = new Map<string, bigint>()
  for (const { amount, kind, mode, reference } of told) {
    const record = records.get(reference ?? "")
    if (kind !== "payout" || record === undefined || record.status === "failed" || record.provider !== ceiling.provider) continue
    const day = `${mode} ${Math.floor(record.createdAt / DAY)}`
    used.set(day, (used.get(day) ?? 0n) + amount + PAYOUT_FEE)
  }
  return [...used].flatMap(([day, sum]) =>
    sum > ceiling.amount ? [`${day}: ${sum} went through ${ceiling.provider}, and ${ceiling.amount} may`] : []
  )
}

/** Nobody is charged while an earlier charge of the same number is live, nor within fifteen minutes of one that was paid. Both count from their placing. */
const doubleCharges = (seen: Seen): ReadonlyArray<string> => {
  const charges = seen.told.flatMap((one) => {
    const [moved] = one.kind === "collection" ? executedOf(seen.movements, one.reference) : []
    return moved === undefined ? [] : [{ ...one, moved, placedAt: placedAt(moved, seen) }]
  })
  return charges.flatMap((late) =>
    charges
      .filter(
        (early) =>
          early.party === late.party &&
          early.appId === late.appId &&
          early.mode === late.mode &&
          early.placedAt < late.placedAt &&
          late.placedAt < early.placedAt + LOOK_BACK_MS - seen.offAtMostMs
      )
      .map((early) => `${late.reference}: charged too soon after ${early.reference} of the same number`)
  )
}

/** However long its process, or the machine under it, stood still: what was placed too long ago leaves no more. */
const leftLate = (moved: Movement, seen: Seen): ReadonlyArray<string> =>
  moved.takenAt > placedAt(moved, seen) + IN_FLIGHT_MS + seen.offAtMostMs
    ? [`${moved.reference}: left ${moved.takenAt - placedAt(moved, seen)} ms after it was placed`]
    : []

/** A placing is noted by the right clock, a movement by the database's, which may be behind. */
const placedAt = ({ reference, takenAt }: Movement, { offAtMostMs, placings }: Seen): number =>
  placings.findLast((one) => one.reference === reference && one.at <= takenAt + offAtMostMs)?.at ?? takenAt

const changedBytes = (event: Event, events: ReadonlyArray<Event>): ReadonlyArray<string> =>
  events.some(({ body, id }) => id === event.id && body !== event.body) ? [`${event.id}: sent again with other bytes`] : []
