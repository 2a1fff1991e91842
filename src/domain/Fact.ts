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

/** Why a payout or charge was refused: by the other side, by our shared pool, by a limit, by our own configuration, or else. */
export const RefusalKind = Schema.Literals(["party", "pool", "limit", "config", "other"])
export type RefusalKind = typeof RefusalKind.Type

/**
 * A fact about one transaction. Its source is the answer to the request, a poll (for a callback or by the schedule), or a person. `Unknown`
 * is a fact too: the outcome is unknown.
 */
export const Fact = Schema.TaggedUnion({
  /** The provider took it and works on it; `observed` is its echo of what it will charge. */
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
  /** The provider did not take the code: nothing was placed, and the payer may say another one until `expiresAt`. */
  WrongCode: {
    pinId: Schema.String,
    message: Schema.String,
    expiresAt: Instant,
    attemptsRemaining: Schema.Number.check(Schema.isInt()),
    note
  },
  /** The provider took a code, or may have: a charge may have been placed, and the payer has until `expiresAt` to finish it. */
  Charged: { expiresAt: Instant, note },
  /**
   * Money moved: `amount` without fees, `fee` where the provider named it, both in `currency`. `exchanged` is what an exchange brought,
   * floored to its currency, with the provider's own figure; without it the quoted amount stands.
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
  /**
   * A definite refusal or failure: nothing moved and nothing will. `isUnsure`: by the provider's documents it is to be looked at once more, some time later,
   * and only then.
   */
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
   * Provably never left for the provider before, and goes to this one now, with this account of it; `fee` is what this one quoted, or of
   * a charge what its contract says; null where its answers name that.
   */
  Rerouted: {
    provider: Schema.String,
    ...sentWithAccount,
    fee: Schema.NullOr(MinorUnits),
    feeReturns: Schema.optionalKey(Schema.Literal(true)),
    note
  },
  /**
   * Sent, and no answer that can be believed. `reason` chooses the code that the tenant sees; `providerReference` is there where an answer
   * names ours, and only its figures cannot be believed.
   */
  Unknown: {
    reason: Schema.Literals(["timeout", "unavailable", "bad_response"]),
    providerReference: Schema.optionalKey(providerReference),
    note
  },
  /**
   * Asked, and still under way. `isUnfinished`: the payer has not done their part, and still may; nothing moved until then. `isDoubted`: the provider says
   * that it failed, which is believed when it says so once more. `payableUntil`: its payer may pay it until then, and nobody can end it before.
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
   * The provider has our reference for another party: its key was used before, for another request, and a restore made us forget that one.
   * Whatever the provider says by this reference is said of the other one.
   */
  Mismatched: { note },
  /** Asked, and the provider has nothing by our reference. Proves nothing by itself. */
  NotFound: { note },
  /** The window passed and an authenticated query said neither success nor live. */
  Expired: { note },
  /**
   * Delivered, and then sent back: `amount` of `currency` came back until now, with the fee only where `fee` says so. `charged` is the
   * fee that the delivery cost, where the provider names it; `at` is null where the provider does not say when.
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
   * A dispute of a collection, or a refund that was made at the provider. `open`: the claim is made, and no money moved yet; `taken`: it
   * was taken back; `kept`: it ended, and nothing was taken. `unknown`: the gateway does not know the provider's word, which `reason` has.
   * `id` is the provider's. Null stands for a figure that the provider does not give. `answerBy` is the time limit to answer a dispute.
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
  /** A row of the provider's statement names this fee for what is booked with another one; `note` says which row. */
  FeeStated: { fee: MinorUnits, note }
})
export type Fact = typeof Fact.Type

/**
 * The source of a fact, kept in the history. `reconciler` is the poller, by the schedule; `operator` a person who had the provider asked.
 */
export const Actor = Schema.Literals(["request", "callback", "reconciler", "review", "operator"])
export type Actor = typeof Actor.Type
