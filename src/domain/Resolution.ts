import { afterRuling, reportedYield } from "./Contradiction.ts"
import type { Currency } from "./Currency.ts"
import { type Decision } from "./Decision.ts"
import type { Exchange } from "./Exchange.ts"
import type { Instant } from "./Instant.ts"
import { broughtBy, knownFee, quotedFee, spokeOfAnother } from "./KnownFee.ts"
import { collect, correct, type Entry, exchange as exchanged, isGateways, release, settle } from "./Ledger.ts"
import { add, larger, type MinorUnits, minusOrZero, smaller, toDecimal, ZERO } from "./Money.ts"
import { type Collection, type Payout, sentBack } from "./Payment.ts"
import type { Transaction } from "./Transaction.ts"

/** A ruling books at most this many times the amount that was requested or that the provider reported: more is a mistyped digit. */
const AT_MOST_TIMES = 2n

/** A person's finding on a record under review: whether money moved, and how much where that was in doubt. */
export interface Resolution {
  readonly outcome: "successful" | "failed"
  /** The amount that moved, without fees; null: the record's own. For an exchange, what it yielded, in that currency. */
  readonly amount: MinorUnits | null
  readonly fee: MinorUnits | null
  readonly evidence: string
}

/** The currency of a resolution's amount: for an exchange, the destination currency. */
export const resolvedCurrency = (record: Transaction): Currency =>
  record.kind === "exchange" ? record.destinationCurrency : record.currency

/** The effect of a resolution, or one line on why it is impossible. */
export type Ruling<R> = Decision<R> | string

export type ResolutionAction = "settle" | "release" | "collect" | "close" | "correct" | "keep"
type ActionTable<S extends string> = { readonly [K in S]: { readonly [O in Resolution["outcome"]]: ResolutionAction } }

// Every case that a person can be asked about has both outcomes. `keep` ends the case and moves nothing: the record was right.
// A closed record is changed by a correction, at most one per case. A success stays a success (contract MOVE-8, MOVE-9): a
// payout that did not arrive is returned in full, and a collection that was taken back is reversed.
export const resolutionActions = {
  payout: {
    pending: { successful: "settle", failed: "release" },
    failed: { successful: "correct", failed: "keep" },
    successful: { successful: "correct", failed: "correct" }
  },
  collection: {
    requires_action: { successful: "collect", failed: "close" },
    pending: { successful: "collect", failed: "close" },
    failed: { successful: "collect", failed: "keep" },
    expired: { successful: "collect", failed: "keep" },
    successful: { successful: "correct", failed: "correct" }
  },
  exchange: {
    pending: { successful: "settle", failed: "release" },
    failed: { successful: "correct", failed: "keep" },
    successful: { successful: "keep", failed: "correct" }
  }
} as const satisfies {
  readonly payout: ActionTable<Payout["status"]>
  readonly collection: ActionTable<Collection["status"]>
  readonly exchange: ActionTable<Exchange["status"]>
}

/** The action of each outcome on the record in its present state. */
export const actionsFor = (
  record: Payout | Collection | Exchange
): { readonly [O in Resolution["outcome"]]: ResolutionAction } => {
  switch (record.kind) {
    case "payout":
      return resolutionActions.payout[record.status]
    case "collection":
      return resolutionActions.collection[record.status]
    case "exchange":
      return resolutionActions.exchange[record.status]
  }
}

/**
 * The effect of a person's ruling on a record of any kind. `bookedDrift` is the sum that the record's entries posted to drift;
 * without it a ruling on a payout that succeeded posts nothing there.
 */
export const rulingOn = (
  record: Transaction,
  resolution: Resolution,
  at: Instant,
  bookedDrift: bigint | null = null
): Ruling<Transaction> => {
  if (resolution.outcome === "failed" && resolution.amount !== null)
    return "what failed moved nothing: an amount goes with the outcome successful"
  if (resolution.amount === ZERO) return movedNothing
  switch (record.kind) {
    case "payout":
      return resolvePayout(record, resolution, at, bookedDrift)
    case "collection":
      return resolveCollection(record, resolution, at)
    case "exchange":
      return resolveExchange(record, resolution, at)
  }
}

const failure = { code: "unknown", message: "A person established that no money moved." } as const

/** Where the record was closed as never sent although the provider had the request, the failure becomes the person's ruling. */
const keptFailure = ({ failedBy, failure: said }: Transaction) => (said !== null && failedBy === "gateway" ? { failure } : {})

const movedNothing = "an amount of 0 moved nothing: rule it failed, or say with --amount-minor what moved"

const booksNoFee = "this ruling books no fee: book what it cost with float debit"

const ruled = <R>(next: R, entry: Entry | null, event: Decision<R>["event"]): Decision<R> => ({
  next,
  entry: entry === null || entry.postings.length === 0 ? null : entry,
  event
})

/** The fields that every ruling sets. A closed record keeps its poll count: a new one would make all late polls due at once. */
const afterResolution = <R extends Transaction>(record: R, { amount, fee, outcome }: Resolution, at: Instant) => {
  const { doubtedSince: _ended, ...known } = record
  return {
    ...known,
    ...afterRuling(record, outcome, amount, fee),
    needsReview: false,
    version: record.version + 1,
    updatedAt: at
  }
}

/** The fields that a ruling sets where it changes the status; any late polls start then. */
const closedAs = <S extends "successful" | "failed">(record: Transaction, status: S, at: Instant) =>
  record.status === status
    ? {}
    : { status, completedAt: at, asked: 0, notFound: 0, ...(status === "failed" ? { failedBy: "person" as const } : {}) }

export const resolvePayout = (
  payout: Payout,
  resolution: Resolution,
  at: Instant,
  bookedDrift: bigint | null = null
): Ruling<Payout> => {
  const way = resolutionActions.payout[payout.status][resolution.outcome]
  const held = add(payout.principal, payout.heldFee)
  const settled = afterResolution(payout, resolution, at)
  const { currency } = payout
  const kept = resolution.fee ?? ZERO
  if (way === "keep") return kept > ZERO ? booksNoFee : ruled({ ...settled, ...keptFailure(payout) }, null, null)
  if (way === "release") {
    if (kept > payout.heldFee) return beyondFee("held", payout.heldFee, currency)
    const next: Payout = { ...settled, ...closedAs(payout, "failed", at), fees: kept, failure }
    return ruled(next, release(currency, held, kept), "payout.failed")
  }
  if (resolution.outcome === "failed") return reversedPayout(payout, settled, kept, at)
  const principal = resolution.amount ?? payout.principal
  if (principal > held) return `it was opened with ${held} minor ${currency}: no more than that can have been sent`
  // The return that only a ruling had booked is now ruled to have been paid out after all.
  const { returnedBefore, ...unruled } = settled
  const returned = returnedBefore === undefined ? payout.returned : returnedBefore
  const back = returned?.amount ?? ZERO
  const sent = sentBack({ principal: payout.principal, returned })
  if (principal < sent) return `${sent} minor ${currency} of it came back: it cannot have sent less than that`
  const twice = AT_MOST_TIMES * larger(payout.heldFee, payout.reported?.fee ?? ZERO)
  const most = principal > twice ? principal : twice
  if (resolution.fee !== null && resolution.fee > most)
    return `a fee of ${payout.heldFee} minor ${currency} was held: a ruling books at most ${most}; book what is beyond that with float debit`
  const heldFee = minusOrZero(held, principal)
  // Of another amount the provider may have named the fee; that of the booked amount is booked, with its drift.
  const named = resolution.fee ?? (principal === payout.principal ? null : knownFee(payout, principal))
  const fee =
    named ??
    knownFee(payout, principal) ??
    (payout.status === "successful" ? (payout.fees ?? ZERO) : smaller(quotedFee(payout), heldFee))
  const fees = smaller(fee, heldFee)
  if (fees < back - sent) return `${back - sent} minor ${currency} of its fee came back: it cannot have cost less than that`
  const next: Payout = { ...unruled, ...closedAs(payout, "successful", at), principal, heldFee, fees, returned, failure: null }
  if (way === "settle") return ruled(next, settle(currency, principal, heldFee, fee), "payout.successful")
  const booked = payout.status === "successful" ? { paidOut: payout.principal, fees: payout.fees ?? ZERO } : null
  // A failed payout has a booked fee where a person ruled that the provider kept one.
  const costBefore = payout.fees ?? ZERO
  const excess = fee - fees
  const drift = booked === null ? excess : named === null || bookedDrift === null ? 0n : excess - bookedDrift
  const entry = correct(currency, {
    paidOut: principal - (booked?.paidOut ?? ZERO),
    returned: back - (payout.returned?.amount ?? ZERO),
    fees: fees - costBefore,
    drift
  })
  if (booked === null) return ruled(next, entry, "payout.successful")
  return ruled(next, entry, entry.postings.every(({ account }) => isGateways(account)) ? null : "payout.corrected")
}

/**
 * Everything that a payout took comes back, except for the fee that the provider kept. An earlier return counts: where it was
 * larger, because the contract returns the fee, the difference is taken back.
 */
const reversedPayout = (payout: Payout, settled: Payout, kept: MinorUnits, at: Instant): Ruling<Payout> => {
  const fees = payout.fees ?? ZERO
  if (kept > fees) return beyondFee("booked", fees, payout.currency)
  const whole = add(payout.principal, minusOrZero(fees, kept))
  const missing = whole - (payout.returned?.amount ?? ZERO)
  if (missing === 0n) return ruled(settled, null, null)
  const { returnedBefore = payout.returned } = payout
  const fee = minusOrZero(fees, kept)
  const returned = { amount: whole, at, reason: failure.message, ...(fee > ZERO ? { fee } : {}) }
  const next: Payout = { ...settled, returned, returnedBefore }
  const entry = correct(payout.currency, { returned: missing, fees: ZERO })
  return ruled(next, entry, missing > 0n ? "payout.returned" : "payout.corrected")
}

export const resolveCollection = (collection: Collection, resolution: Resolution, at: Instant): Ruling<Collection> => {
  const way = resolutionActions.collection[collection.status][resolution.outcome]
  const settled = afterResolution(collection, resolution, at)
  const closed = { ...settled, nextAction: null }
  const { currency, reversed } = collection
  const isFailed = resolution.outcome === "failed"
  const kept = isFailed ? (resolution.fee ?? ZERO) : ZERO
  if (kept > ZERO && (way !== "correct" || reversed !== null)) return booksNoFee
  if (way === "keep" || (reversed !== null && isFailed)) return ruled({ ...settled, ...keptFailure(collection) }, null, null)
  if (way === "close")
    return ruled<Collection>({ ...closed, ...closedAs(collection, "failed", at), failure }, null, "collection.failed")
  /** The state before a correction. */
  const before = bookedOf(collection)
  if (isFailed) {
    if (kept > before.fees) return beyondFee("booked", before.fees, currency)
    const taken = add(minusOrZero(before.collected, before.fees), kept)
    const next: Collection = { ...closed, reversed: { amount: taken, at, reason: "It was reversed after it had succeeded." } }
    return ruled(next, correct(currency, { collected: -before.collected, fees: kept - before.fees }), "collection.reversed")
  }
  if (resolution.amount === null && spokeOfAnother(collection))
    return `the provider spoke of ${collection.observedCurrency}: say with --amount-minor how much ${currency} came in`
  const amount = resolution.amount ?? broughtBy(collection)
  if (amount === ZERO) return movedNothing
  const most = AT_MOST_TIMES * larger(collection.amount, broughtBy(collection))
  if (amount > most) return tooMuch("was opened with", collection.amount, most, currency)
  const fee = resolution.fee ?? knownFee(collection, amount)
  if (fee === null)
    return `the provider named no fee for ${amount} minor ${currency}: say with --fee-minor what it took, 0 where it took nothing`
  if (fee > amount) return "the fee is larger than what came in"
  const next: Collection = {
    ...closed,
    ...closedAs(collection, "successful", at),
    observedAmount: amount,
    observedCurrency: currency,
    fees: fee,
    failure: null,
    reversed: null,
    lateSuccess: collection.lateSuccess || collection.status === "failed" || collection.status === "expired"
  }
  if (way === "collect") return ruled(next, collect(currency, amount, fee), "collection.successful")
  const entry = correct(currency, { collected: amount - before.collected, fees: fee - before.fees })
  return ruled(next, entry, entry.postings.length === 0 ? null : "collection.corrected")
}

/** The booked figures of a successful collection; after a reversal, only the fee that the provider kept. */
const bookedOf = (collection: Collection) => {
  const { reversed } = collection
  const [collected, fees] = [broughtBy(collection), collection.fees ?? ZERO]
  return reversed === null
    ? { collected, fees }
    : { collected: ZERO, fees: minusOrZero(reversed.amount, minusOrZero(collected, fees)) }
}

const beyondFee = (which: "held" | "booked", fee: MinorUnits, currency: Currency): string =>
  `a fee of ${fee} minor ${currency} was ${which}: no more than that can be kept of it; book what is beyond that with float debit`

const tooMuch = (opened: string, expected: MinorUnits, most: bigint, currency: Currency): string =>
  `it ${opened} ${expected} minor ${currency}: a ruling books at most ${most}; book what is beyond that with float credit`

export const resolveExchange = (exchange: Exchange, resolution: Resolution, at: Instant): Ruling<Exchange> => {
  const way = resolutionActions.exchange[exchange.status][resolution.outcome]
  const settled = afterResolution(exchange, resolution, at)
  if (resolution.fee !== null) return "an exchange has no fee beside its rate"
  if (way === "keep") return resolution.amount === null ? ruled({ ...settled, ...keptFailure(exchange) }, null, null) : isBooked
  if (resolution.outcome === "failed") {
    const next: Exchange = { ...settled, ...closedAs(exchange, "failed", at), failure }
    const entry = way === "release" ? release(exchange.currency, exchange.amount) : moved(exchange, -1n)
    return ruled(next, entry, "fx.failed")
  }
  const reported = reportedYield(exchange)
  if (resolution.amount === null && reported !== null)
    return `the provider says that it brought ${reported}, in the smallest unit: say with --amount-minor how much ${exchange.destinationCurrency} came in`
  const most = AT_MOST_TIMES * exchange.destinationAmount
  if (resolution.amount !== null && resolution.amount > most)
    return tooMuch("was to bring", exchange.destinationAmount, most, exchange.destinationCurrency)
  // The person's figure replaces the provider's, which was only quoted.
  const found =
    resolution.amount === null
      ? {}
      : {
          destinationAmount: resolution.amount,
          rawDestinationAmount: toDecimal(resolution.amount, exchange.destinationCurrency)
        }
  const next: Exchange = { ...settled, ...closedAs(exchange, "successful", at), ...found, failure: null }
  const { amount, currency, destinationAmount, destinationCurrency } = next
  const entry = way === "settle" ? exchanged(currency, amount, destinationCurrency, destinationAmount) : moved(next, 1n)
  return ruled(next, entry, "fx.successful")
}

const isBooked = "it is booked as it is: leave --amount-minor out, and put a difference right with float credit or float debit"

/** An exchange that is posted or taken back after it was closed: against `available`, because nothing is reserved any more. */
const moved = ({ amount, currency, destinationAmount, destinationCurrency }: Exchange, sign: bigint): Entry => ({
  phase: "correct",
  postings: exchanged(currency, amount, destinationCurrency, destinationAmount).postings.map((line) => ({
    currency: line.currency,
    account: line.account === "reserved" ? "available" : line.account,
    amount: sign * line.amount
  }))
})

/** The effect of a ruling, for a person who knows the float and not the code. */
export const meaningOf = (outcome: Resolution["outcome"], action: ResolutionAction): string =>
  action === "correct" ? corrections[outcome] : meanings[action]

const corrections: { readonly [O in Resolution["outcome"]]: string } = {
  successful: "money moved, with these figures where the record has others: the difference is posted, once",
  failed: "no money moved, or it went back: what was booked is taken back, once"
}

const meanings: { readonly [A in Exclude<ResolutionAction, "correct">]: string } = {
  settle: "money moved: what is reserved is paid",
  release: "nothing moved: what is reserved returns to the float",
  collect: "money came in: it is credited to the float",
  close: "nothing came in: it is closed as failed",
  keep: "it is right as it stands: the case is closed and nothing is posted"
}
