import { Schema } from "effect"
import { CorridorKey } from "./Corridor.ts"
import { Currency } from "./Currency.ts"
import { AppId, Mode, Reference } from "./Ids.ts"
import { Instant } from "./Instant.ts"
import { MinorUnits, minusOrZero, smaller, ZERO } from "./Money.ts"

export const PayoutStatus = Schema.Literals(["pending", "successful", "failed"]).annotate({
  identifier: "PayoutStatus",
  description: "Where a payout stands. `successful` and `failed` are final"
})
export type PayoutStatus = typeof PayoutStatus.Type

export const CollectionStatus = Schema.Literals(["requires_action", "pending", "successful", "failed", "expired"]).annotate({
  identifier: "CollectionStatus",
  description:
    "Where a collection stands. With `requires_action` the payer has to do something first: see `next_action`. `successful`, `failed` and `expired` are final, but for money that is confirmed late"
})
export type CollectionStatus = typeof CollectionStatus.Type

export const FailureCode = Schema.Literals([
  "insufficient_funds",
  "declined_by_payer",
  "payer_not_found",
  "limit_exceeded",
  "invalid_destination",
  "destination_unavailable",
  "provider_rejected",
  "timed_out",
  "unknown"
]).annotate({
  identifier: "FailureCode",
  description: "Why a transaction failed"
})
export type FailureCode = typeof FailureCode.Type

export const Failure = Schema.Struct({
  code: FailureCode,
  message: Schema.String.annotateKey({ description: "For people; do not match on it" })
}).annotate({
  identifier: "Failure",
  description: "Why a transaction failed"
})
export type Failure = typeof Failure.Type

export const NextAction = Schema.Union([
  Schema.TaggedStruct("otp", { pinId: Schema.String, message: Schema.String, expiresAt: Instant }),
  Schema.TaggedStruct("redirect", { redirectUrl: Schema.String, message: Schema.String, expiresAt: Instant })
])
export type NextAction = typeof NextAction.Type

export const AmountType = Schema.Literals(["SOURCE", "DESTINATION"]).annotate({
  identifier: "AmountType",
  description: "Which side of a payout across currencies is fixed: what you pay, or what the recipient gets"
})
export type AmountType = typeof AmountType.Type

/** Who established the failure: the provider reported it, the gateway found that the request never left, or a person ruled it. */
export const FailedBy = Schema.Literals(["provider", "gateway", "person"])
export type FailedBy = typeof FailedBy.Type

/** A person's last ruling, and the provider's reports that it knew (`Contradiction`). */
export const ReviewRuling = Schema.Struct({
  outcome: Schema.Literals(["successful", "failed"]),
  known: Schema.Array(Schema.String)
})

/** Fields for reviews only, which no tenant sees; absent where they are not needed. */
export const reviewMemory = {
  failedBy: Schema.optionalKey(FailedBy),
  /** The provider's distinct reports since the record was ruled on or closed, including the report that closed it. */
  said: Schema.optionalKey(Schema.Array(Schema.String)),
  /** Those that had arrived when the open case was opened, with the report that opened it; empty where no case is open. */
  saidAtOpening: Schema.optionalKey(Schema.Array(Schema.String)),
  /** The provider has another request of the same key under this reference, and reports on that: only a person ends this. */
  ofAnother: Schema.optionalKey(Schema.Literal(true)),
  /**
   * When the provider first reported a failure that it may still correct, or when a payout was closed as never sent because the
   * provider did not find it. Such a report is believed once it is repeated. The doubt stays until the provider is certain, or
   * a person has ruled. Absent where nothing is in doubt.
   */
  doubtedSince: Schema.optionalKey(Instant),
  /** Null where the provider closed the record after the ruling. */
  ruling: Schema.optionalKey(Schema.NullOr(ReviewRuling)),
  /** The provider's last report of moved money and its fee, where that was not booked but sent to a person. */
  reported: Schema.optionalKey(Schema.Struct({ amount: MinorUnits, fee: MinorUnits }))
}

/** The fingerprint of the provider account that it was sent with; absent in records from before it was stored. */
export const sentWithAccount = { account: Schema.optionalKey(Schema.String) }

const common = {
  reference: Reference,
  appId: AppId,
  mode: Mode,
  provider: Schema.String,
  ...sentWithAccount,
  providerReference: Schema.NullOr(Schema.String),
  /** The number by which the customer knows it; absent where the provider has not named one (`ProviderReceipt`). */
  providerReceipt: Schema.optionalKey(Schema.String),
  needsReview: Schema.Boolean,
  /** In `amountCurrency`, as the tenant requested. */
  amount: MinorUnits,
  amountCurrency: Currency,
  /** The currency of the tenant's float that changes. */
  currency: Currency,
  /** The tenant's debit for the provider's fee, in `currency`; null until known. */
  fees: Schema.NullOr(MinorUnits),
  corridor: CorridorKey,
  network: Schema.NullOr(Schema.String),
  narration: Schema.NullOr(Schema.String),
  /** The compact JSON text of an object, echoed as it was sent. */
  metadata: Schema.String,
  /** 1 when created, incremented by each change that a tenant can see. */
  version: Schema.Number.check(Schema.isInt()),
  failure: Schema.NullOr(Failure),
  createdAt: Instant,
  updatedAt: Instant,
  completedAt: Schema.NullOr(Instant),
  expiresAt: Schema.NullOr(Instant),
  /** How often it was polled since its status last changed, and how often in a row the provider did not find it. */
  asked: Schema.Number.check(Schema.isInt()),
  notFound: Schema.Number.check(Schema.isInt()),
  ...reviewMemory
}

/**
 * The amount that went back after it had been booked: it is credited to the float for a payout, and debited from it for a
 * collection. `fee` is the part of `amount` that is a payout's fee; absent where none came back.
 */
const Returned = Schema.Struct({
  amount: MinorUnits,
  at: Instant,
  reason: Schema.String,
  fee: Schema.optionalKey(MinorUnits)
})

/** Money in. The payer's number is not stored here; only its masked last four digits are. */
export const Collection = Schema.Struct({
  kind: Schema.Literal("collection"),
  status: CollectionStatus,
  ...common,
  /** The booked amount, once the collection is successful, even if it was reversed afterwards. */
  observedAmount: Schema.NullOr(MinorUnits),
  observedCurrency: Schema.NullOr(Currency),
  /** The fee by the contract with its provider when it was opened; absent where the provider's answers name the fee. */
  contractFee: Schema.optionalKey(MinorUnits),
  maskedSource: Schema.NullOr(Schema.String),
  nextAction: Schema.NullOr(NextAction),
  /** A wrong code was entered for it: a failure under its reference may belong to that attempt. Absent where none was. */
  wrongCode: Schema.optionalKey(Schema.Literal(true)),
  /** Until when its payer may pay it, where nothing can end it earlier; absent where only its window limits the payment. */
  payableUntil: Schema.optionalKey(Instant),
  lateSuccess: Schema.Boolean,
  reversed: Schema.NullOr(Returned)
})
export type Collection = typeof Collection.Type

/**
 * The holder of the recipient's account, as the provider gave it before anything was sent. `isNamed`: whether that is the name that the
 * tenant gave; null where it gave none. The name itself is never stored.
 */
export const Holder = Schema.Struct({ maskedName: Schema.String, isNamed: Schema.NullOr(Schema.Boolean) })
export type Holder = typeof Holder.Type

/** Money out of the tenant's float. `principal` and `heldFee` together left `available` when it was opened. */
export const Payout = Schema.Struct({
  kind: Schema.Literal("payout"),
  status: PayoutStatus,
  ...common,
  /** The amount that is sent, in `currency`, without the fee. */
  principal: MinorUnits,
  /** The quoted fee, in `currency`. It is held until the outcome, and a settled payout costs the tenant no more. */
  heldFee: MinorUnits,
  /** The fee that its provider quoted, where another provider than the first has it; absent where that is `heldFee`. */
  quotedFee: Schema.optionalKey(MinorUnits),
  /** The amount that the recipient gets, in `destinationCurrency`. */
  destinationAmount: MinorUnits,
  destinationCurrency: Currency,
  amountType: Schema.NullOr(AmountType),
  deductFeeFromAmount: Schema.Boolean,
  maskedDestination: Schema.String,
  /** Null where the provider did not give it. */
  holder: Schema.NullOr(Holder),
  returned: Schema.NullOr(Returned),
  /** The collection that it refunds; absent where it is no refund. */
  refundOf: Schema.optionalKey(Reference),
  /** The provider's return before a person ruled that everything came back; absent where `returned` is the provider's. */
  returnedBefore: Schema.optionalKey(Schema.NullOr(Returned)),
  /** By the contract with its provider the fee comes back when the whole payout does; absent where the provider keeps it. */
  feeReturns: Schema.optionalKey(Schema.Literal(true))
})
export type Payout = typeof Payout.Type

/** The part of a payout's principal that came back: at most all of it, where the record does not say which part was the fee. */
export const sentBack = ({ principal, returned }: Pick<Payout, "principal" | "returned">): MinorUnits =>
  returned === null ? ZERO : smaller(principal, minusOrZero(returned.amount, returned.fee ?? ZERO))

export const Payment = Schema.Union([Collection, Payout])
export type Payment = typeof Payment.Type
export type PaymentKind = Payment["kind"]

/** It failed or expired, and its provider contradicts that: a person has to establish whether money moved. */
export const isFailureContested = ({
  needsReview,
  status
}: {
  readonly needsReview: boolean
  readonly status: Payment["status"]
}): boolean => needsReview && (status === "failed" || status === "expired")

/** Nothing more is expected to happen to it. A late fact can still open a review or credit a late collection. */
export const isTerminal = ({ status }: { readonly status: Payment["status"] }): boolean =>
  status !== "pending" && status !== "requires_action"
