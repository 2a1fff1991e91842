import { differs, failedUnsurely, personRuledFailed } from "./Contradiction.ts"
import { type Decision, unchanged } from "./Decision.ts"
import { isFar } from "./ExchangeMoves.ts"
import { release, returnFunds, settle } from "./Ledger.ts"
import { add, smaller, ZERO } from "./Money.ts"
import {
  atNextProvider,
  type FactOf,
  type FactOrigin,
  failureBy,
  hasHandle,
  type MoveTable,
  mismatch,
  note,
  review,
  reviewFound,
  track,
  tracked,
  trackNamed,
  visibleChange,
  when
} from "./MoveTable.ts"
import type { Payout, PayoutStatus } from "./Payment.ts"

/**
 * The effect of each fact on a payout of each status. A missing cell is a move that does not exist: the fact is noted in the history and
 * nothing changes. The words of the cells: `track` and `trackNamed` keep the provider's handle, its own reference; `note` changes nothing;
 * `review` opens a case for a person; `when(condition, a, b)` is a where the condition holds, else b. `hasHandle`: the provider gave a
 * handle, so it was sent, even where a later query does not find it, and where this request sent nothing: a restore may have lost the
 * one that did. `personRuledFailed`: a person ruled that no money moved. `failedUnsurely`: it failed without the provider being sure of
 * it. `isReturnBooked`: the return is the one that was booked already.
 */
export const payoutMoves: MoveTable<PayoutStatus, Payout> = {
  pending: {
    Accepted: track,
    StillPending: track,
    Unknown: trackNamed,
    Succeeded: when(hasOtherFigures, review, succeed),
    Refused: fail,
    NotSent: when(hasHandle, note, fail),
    Rerouted: when(hasHandle, note, reroute),
    Mismatched: mismatch
  },
  successful: {
    Returned: when(isReturnBooked, note, when(isOddReturn, review, returnToFloat)),
    Refused: when(personRuledFailed, note, review),
    Succeeded: when(contradictsRecord, review, note),
    FeeStated: when(cameBack, note, review)
  },
  failed: {
    Succeeded: reviewFound,
    Accepted: when(failedUnsurely, reviewFound, note),
    StillPending: when(failedUnsurely, reviewFound, note)
  }
}

function succeed(payout: Payout, fact: FactOf<"Succeeded">, { at }: FactOrigin): Decision<Payout> {
  const actualFee = fact.fee ?? payout.fees ?? payout.heldFee
  const next: Payout = {
    ...tracked(payout, fact.providerReference),
    ...visibleChange(payout, at),
    status: "successful",
    fees: smaller(actualFee, payout.heldFee),
    needsReview: false,
    completedAt: at
  }
  return { next, entry: settle(payout.currency, payout.principal, payout.heldFee, actualFee), event: "payout.successful" }
}

function fail(payout: Payout, fact: FactOf<"Refused" | "NotSent">, origin: FactOrigin): Decision<Payout> {
  const { at } = origin
  const next: Payout = {
    ...payout,
    ...visibleChange(payout, at),
    status: "failed",
    fees: ZERO,
    needsReview: false,
    completedAt: at,
    ...failureBy(fact, origin)
  }
  return { next, entry: release(payout.currency, add(payout.principal, payout.heldFee)), event: "payout.failed" }
}

/** The reservation stays. */
function reroute(
  { account: _first, feeReturns: _its, ...payout }: Payout,
  fact: FactOf<"Rerouted">,
  { at }: FactOrigin
): Decision<Payout> {
  const quotedFee = smaller(fact.fee ?? payout.heldFee, payout.heldFee)
  return unchanged({
    ...payout,
    ...visibleChange(payout, at),
    ...atNextProvider(fact),
    fees: quotedFee,
    quotedFee,
    ...(fact.feeReturns === true ? { feeReturns: true } : {})
  })
}

/** No provider says whether a fee came back. By the contract it may with the whole payout; of a part, the provider keeps it. */
function returnToFloat(payout: Payout, fact: FactOf<"Returned">, { at }: FactOrigin): Decision<Payout> {
  const isWhole = payout.feeReturns === true && fact.amount === payout.principal
  const fee = isWhole ? (payout.fees ?? ZERO) : fact.fee
  const next: Payout = {
    ...payout,
    ...visibleChange(payout, at),
    returned: { amount: add(fact.amount, fee), at: fact.at ?? at, reason: fact.note, ...(fee > ZERO ? { fee } : {}) }
  }
  return { next, entry: returnFunds(payout.currency, fact.amount, fee), event: "payout.returned" }
}

function hasOtherFigures(payout: Payout, fact: FactOf<"Succeeded">): boolean {
  return differs(fact, payout.principal, payout.currency) || deliversOther(payout, fact)
}

/** The tenant was answered with the quoted amount, and its recipient waits for it. */
function deliversOther({ destinationAmount, destinationCurrency }: Payout, { exchanged }: FactOf<"Succeeded">): boolean {
  return exchanged !== undefined && (exchanged.currency !== destinationCurrency || isFar(exchanged.amount, destinationAmount))
}

function contradictsRecord(payout: Payout, fact: FactOf<"Succeeded">): boolean {
  return personRuledFailed(payout) || hasOtherFigures(payout, fact)
}

function cameBack({ returned }: Payout): boolean {
  return returned !== null
}

/**
 * This return is the one that was booked. Of a payout of 10,000 with a fee of 1,000 at most 11,000 can come back:
 *
 * - 11,000 was booked: any report up to 11,000 is the same money.
 * - 4,000 was booked: a report of 4,000 at the same time is the same return. At another time it may be a second part, so it is not.
 * - 6,000 was booked: a report of 6,000 is the same return at any time, because 12,000 cannot come back.
 */
function isReturnBooked({ fees, principal, returned }: Payout, fact: FactOf<"Returned">): boolean {
  if (returned === null) return false
  const [back, whole] = [fact.amount + fact.fee, principal + (fees ?? ZERO)]
  if (returned.amount >= whole) return back <= whole
  return back === returned.amount && (fact.at === returned.at || returned.amount + back > whole)
}

/** A return is booked only once, within what was paid out: several partial returns, and one of nothing, are left to a person. */
function isOddReturn({ currency, fees, principal, returned }: Payout, fact: FactOf<"Returned">): boolean {
  const isForeign = fact.currency !== null && fact.currency !== currency
  const isBeyond = fact.amount > principal || fact.fee > (fees ?? ZERO)
  return returned !== null || isForeign || isBeyond || fact.amount === ZERO
}
