import { charged, waiting, waitsForCode } from "./CodeMoves.ts"
import { differs, failedUnreported, flagged, isRuledFailed, withReport } from "./Contradiction.ts"
import type { Currency } from "./Currency.ts"
import { type Decision, unchanged } from "./Decision.ts"
import type { Actor, Fact } from "./Fact.ts"
import type { Instant } from "./Instant.ts"
import { collect, release, returnFunds, settle } from "./Ledger.ts"
import { add, type MinorUnits, smaller, ZERO } from "./Money.ts"
import type { Collection, CollectionStatus, FailedBy, Payout, PayoutStatus, Transaction } from "./Transaction.ts"

type FactName = Fact["_tag"]
// These bring it to a person: `review` always, `deny` unless a person ruled that it came to nothing, `compare` where the figures are not the
// record's, `doubt` where it failed without the provider's word.
type Move =
  | "track"
  | "reroute"
  | "redirect"
  | "charge"
  | "wait"
  | "succeed"
  | "fail"
  | "expire"
  | "return"
  | "review"
  | "deny"
  | "compare"
  | "doubt"

// The table of moves (contract MOVE-1). A missing cell is a move that does not exist: the fact is noted in the
// history and nothing else changes. That is what makes a second, late or contradictory fact harmless.
const payoutMoves: { readonly [S in PayoutStatus]: { readonly [F in FactName]?: Move } } = {
  pending: {
    Accepted: "track",
    StillPending: "track",
    Succeeded: "succeed",
    Refused: "fail",
    NotSent: "fail",
    Rerouted: "reroute"
  },
  successful: { Returned: "return", Refused: "deny", Succeeded: "compare" },
  failed: { Succeeded: "review", Accepted: "doubt", StillPending: "doubt" }
}

const open = {
  Accepted: "track",
  StillPending: "track",
  NeedsRedirect: "redirect",
  Succeeded: "succeed",
  Refused: "fail",
  NotSent: "fail",
  Rerouted: "reroute",
  Expired: "expire",
  Returned: "review"
} as const satisfies { readonly [F in FactName]?: Move }

const collectionMoves: { readonly [S in CollectionStatus]: { readonly [F in FactName]?: Move } } = {
  requires_action: { ...open, Charged: "charge", WrongCode: "wait" },
  pending: open,
  successful: { Returned: "deny", Refused: "deny", Succeeded: "compare" },
  failed: { Succeeded: "succeed", Accepted: "doubt", StillPending: "doubt", NeedsRedirect: "doubt" },
  expired: { Succeeded: "succeed" }
}

export const decide = (transaction: Transaction, fact: Fact, actor: Actor, at: Instant): Decision => {
  if (isDisproved(transaction, fact, actor)) return unchanged(transaction)
  const decision: Decision =
    transaction.kind === "payout" ? decidePayout(transaction, fact, at) : decideCollection(transaction, fact, actor, at)
  return { ...decision, next: withReport(transaction, decision.next, fact) }
}

/** What the provider gave a handle to, or a page to pay on, was sent, whatever a later query does not find. */
const isDisproved = (transaction: Transaction, fact: Fact, actor: Actor): boolean =>
  fact._tag === "NotSent" &&
  actor !== "request" &&
  (transaction.providerReference !== null || (transaction.kind === "collection" && transaction.nextAction?._tag === "redirect"))

const decidePayout = (payout: Payout, fact: Fact, at: Instant): Decision => {
  const move = payoutMoves[payout.status][fact._tag]
  const changed = { version: payout.version + 1, updatedAt: at, asked: 0, notFound: 0 }
  if (move === "track" && "providerReference" in fact) return unchanged(tracked(payout, fact.providerReference))
  if (move === "reroute" && fact._tag === "Rerouted") return unchanged(rerouted(payout, fact, at))
  if (move === "succeed" && fact._tag === "Succeeded") {
    if (differs(fact, payout.principal, payout.currency)) return flagged<Transaction>(payout, fact, at)
    const actualFee = fact.fee ?? payout.fees ?? payout.heldFee
    const next: Payout = {
      ...tracked(payout, fact.providerReference),
      ...changed,
      status: "successful",
      fees: smaller(actualFee, payout.heldFee),
      needsReview: false,
      completedAt: at
    }
    return { next, entry: settle(payout.currency, payout.principal, payout.heldFee, actualFee), event: "payout.successful" }
  }
  if (move === "fail") {
    const next: Payout = {
      ...payout,
      ...changed,
      status: "failed",
      fees: ZERO,
      needsReview: false,
      completedAt: at,
      ...failureBy(fact)
    }
    return { next, entry: release(payout.currency, add(payout.principal, payout.heldFee)), event: "payout.failed" }
  }
  if (move === "return" && fact._tag === "Returned") {
    if (isGivenBack(payout, fact)) return unchanged(payout)
    const foreign = fact.currency !== null && fact.currency !== payout.currency
    // A return is booked once: what comes back in parts, a person puts together.
    if (payout.returned !== null || foreign || fact.amount > payout.principal || fact.fee > (payout.fees ?? ZERO))
      return flagged<Transaction>(payout, fact, at)
    const next: Payout = {
      ...payout,
      ...changed,
      returned: { amount: add(fact.amount, fact.fee), at: fact.at ?? at, reason: fact.note }
    }
    return { next, entry: returnFunds(payout.currency, fact.amount, fact.fee), event: "payout.returned" }
  }
  return isContradiction(payout, fact, move, payout.principal) ? flagged<Transaction>(payout, fact, at) : unchanged(payout)
}

const decideCollection = (collection: Collection, fact: Fact, actor: Actor, at: Instant): Decision => {
  const move = collectionMoves[collection.status][fact._tag]
  const changed = { version: collection.version + 1, updatedAt: at, asked: 0, notFound: 0 }
  if (move === "track" && fact._tag === "Accepted") return accepted(collection, fact, at)
  if (move === "charge" && fact._tag === "Charged") return charged(collection, fact.expiresAt, at)
  if (move === "reroute" && fact._tag === "Rerouted") return unchanged(rerouted(collection, fact, at))
  if (move === "wait" && fact._tag === "WrongCode")
    return collection.nextAction === null ? waiting(collection, fact, at) : unchanged(collection)
  // Found at the provider: it was charged, although nobody heard the answer to the code.
  if (fact._tag === "StillPending" && waitsForCode(collection))
    return charged(tracked(collection, fact.providerReference), collection.expiresAt, at)
  if (move === "track" && "providerReference" in fact) return unchanged(tracked(collection, fact.providerReference))
  if (move === "redirect" && fact._tag === "NeedsRedirect") {
    if (collection.nextAction !== null || actor !== "request") return unchanged(tracked(collection, fact.providerReference))
    const nextAction = {
      _tag: "redirect",
      redirectUrl: fact.redirectUrl,
      message: "Send the payer to redirect_url to finish the payment.",
      expiresAt: collection.expiresAt ?? at
    } as const
    const next: Collection = {
      ...tracked(collection, fact.providerReference),
      ...changed,
      ...observed(fact),
      status: "requires_action",
      nextAction
    }
    return { next, entry: null, event: "collection.requires_action" }
  }
  if (move === "succeed" && fact._tag === "Succeeded") {
    const fee = fact.fee ?? ZERO
    if (differs(fact, collection.amount, collection.currency) || fee > collection.amount) {
      return flagged<Transaction>(collection, fact, at, showing(collection, fact.amount, fact.currency ?? collection.currency))
    }
    const next: Collection = {
      ...tracked(collection, fact.providerReference),
      ...changed,
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
  const closed = { ...collection, ...changed, nextAction: null, needsReview: false, completedAt: at }
  if (move === "fail")
    return { next: { ...closed, status: "failed", ...failureBy(fact) }, entry: null, event: "collection.failed" }
  if (move === "expire")
    return { next: { ...closed, status: "expired", failure: timedOut }, entry: null, event: "collection.expired" }
  return isContradiction(collection, fact, move, collection.observedAmount ?? collection.amount)
    ? flagged<Transaction>(collection, fact, at)
    : unchanged(collection)
}

/** `booked` is what the record says that moved, without fees. */
const isContradiction = (record: Transaction, fact: Fact, move: Move | undefined, booked: MinorUnits): boolean =>
  move === "review" ||
  (move === "deny" && !isRuledFailed(record)) ||
  (move === "doubt" && failedUnreported(record)) ||
  (move === "compare" && fact._tag === "Succeeded" && (isRuledFailed(record) || differs(fact, booked, record.currency)))

/**
 * It is what was booked, or there is nothing left that could come back. As much once more, at another time, may be a second part as long as
 * there is room for it.
 */
const isGivenBack = ({ fees, principal, returned }: Payout, fact: Extract<Fact, { _tag: "Returned" }>): boolean => {
  if (returned === null) return false
  const [back, whole] = [fact.amount + fact.fee, principal + (fees ?? ZERO)]
  if (returned.amount >= whole) return back <= whole
  return back === returned.amount && (fact.at === returned.at || returned.amount + back > whole)
}

/** With what the provider says that the payer paid. */
const showing = (collection: Collection, observedAmount: MinorUnits | null, observedCurrency: Currency): Collection =>
  collection.observedAmount === observedAmount && collection.observedCurrency === observedCurrency
    ? collection
    : { ...collection, observedAmount, observedCurrency }

/** A charge that was accepted at once although a redirect was expected is simply pending. */
const accepted = (collection: Collection, fact: Extract<Fact, { _tag: "Accepted" }>, at: Instant): Decision => {
  const next = tracked(collection, fact.providerReference)
  const visible = { ...observed(fact), version: collection.version + 1, updatedAt: at }
  if (collection.status === "requires_action" && collection.nextAction === null) {
    return { next: { ...next, ...visible, status: "pending" }, entry: null, event: "collection.pending" }
  }
  return unchanged(fact.observedAmount === null ? next : { ...next, ...visible })
}

/** What a provider has a handle of, or the payer was told to go on with, stays where it is. What was reserved stays reserved. */
const rerouted = (transaction: Transaction, { fee, provider }: Extract<Fact, { _tag: "Rerouted" }>, at: Instant): Transaction => {
  const isTaken = transaction.kind === "collection" && transaction.nextAction !== null
  if (transaction.providerReference !== null || isTaken) return transaction
  const changed = { provider, version: transaction.version + 1, updatedAt: at, asked: 0, notFound: 0 }
  return transaction.kind === "collection"
    ? { ...transaction, ...changed }
    : { ...transaction, ...changed, fees: smaller(fee ?? transaction.heldFee, transaction.heldFee) }
}

const observed = (fact: Extract<Fact, { _tag: "Accepted" | "NeedsRedirect" }>) => ({
  observedAmount: fact.observedAmount,
  observedCurrency: fact.observedCurrency
})

const tracked = <T extends Transaction>(transaction: T, providerReference: string | null): T =>
  providerReference === null || providerReference === transaction.providerReference
    ? transaction
    : { ...transaction, providerReference }

const timedOut: Transaction["failure"] = { code: "timed_out", message: "The payer did not finish in time." }

export const failureBy = (fact: Fact): { readonly failure: Transaction["failure"]; readonly failedBy: FailedBy } =>
  fact._tag === "Refused" ? { failure: fact.failure, failedBy: "provider" } : { failure: neverSent, failedBy: "gateway" }

const neverSent = { code: "unknown", message: "It never left the gateway: nothing was sent to the provider." } as const
