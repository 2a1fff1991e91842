import { Schema } from "effect"
import { isReference, type Reference } from "../../domain/Ids.ts"
import { Amount, nullable, Text } from "../WireNumber.ts"

// The parts of Paystack's HTTP bodies that the gateway uses, shared by the adapter and the simulator. Amounts are hundredths of
// every currency (Amounts.ts). Members that are not named here are ignored.

/** The envelope of every response that is not a refusal. */
const envelope = <S extends Schema.Constraint>(data: S) =>
  Schema.Struct({ status: Schema.Literal(true), message: nullable(Schema.String), data })

/** Every refusal. Not all have a `code`. */
export const ErrorAnswer = Schema.Struct({
  status: Schema.Literal(false),
  message: nullable(Schema.String),
  type: nullable(Schema.String),
  code: nullable(Schema.String)
})

/** An amount in hundredths in a request: a JSON integer, or its digits as a string. */
const RequestAmount = Text.check(Schema.isPattern(/^[1-9]\d{0,17}$/))

// POST /charge
export const ChargeRequest = Schema.Struct({
  email: Schema.String,
  amount: RequestAmount,
  currency: Schema.optionalKey(Schema.String),
  reference: Schema.optionalKey(Schema.String),
  mobile_money: Schema.Struct({ phone: Schema.String, provider: Schema.String })
})
/** For POST /charge, POST /charge/submit_otp and GET /charge/{reference}. Some statuses lack `amount`, `fees` or `id`. */
export const ChargeAnswer = envelope(
  Schema.Struct({
    reference: Schema.String,
    status: Schema.String,
    id: nullable(Text),
    amount: nullable(Amount),
    currency: nullable(Schema.String),
    fees: nullable(Amount),
    url: nullable(Schema.String),
    display_text: nullable(Schema.String)
  })
)
export const SubmitOtpRequest = Schema.Struct({ otp: Schema.String, reference: Schema.String })

const CreatedAt = { created_at: nullable(Schema.String), createdAt: nullable(Schema.String) }

/** `amount` is what the payer paid; `fees` are deducted from it. */
export const Transaction = Schema.Struct({
  id: Text,
  reference: Schema.String,
  status: Schema.String,
  amount: Amount,
  currency: Schema.String,
  fees: nullable(Amount),
  ...CreatedAt
})
// GET /transaction/verify/{reference}. Unknown: 404, or 400 with the code transaction_not_found.
export const TransactionAnswer = envelope(Transaction)
// GET /transaction?from&to&perPage&page, newest first.
export const TransactionsAnswer = envelope(Schema.Array(Schema.Unknown))

// POST /transferrecipient: one account is one recipient, however often it is created. Moves no money.
export const RecipientRequest = Schema.Struct({
  type: Schema.String,
  name: Schema.String,
  account_number: Schema.String,
  bank_code: Schema.String,
  currency: Schema.optionalKey(Schema.String)
})
export const RecipientAnswer = envelope(Schema.Struct({ recipient_code: Schema.NonEmptyString }))

// POST /transfer. `reference`: 16 to 50 characters of a-z, 0-9, _ and -.
export const TransferRequest = Schema.Struct({
  source: Schema.Literal("balance"),
  amount: RequestAmount,
  recipient: Schema.String,
  reference: Schema.optionalKey(Schema.String),
  reason: nullable(Schema.String),
  currency: Schema.optionalKey(Schema.String)
})
/** `amount` is what the recipient gets; `fee_charged` is added to it and is missing in the response to the transfer itself. */
export const Transfer = Schema.Struct({
  transfer_code: Schema.NonEmptyString,
  reference: Schema.String,
  status: Schema.String,
  amount: Amount,
  currency: Schema.String,
  fee_charged: nullable(Amount),
  // In the response to the transfer itself this is only a number.
  recipient: nullable(
    Schema.Union([Schema.Struct({ details: nullable(Schema.Struct({ account_number: nullable(Text) })) }), Text])
  ),
  /** For a bank transfer: the interbank network and its number of the transfer, read if present. */
  session: Schema.optionalKey(Schema.Unknown),
  ...CreatedAt,
  updated_at: nullable(Schema.String),
  updatedAt: nullable(Schema.String)
})
// POST /transfer, and GET /transfer/verify/{reference}. Unknown: 404.
export const TransferAnswer = envelope(Transfer)
// GET /transfer?from&to&perPage&page, newest first.
export const TransfersAnswer = envelope(Schema.Array(Schema.Unknown))
/** A row of it. Not every list shows our reference. */
export const ListedTransfer = Schema.Struct({ ...Transfer.fields, reference: nullable(Schema.String) })

const ChargeNamed = Schema.Struct({ reference: nullable(Text), id: nullable(Text) })

// GET /dispute?from&to&perPage&page&transaction. `refund_amount` is the disputed amount; `resolution` exists once resolved.
export const Dispute = Schema.Struct({
  id: Text,
  refund_amount: nullable(Amount),
  currency: nullable(Schema.String),
  status: Schema.String,
  resolution: nullable(Schema.String),
  category: nullable(Schema.String),
  dueAt: nullable(Schema.String),
  transaction: nullable(ChargeNamed)
})
// GET /refund?from&to&perPage&page&transaction. The charge is given by its number, or named beside it.
export const Refund = Schema.Struct({
  id: Text,
  amount: nullable(Amount),
  currency: nullable(Schema.String),
  status: Schema.String,
  merchant_note: nullable(Schema.String),
  transaction: nullable(Schema.Union([ChargeNamed, Text])),
  transaction_reference: nullable(Text)
})
export const ClawbacksAnswer = envelope(Schema.Array(Schema.Unknown))

// GET /balance
export const BalanceAnswer = envelope(Schema.Array(Schema.Unknown))
export const Balance = Schema.Struct({ currency: Schema.String, balance: Amount })

// GET /bank?country&currency&perPage&use_cursor=true&next
export const BanksAnswer = Schema.Struct({
  ...envelope(Schema.Array(Schema.Unknown)).fields,
  meta: nullable(Schema.Struct({ next: nullable(Schema.String) }))
})
export const Bank = Schema.Struct({
  name: Schema.String,
  code: Schema.NonEmptyString,
  type: nullable(Schema.String),
  active: nullable(Schema.Boolean),
  is_deleted: nullable(Schema.Boolean),
  supports_transfer: nullable(Schema.Boolean)
})

// GET /bank/resolve?account_number&bank_code, in Nigeria and Ghana.
export const ResolveAnswer = envelope(Schema.Struct({ account_name: Schema.String.check(Schema.isPattern(/\S/)) }))

// GET /country
export const CountriesAnswer = envelope(Schema.Array(Schema.Unknown))
export const Country = Schema.Struct({ iso_code: Schema.String, name: Schema.String, calling_code: nullable(Text) })

/** The callback. A refund and a dispute name their charge; their own `id` is not a charge's. */
export const CallbackBody = Schema.Struct({
  event: Schema.optionalKey(Schema.String),
  data: Schema.optionalKey(
    Schema.Struct({
      reference: nullable(Text),
      transaction_reference: nullable(Text),
      transaction: nullable(Schema.Union([Schema.Struct({ reference: nullable(Text), id: nullable(Text) }), Text])),
      transfer_code: nullable(Schema.String),
      id: nullable(Text)
    })
  )
})

// A transfer's reference may have no capital letters: ours is sent in lower case, for charges as well.

export const wireReference = (reference: Reference): string => reference.toLowerCase()

/** Our reference, if it is one. */
export const ownReference = (wire: string): Reference | null => {
  const upper = wire.toUpperCase()
  return wire === wire.toLowerCase() && isReference(upper) ? upper : null
}
