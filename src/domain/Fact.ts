import { Schema } from "effect"
import { Currency } from "./Currency.ts"
import { Instant } from "./Instant.ts"
import { MinorUnits } from "./Money.ts"
import { Failure, sentWithAccount } from "./Payment.ts"

const providerReference = Schema.NullOr(Schema.String)
/** The provider's own words, for the history; never a number or a name. */
const note = Schema.String
/** The number by which the payer or recipient knows the payment (`ProviderReceipt`); absent where the answer has none. */
const receipt = Schema.optionalKey(Schema.String)

/** Why a payout or a charge was refused: the other party, our shared pool, a limit, our own configuration, or something else. */
export const RefusalKind = Schema.Literals(["party", "pool", "limit", "config", "other"])
export type RefusalKind = typeof RefusalKind.Type

/**
 * A fact about one transaction. It comes from the answer to the request, from a poll (scheduled, or triggered by a callback),
 * or from a person. `Unknown` is a fact too: the outcome is unknown.
 */
export const Fact = Schema.TaggedUnion({
  /** The provider accepted it and is working on it. `observed` is the provider's echo of what it will charge. */
  Accepted: {
    providerReference,
    receipt,
    observedAmount: Schema.NullOr(MinorUnits),
    observedCurrency: Schema.NullOr(Currency),
    note
  },
  /** The payer has to finish on a page of the provider. */
  NeedsRedirect: {
    providerReference,
    redirectUrl: Schema.String,
    observedAmount: Schema.NullOr(MinorUnits),
    observedCurrency: Schema.NullOr(Currency),
    note
  },
  /** A code was sent to the payer; nothing was charged yet. */
  CodeSent: { note },
  /** The provider rejected the code: nothing was placed, and the payer may enter another one until `expiresAt`. */
  WrongCode: {
    pinId: Schema.String,
    message: Schema.String,
    expiresAt: Instant,
    attemptsRemaining: Schema.Number.check(Schema.isInt()),
    note
  },
  /** The provider accepted a code, or may have: a charge may have been placed, and the payer has until `expiresAt` to finish it. */
  Charged: { expiresAt: Instant, note },
  /**
   * Money moved: `amount` without fees, and `fee` where the provider named it, both in `currency`. `exchanged` is the yield of
   * an exchange, or what the recipient of a payout across currencies got, rounded down to its currency, with the provider's own
   * figure; without it the quoted amount stands.
   */
  Succeeded: {
    providerReference,
    receipt,
    amount: Schema.NullOr(MinorUnits),
    currency: Schema.NullOr(Currency),
    fee: Schema.NullOr(MinorUnits),
    exchanged: Schema.optionalKey(Schema.Struct({ amount: MinorUnits, currency: Currency, raw: Schema.String })),
    note
  },
  /** A definite refusal or failure: nothing moved or will. `isUnsure`: the documentation requires one more query later. */
  Refused: {
    providerReference,
    receipt,
    kind: RefusalKind,
    failure: Failure,
    isUnsure: Schema.optionalKey(Schema.Literal(true)),
    note
  },
  /** Provably never left this process. */
  NotSent: { note },
  /**
   * It provably never left for the previous provider, and now goes to this one, with this account. `fee` is what this provider
   * quoted or, for a charge, what its contract states; null where its answers name the fee.
   */
  Rerouted: {
    provider: Schema.String,
    ...sentWithAccount,
    fee: Schema.NullOr(MinorUnits),
    feeReturns: Schema.optionalKey(Schema.Literal(true)),
    note
  },
  /**
   * The request was sent, and there is no answer that can be believed. `reason` determines the code that the tenant sees.
   * `providerReference` is present where the answer is about our transaction and only its figures cannot be believed.
   */
  Unknown: {
    reason: Schema.Literals(["timeout", "unavailable", "bad_response"]),
    providerReference: Schema.optionalKey(providerReference),
    note
  },
  /**
   * The provider was asked, and it is still under way. `isUnfinished`: the payer has not done their part and still may; nothing
   * moved until then. `isDoubted`: the provider reports a failure, which is believed once it is repeated. `payableUntil`: the
   * payer may pay until then, and nothing can end it earlier.
   */
  StillPending: {
    providerReference,
    receipt,
    isUnfinished: Schema.optionalKey(Schema.Literal(true)),
    isDoubted: Schema.optionalKey(Schema.Literal(true)),
    payableUntil: Schema.optionalKey(Instant),
    note
  },
  /**
   * The provider knows our reference for another party: a restore made us forget the request that first used the idempotency
   * key. Every report of the provider under this reference is about that other request.
   */
  Mismatched: { note },
  /** The provider was asked, and has nothing under our reference. By itself this proves nothing. */
  NotFound: { note },
  /** The window passed, and an authenticated query reported neither a success nor an open transaction. */
  Expired: { note },
  /**
   * Delivered and then sent back: so far `amount` of `currency` came back, with the fee only where `fee` says so. `charged` is
   * the fee that the delivery cost, where the provider names it. `at` is null where the provider does not say when.
   */
  Returned: {
    receipt,
    amount: MinorUnits,
    currency: Schema.NullOr(Currency),
    fee: MinorUnits,
    charged: Schema.NullOr(MinorUnits),
    at: Schema.NullOr(Instant),
    note
  },
  /**
   * A dispute of a collection, or a refund that was made at the provider. `open`: the claim was made, and no money has moved
   * yet. `taken`: the money was taken back. `kept`: it ended, and nothing was taken. `unknown`: the gateway does not know the
   * provider's word, which is in `reason`. `id` is the provider's. A figure that the provider does not give is null. `answerBy`
   * is the deadline for answering a dispute.
   */
  Clawback: {
    by: Schema.Literals(["dispute", "refund"]),
    id: Schema.String,
    state: Schema.Literals(["open", "taken", "kept", "unknown"]),
    amount: Schema.NullOr(MinorUnits),
    currency: Currency,
    reason: Schema.NullOr(Schema.String),
    answerBy: Schema.NullOr(Instant),
    note
  },
  /** A row of the provider's statement names this fee for a movement that is booked with another one. `note` says which row. */
  FeeStated: { fee: MinorUnits, note }
})
export type Fact = typeof Fact.Type

/** Who brought a fact. `reconciler` is the scheduled poller; `operator` is a person who had the provider polled. */
export const Actor = Schema.Literals(["request", "callback", "reconciler", "review", "operator"])
export type Actor = typeof Actor.Type
