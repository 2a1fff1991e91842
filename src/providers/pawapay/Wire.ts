import { Schema } from "effect"
import type { Reference } from "../../domain/Ids.ts"
import { uuidOf } from "../ReferenceId.ts"
import { Amount, nullable, Text } from "../WireNumber.ts"

// pawaPay's HTTP bodies, as far as the gateway uses them: shared by the adapter and the simulator. Amounts are decimal strings in major
// units; members that are not named here are ignored.

const FailureReason = Schema.Struct({ failureCode: Schema.String, failureMessage: nullable(Schema.String) })

// The other side of the payment. `provider` names the network and its country together.
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

// POST /deposits. The identifier is a UUID v4 of ours, and the same one again is ignored.
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

// Both are answered so, with 200 for a business refusal too; the identifier may then be null. An error of theirs has no status.
export const InitiationAnswer = Schema.Struct({
  ...ids,
  status: Schema.optionalKey(Schema.String),
  created: Schema.optionalKey(Schema.String),
  failureReason: nullable(FailureReason)
})

/** One payment, as GET /deposits/{id} and GET /payouts/{id} wrap it, and as a callback carries it. */
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
  /** The operator's number of it, read where it is one. */
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

// POST /statements: the handle is pawaPay's. The file is made afterwards.
export const StatementRequest = Schema.Struct({
  wallet: Schema.Struct({
    country: Schema.String,
    currency: Schema.String,
    provider: Schema.optionalKey(Schema.String)
  }),
  callbackUrl: Schema.String,
  /** To the second, in UTC, without saying so. */
  startDate: Schema.String,
  endDate: Schema.String,
  compressed: Schema.optionalKey(Schema.Boolean)
})
export const StatementAccepted = Schema.Struct({
  statementId: nullable(Schema.String),
  status: Schema.optionalKey(Schema.String),
  failureReason: nullable(FailureReason)
})

// GET /statements/{id}. `downloadUrl` opens the file by itself, for a day.
export const StatementAnswer = Schema.Struct({
  status: Schema.String,
  data: nullable(
    Schema.Struct({ status: Schema.String, downloadUrl: nullable(Schema.String), failureReason: nullable(FailureReason) })
  )
})
/** A row of GET /wallet-balances, as far as it names the wallet. */
export const StatementWallet = Schema.Struct({
  country: Schema.String,
  currency: Schema.String,
  provider: nullable(Schema.String)
})

// GET /active-conf. `operationTypes` is a record by operation; in other forms a list, of which a row names its operation or is such a record.
const ByOperation = Schema.Record(Schema.String, Schema.Unknown)
const OperationTypes = Schema.Union([ByOperation, Schema.Array(ByOperation)])
export const ActiveConfAnswer = Schema.Struct({ countries: Schema.Array(Schema.Unknown) })
/** One of the operations, in both forms; each member is read by itself. */
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

// GET /public-key/http: what callbacks are signed with.
export const PublicKeysAnswer = Schema.Array(Schema.Unknown)
export const PublicKey = Schema.Struct({ id: Schema.String, key: Schema.String })

// POST /predict-provider
export const PredictRequest = Schema.Struct({ phoneNumber: Schema.String })

/** pawaPay wants a UUID v4 of ours. */
export const paymentId = (reference: Reference): string => uuidOf(`pawapay/${reference}`)
