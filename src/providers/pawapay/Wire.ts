import { Schema } from "effect"
import type { Reference } from "../../domain/Ids.ts"
import { uuidOf } from "../ReferenceId.ts"
import { Amount, nullable, Text } from "../WireNumber.ts"

// The parts of pawaPay's HTTP bodies that the gateway uses, shared by the adapter and the simulator. Amounts are decimal
// strings in major units. Members that are not named here are ignored.

const FailureReason = Schema.Struct({ failureCode: Schema.String, failureMessage: nullable(Schema.String) })

// The other party of the payment. `provider` names both the network and its country.
const Account = Schema.Struct({
  type: Schema.Literal("MMO"),
  accountDetails: Schema.Struct({ provider: Schema.String, phoneNumber: Schema.String })
})

const ShownAccount = Schema.Struct({ accountDetails: nullable(Schema.Struct({ phoneNumber: nullable(Schema.String) })) })

const request = {
  amount: Schema.String,
  currency: Schema.String,
  clientReferenceId: Schema.optionalKey(Schema.String),
  /** 4 to 22 letters, digits and spaces. */
  customerMessage: Schema.optionalKey(Schema.String),
  metadata: Schema.optionalKey(Schema.Array(Schema.Record(Schema.String, Schema.Unknown)))
}

// POST /deposits. The identifier is a UUID v4 of ours; a repeated one is ignored.
export const DepositRequest = Schema.Struct({
  depositId: Schema.String,
  ...request,
  payer: Account,
  preAuthorisationCode: Schema.optionalKey(Schema.String)
})
export type DepositRequest = typeof DepositRequest.Type

// POST /payouts
export const PayoutRequest = Schema.Struct({ payoutId: Schema.String, ...request, recipient: Account })
export type PayoutRequest = typeof PayoutRequest.Type

const ids = { depositId: nullable(Schema.String), payoutId: nullable(Schema.String) }

// The response to both, 200 even for a business refusal; the identifier may then be null. pawaPay's errors have no status.
export const InitiationAnswer = Schema.Struct({
  ...ids,
  status: Schema.optionalKey(Schema.String),
  created: Schema.optionalKey(Schema.String),
  failureReason: nullable(FailureReason)
})

/** One payment: in the `data` of GET /deposits/{id} and GET /payouts/{id}, and as the body of a callback. */
export const Payment = Schema.Struct({
  ...ids,
  status: Schema.String,
  amount: Schema.optionalKey(Amount),
  currency: Schema.optionalKey(Schema.String),
  country: nullable(Schema.String),
  clientReferenceId: nullable(Text),
  recipient: nullable(ShownAccount),
  payer: nullable(ShownAccount),
  failureReason: nullable(FailureReason),
  created: Schema.optionalKey(Schema.String),
  /** The operator's number of the payment, read if it is one. */
  providerTransactionId: Schema.optionalKey(Schema.Unknown)
})
export type Payment = typeof Payment.Type

// NOT_FOUND comes with 200 and without data.
export const StatusAnswer = Schema.Struct({ status: Schema.String, data: nullable(Payment) })

// GET /wallet-balances
export const BalancesAnswer = Schema.Struct({
  balances: Schema.Array(Schema.Unknown)
})
export const Wallet = Schema.Struct({ country: Schema.String, balance: Amount, currency: Schema.String })

// POST /statements returns pawaPay's handle; the file is created afterwards.
export const StatementRequest = Schema.Struct({
  wallet: Schema.Struct({
    country: Schema.String,
    currency: Schema.String,
    provider: Schema.optionalKey(Schema.String)
  }),
  callbackUrl: Schema.String,
  /** In whole seconds of UTC, without a zone. */
  startDate: Schema.String,
  endDate: Schema.String,
  compressed: Schema.optionalKey(Schema.Boolean)
})
export const StatementAccepted = Schema.Struct({
  statementId: nullable(Schema.String),
  status: Schema.optionalKey(Schema.String),
  failureReason: nullable(FailureReason)
})

// GET /statements/{id}. `downloadUrl` opens the file without authentication, for a day.
export const StatementAnswer = Schema.Struct({
  status: Schema.String,
  data: nullable(
    Schema.Struct({ status: Schema.String, downloadUrl: nullable(Schema.String), failureReason: nullable(FailureReason) })
  )
})
/** The part of a row of GET /wallet-balances that names the wallet. */
export const StatementWallet = Schema.Struct({
  country: Schema.String,
  currency: Schema.String,
  provider: nullable(Schema.String)
})

// GET /active-conf. `operationTypes` is a record by operation, or a list whose rows name their operation or are such records.
const ByOperation = Schema.Record(Schema.String, Schema.Unknown)
const OperationTypes = Schema.Union([ByOperation, Schema.Array(ByOperation)])
export const ActiveConfAnswer = Schema.Struct({ countries: Schema.Array(Schema.Unknown) })
/** One of the operations, in either form; each member is parsed separately. */
export const ActiveOperation = Schema.Struct({
  status: Schema.optionalKey(Schema.Unknown),
  minAmount: Schema.optionalKey(Schema.Unknown),
  maxAmount: Schema.optionalKey(Schema.Unknown),
  minTransactionLimit: Schema.optionalKey(Schema.Unknown),
  maxTransactionLimit: Schema.optionalKey(Schema.Unknown),
  decimalsInAmount: Schema.optionalKey(Schema.Unknown)
})
export const ActiveCountry = Schema.Struct({
  country: Schema.String,
  prefix: Schema.optionalKey(Text),
  displayName: nullable(Schema.Record(Schema.String, Schema.String)),
  providers: Schema.Array(
    Schema.Struct({
      provider: Schema.String,
      currencies: Schema.Array(Schema.Struct({ currency: Schema.String, operationTypes: OperationTypes }))
    })
  )
})

// GET /public-key/http: the keys for verifying callbacks.
export const PublicKeysAnswer = Schema.Array(Schema.Unknown)
export const PublicKey = Schema.Struct({ id: Schema.String, key: Schema.String })

// POST /predict-provider
export const PredictRequest = Schema.Struct({ phoneNumber: Schema.String })

/** pawaPay requires a UUID v4 of ours. */
export const paymentId = (reference: Reference): string => uuidOf(`pawapay/${reference}`)
