import { Clock, Effect, Option } from "effect"
import type { Currency } from "../../domain/Currency.ts"
import { RequestInProgress } from "../../domain/errors/Retriable.ts"
import { invalid } from "../../domain/errors/Terminal.ts"
import { isReference } from "../../domain/Ids.ts"
import type { MinorUnits } from "../../domain/Money.ts"
import type { Destination } from "../../domain/Party.ts"
import { numberOf } from "../../domain/PartyIdentity.ts"
import { leftToRefund, REFUNDS_AT_MOST, type RefundableCollection, refundableUntil, refundFence } from "../../domain/Refund.ts"
import type { Caller } from "../../domain/Tenant.ts"
import type { WindowUse } from "../../domain/VelocityLimits.ts"
import type { OpenResult } from "../NewRecord.ts"
import { Transactions } from "../ports/Transactions.ts"
import { Vault } from "../ports/Vault.ts"

/** The members that make a payout a refund, and its recipient. */
export interface RefundTerms {
  /** The refunded collection; absent when it is not a refund. Any text may be given. */
  readonly refundOf?: string
  readonly destination: Destination
  readonly currency: Currency
  readonly destinationCurrency: Currency
}

/** Each further decision means that another refund of the same collection was opened between our read and our commit. */
const DECISIONS_AT_MOST = 16

/**
 * Refunds of a collection by payout (contract PAY-45 to PAY-47): only to its payer, and in total no more than it yielded. The
 * remaining amount is read first. The commit that opens the payout refuses when another refund was decided since
 * (`refundFence`); then it is read and decided again.
 */
export const refundGuard = Effect.gen(function* () {
  const transactions = yield* Transactions
  const vault = yield* Vault

  /** The collection, if this amount of it may be refunded to this destination. */
  const admit = Effect.fnUntraced(function* (caller: Caller, terms: RefundTerms, refundOf: string, amount: bigint) {
    const found = isReference(refundOf)
      ? yield* transactions.refundable(caller.appId, caller.mode, refundOf)
      : Option.none<RefundableCollection>()
    const issue = Option.match(found, {
      onNone: () => IS_NO_COLLECTION,
      onSome: (refundable) => issueOf(refundable, terms, vault.hash, amount)
    })
    if (issue !== null || Option.isNone(found)) return yield* refused(issue ?? IS_NO_COLLECTION)
    if (refundableUntil(found.value.collection) <= (yield* Clock.currentTimeMillis)) return yield* refused(IS_TOO_OLD)
    return found.value
  })

  return {
    /** Refuses before any provider is called what the commit would refuse. `least`: a lower bound of the amount to send. */
    requireRefundable: ({ caller, terms, least }: { caller: Caller; terms: RefundTerms; least: bigint }) =>
      terms.refundOf === undefined ? Effect.void : Effect.asVoid(admit(caller, terms, terms.refundOf, least)),

    /** Opens the payout; a refund only if no other refund of its collection was decided in between. */
    openWithin: Effect.fnUntraced(function* <E>(
      { caller, principal, terms }: { caller: Caller; terms: RefundTerms; principal: MinorUnits },
      counters: ReadonlyArray<WindowUse>,
      open: (counters: ReadonlyArray<WindowUse>) => Effect.Effect<OpenResult, E>
    ) {
      if (terms.refundOf === undefined) return yield* open(counters)
      for (let decisions = 0; decisions < DECISIONS_AT_MOST; decisions++) {
        const refundable = yield* admit(caller, terms, terms.refundOf, principal)
        const opened = yield* open([...counters, refundFence(refundable)])
        // Over a cap of the tenant's, and not over the fence, which comes last.
        if (opened._tag !== "OverCap" || opened.counter < counters.length) return opened
      }
      return yield* new RequestInProgress({})
    })
  }
})

/** The first rule that a refund of this amount breaks; null when it breaks none. */
const issueOf = (
  refundable: RefundableCollection,
  { currency, destination, destinationCurrency }: RefundTerms,
  hash: Vault["Service"]["hash"],
  amount: bigint
): string | null => {
  const { collection, partyHash, refunds } = refundable
  if (collection.status !== "successful") return "must be of a collection that is successful"
  if (currency !== collection.currency || destinationCurrency !== collection.currency)
    return `must be of a collection in the payout's currencies: it is in ${collection.currency}`
  if (partyHash === null) return IS_UNKNOWN
  const number = numberOf(destination)
  if (number === null || !Buffer.from(partyHash).equals(hash("party", number)))
    return "must be of a collection whose payer is the destination"
  if (collection.needsReview) return "is of a collection that a person looks at: ask again with a new key when its case is closed"
  if (refunds >= BigInt(REFUNDS_AT_MOST)) return `must have at most ${REFUNDS_AT_MOST} payouts that refund it`
  const left = leftToRefund(refundable)
  return amount <= left ? null : `must bring back no more than is left of it: ${left} minor ${collection.currency}`
}

const refused = (message: string) => Effect.fail(invalid("refund_of", message))

/** The same for one that does not exist and one of another tenant. */
const IS_NO_COLLECTION = "must be the reference of a collection of yours, in this key's mode"
const IS_TOO_OLD = "is of a collection of more than 90 days ago: its payer is not known any more"
const IS_UNKNOWN = "is of a collection whose payer's number is not known, or not any more"
