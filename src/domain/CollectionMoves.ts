import { differs, failedUnsurely, flagged, isKnownToRuling, knowsTaken, personRuledFailed, wasBooked } from "./Contradiction.ts"
import { type Decision, unchanged } from "./Decision.ts"
import type { Fact } from "./Fact.ts"
import type { Instant } from "./Instant.ts"
import { collect } from "./Ledger.ts"
import { type MinorUnits, ZERO } from "./Money.ts"
import {
  atNextProvider,
  type FactOf,
  type FactOrigin,
  failureBy,
  foundAfterAll,
  hasHandle,
  type Move,
  type MoveTable,
  mismatch,
  note,
  type Row,
  review,
  reviewFound,
  track,
  tracked,
  trackNamed,
  visibleChange,
  when
} from "./MoveTable.ts"
import type { Collection, CollectionStatus } from "./Payment.ts"

const open: Row<Collection> = {
  Accepted: accept,
  StillPending: track,
  Unknown: trackNamed,
  NeedsRedirect: when(isRedirectKnown, track, redirect),
  Succeeded: when(hasOtherFigures, reviewObserved, succeedOr(track)),
  Refused: fail,
  NotSent: when(isKnownToBeSent, note, fail),
  Rerouted: when(isBoundToProvider, note, reroute),
  Expired: expire,
  Returned: review,
  Mismatched: mismatch
}

/** The effect of each fact on a collection. A missing cell is a move that does not exist: the fact is only recorded. */
export const collectionMoves: MoveTable<CollectionStatus, Collection> = {
  requires_action: {
    ...open,
    StillPending: when(waitsForCode, placeFound, track),
    Charged: place,
    WrongCode: when(hasNextAction, noteWrongCode, waitForCode)
  },
  pending: open,
  successful: {
    Returned: when(isBookedAsListed, note, review),
    Refused: when(personRuledFailed, note, review),
    Succeeded: when(contradictsRecord, review, note),
    Clawback: when(needsNobody, note, review),
    FeeStated: when(wasReversed, note, review)
  },
  failed: {
    Succeeded: when(isAPersons, reviewObserved, succeedOr(reviewObserved)),
    Accepted: when(failedUnsurely, reviewFound, note),
    StillPending: when(failedUnsurely, reviewFound, note),
    NeedsRedirect: when(failedUnsurely, reviewFound, note)
  },
  expired: { Succeeded: when(isAPersons, reviewObserved, succeedOr(reviewObserved)) }
}

/** Whether the payer still has to enter the code that was sent. */
export function waitsForCode(record: { readonly status: string; readonly nextAction?: Collection["nextAction"] }): boolean {
  return record.status === "requires_action" && record.nextAction?._tag === "otp"
}

/** A charge that was accepted at once although a redirect was expected is simply pending. */
function accept(collection: Collection, fact: FactOf<"Accepted">, { at }: FactOrigin): Decision<Collection> {
  const next = tracked(collection, fact.providerReference)
  const visible = { ...observed(fact), version: collection.version + 1, updatedAt: at }
  if (collection.status === "requires_action" && collection.nextAction === null)
    return { next: { ...next, ...visible, status: "pending" }, entry: null, event: "collection.pending" }
  return unchanged(fact.observedAmount === null ? next : { ...next, ...visible })
}

function redirect(collection: Collection, fact: FactOf<"NeedsRedirect">, { at }: FactOrigin): Decision<Collection> {
  const next: Collection = {
    ...tracked(collection, fact.providerReference),
    ...visibleChange(collection, at),
    ...observed(fact),
    status: "requires_action",
    nextAction: {
      _tag: "redirect",
      redirectUrl: fact.redirectUrl,
      message: "Send the payer to redirect_url to finish the payment.",
      expiresAt: collection.expiresAt ?? at
    }
  }
  return { next, entry: null, event: "collection.requires_action" }
}

/** A charge was placed, or may have been: from here on the payer finishes on the handset. */
function place(collection: Collection, { expiresAt }: FactOf<"Charged">, { at }: FactOrigin): Decision<Collection> {
  return placed(collection, expiresAt, at)
}

/** The provider has the charge: it was placed, although the answer to the code was lost. */
function placeFound(collection: Collection, fact: FactOf<"StillPending">, { at }: FactOrigin): Decision<Collection> {
  return placed(tracked(collection, fact.providerReference), collection.expiresAt, at)
}

/** The transaction keeps waiting for the right code; only the history shows the wrong one. */
function noteWrongCode(collection: Collection): Decision<Collection> {
  return unchanged({ ...collection, wrongCode: true })
}

/** The code in the request was wrong: nothing was placed, and the transaction starts to wait for the right one. */
function waitForCode(collection: Collection, fact: FactOf<"WrongCode">, { at }: FactOrigin): Decision<Collection> {
  const { expiresAt, message, pinId } = fact
  const nextAction = { _tag: "otp", pinId, message, expiresAt } as const
  const next = { ...collection, nextAction, wrongCode: true, expiresAt, version: collection.version + 1, updatedAt: at } as const
  return { next, entry: null, event: "collection.requires_action" }
}

/** A success is credited net of its fee. Where that is unknown, an open collection is polled again, else a person decides. */
function succeedOr(unpriced: Move<Collection, FactOf<"Succeeded">>): Move<Collection, FactOf<"Succeeded">> {
  return (collection, fact, origin) =>
    fact.fee === null ? unpriced(collection, fact, origin) : succeed(collection, { ...fact, fee: fact.fee }, origin)
}

type Priced = FactOf<"Succeeded"> & { readonly fee: MinorUnits }

function succeed(collection: Collection, fact: Priced, { at }: FactOrigin): Decision<Collection> {
  const { fee } = fact
  const next: Collection = {
    ...tracked(collection, fact.providerReference),
    ...visibleChange(collection, at),
    status: "successful",
    observedAmount: collection.amount,
    observedCurrency: collection.currency,
    fees: fee,
    failure: null,
    nextAction: null,
    needsReview: false,
    completedAt: at,
    lateSuccess: collection.status === "failed" || collection.status === "expired"
  }
  return { next, entry: collect(collection.currency, collection.amount, fee), event: "collection.successful" }
}

function fail(collection: Collection, fact: FactOf<"Refused" | "NotSent">, origin: FactOrigin): Decision<Collection> {
  const { at } = origin
  const next = { ...closed(collection, at), status: "failed", ...failureBy(fact, origin) } as const
  return { next, entry: null, event: "collection.failed" }
}

function expire(collection: Collection, _: FactOf<"Expired">, { at }: FactOrigin): Decision<Collection> {
  return { next: { ...closed(collection, at), status: "expired", failure: timedOut }, entry: null, event: "collection.expired" }
}

function reroute(
  { account: _first, contractFee: _its, ...collection }: Collection,
  fact: FactOf<"Rerouted">,
  { at }: FactOrigin
): Decision<Collection> {
  const fee = fact.fee === null ? {} : { contractFee: fact.fee }
  return unchanged({ ...collection, ...visibleChange(collection, at), ...atNextProvider(fact), ...fee })
}

/** A person has to look, and the tenant sees the amount that, according to the provider, the payer paid. */
function reviewObserved(collection: Collection, fact: FactOf<"Succeeded">, { at }: FactOrigin): Decision<Collection> {
  const [observedAmount, observedCurrency] = [fact.amount, fact.currency ?? collection.currency]
  const isShown = collection.observedAmount === observedAmount && collection.observedCurrency === observedCurrency
  const found = foundAfterAll(collection)
  return flagged(collection, fact, at, isShown ? found : { ...found, observedAmount, observedCurrency })
}

function hasOtherFigures({ amount, currency }: Collection, fact: FactOf<"Succeeded">): boolean {
  return differs(fact, amount, currency) || (fact.fee ?? ZERO) > amount
}

/** Whether a success after the final status needs a person: its figures differ, or a person who knew of it ruled against it. */
function isAPersons(collection: Collection, fact: FactOf<"Succeeded">): boolean {
  return isKnownToRuling(collection, fact) || hasOtherFigures(collection, fact)
}

/** `observedAmount` is what the payer paid, according to the record. */
function contradictsRecord(collection: Collection, fact: FactOf<"Succeeded">): boolean {
  const { amount, currency, observedAmount } = collection
  return personRuledFailed(collection) || differs(fact, observedAmount ?? amount, currency)
}

/** Providers report a partly refunded charge as wholly reversed, which a person who booked the listed part already knows. */
function isBookedAsListed(collection: Collection): boolean {
  const { amount, observedAmount } = collection
  return personRuledFailed(collection) || (knowsTaken(collection) && (observedAmount ?? amount) < amount)
}

/** No review is needed for a dispute that was won, or that a person has booked; one won after it was booked needs one. */
function needsNobody(collection: Collection, fact: FactOf<"Clawback">): boolean {
  return fact.state === "kept" ? !wasBooked(collection, fact) : personRuledFailed(collection)
}

function wasReversed({ reversed }: Collection): boolean {
  return reversed !== null
}

function hasNextAction({ nextAction }: Collection): boolean {
  return nextAction !== null
}

/** The redirect is shown once, in the answer to the request. */
function isRedirectKnown(collection: Collection, _: Fact, { actor }: FactOrigin): boolean {
  return hasNextAction(collection) || actor !== "request"
}

/** A collection with a provider's handle, or with an action for the payer, stays with its provider. */
function isBoundToProvider(collection: Collection): boolean {
  return hasHandle(collection) || hasNextAction(collection)
}

/**
 * A handle from the provider, or a page to pay on, proves that the charge was sent, even where a later query does not find it,
 * and where this request sent nothing: a restore may have lost the one that did.
 */
function isKnownToBeSent(collection: Collection): boolean {
  return hasHandle(collection) || collection.nextAction?._tag === "redirect"
}

const placed = (collection: Collection, expiresAt: Instant | null, at: Instant): Decision<Collection> => ({
  next: { ...collection, ...visibleChange(collection, at), status: "pending", nextAction: null, expiresAt },
  entry: null,
  event: "collection.pending"
})

const closed = (collection: Collection, at: Instant): Collection => ({
  ...collection,
  ...visibleChange(collection, at),
  nextAction: null,
  needsReview: false,
  completedAt: at
})

const observed = ({ observedAmount, observedCurrency }: FactOf<"Accepted" | "NeedsRedirect">) => ({
  observedAmount,
  observedCurrency
})

const timedOut: Collection["failure"] = { code: "timed_out", message: "The payer did not finish in time." }
