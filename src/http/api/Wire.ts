import { Schema } from "effect"
import { CorridorKey } from "../../domain/Corridor.ts"
import { Currency } from "../../domain/Currency.ts"
import { AmountType, Failure } from "../../domain/Transaction.ts"

// Wire schemas that several resources share. Their members are the contract's own names; amounts are JSON integers.

/** A text that is not blank, at most `longest` characters. */
export const text = (longest: number) =>
  Schema.String.check(
    Schema.isPattern(/\S/u, { expected: "a text that is not blank" }),
    Schema.isMaxLength(longest, { expected: `at most ${longest} characters long` })
  )

/** An amount in a request: a positive number of the smallest unit, exact as a JSON number. */
const askable = { expected: `a whole number from 1 to ${Number.MAX_SAFE_INTEGER}` }
export const AskedAmount = Schema.Number.check(
  Schema.isInt(askable),
  Schema.isBetween({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }, askable)
)

export const Amount = Schema.Number.check(Schema.isInt(), Schema.isBetween({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER }))

export const Narration = text(140)
/** An object of at most 4096 bytes as compact UTF-8 JSON. */
export const Metadata = Schema.Record(Schema.String, Schema.Unknown).annotate({
  description: "At most 4096 bytes as compact UTF-8 JSON; echoed as it came"
})
export const MAXIMUM_METADATA_BYTES = 4096

const URL_LONGEST = 2048
export const WebUrl = Schema.String.check(
  Schema.isMaxLength(URL_LONGEST, { expected: `at most ${URL_LONGEST} characters long` }),
  Schema.makeFilter((url: string) => /^https?:\/\//.test(url) && URL.canParse(url), { expected: "an http or https URL" })
)

/** The response of an endpoint that succeeds. */
export const Enveloped = <S extends Schema.Top>(data: S) =>
  Schema.Struct({ code: Schema.Number, message: Schema.Literal("ok"), data })

const Timestamp = Schema.String
const NextAction = Schema.Union([
  Schema.Struct({ type: Schema.Literal("otp"), pin_id: Schema.String, message: Schema.String, expires_at: Timestamp }),
  Schema.Struct({ type: Schema.Literal("redirect"), redirect_url: Schema.String, message: Schema.String, expires_at: Timestamp })
])

const head = {
  id: Schema.String,
  reference: Schema.String,
  provider: Schema.String,
  needs_review: Schema.Boolean,
  amount_minor: Amount,
  amount_currency: Currency,
  currency: Currency,
  fees_minor: Schema.NullOr(Amount)
}
const tail = {
  corridor: CorridorKey,
  network: Schema.NullOr(Schema.String),
  narration: Schema.NullOr(Schema.String),
  metadata: Metadata,
  version: Schema.Number,
  is_test_mode: Schema.Boolean,
  failure: Schema.NullOr(Failure),
  created_at: Timestamp,
  updated_at: Timestamp,
  completed_at: Schema.NullOr(Timestamp),
  expires_at: Schema.NullOr(Timestamp)
}

/** A collection as every tenant read shows it (contract TXN-1). */
export const CollectionRecord = Schema.Struct({
  ...head,
  kind: Schema.Literal("collection"),
  status: Schema.Literals(["requires_action", "pending", "successful", "failed", "expired"]),
  observed_amount_minor: Schema.NullOr(Amount),
  observed_currency: Schema.NullOr(Currency),
  masked_source: Schema.NullOr(Schema.String),
  next_action: Schema.NullOr(NextAction),
  late_success: Schema.Boolean,
  ...tail
})

/** A payout as every tenant read shows it. */
export const PayoutRecord = Schema.Struct({
  ...head,
  kind: Schema.Literal("payout"),
  status: Schema.Literals(["pending", "successful", "failed"]),
  total_amount_minor: Amount,
  destination_amount_minor: Amount,
  destination_currency: Currency,
  amount_type: Schema.NullOr(AmountType),
  deduct_fee_from_amount: Schema.Boolean,
  masked_destination: Schema.String,
  returned: Schema.NullOr(Schema.Struct({ amount_minor: Amount, at: Timestamp, reason: Schema.String })),
  ...tail
})

export const TransactionRecord = Schema.Union([CollectionRecord, PayoutRecord])
