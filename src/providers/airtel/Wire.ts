import { Schema } from "effect"
import type { Reference } from "../../domain/Ids.ts"
import type { PaymentKind } from "../../domain/Payment.ts"
import { uuidOf } from "../ReferenceId.ts"
import { Amount, nullable, Text } from "../WireNumber.ts"

// Airtel's HTTP bodies, as far as the gateway uses them, for adapter and simulator. Amounts are JSON numbers in major units.

/** The form of a disbursement. It is agreed for each country's application. */
export type Version = "v1" | "v2" | "v3"

export const TOKEN_PATH = "/auth/oauth2/token"
/** The public key for signing bodies. */
export const KEYS_PATH = "/v1/rsa/encryption-keys"
export const BALANCE_PATH = "/standard/v1/users/balance"
export const SUMMARY_PATH = "/merchant/v1/transactions"
/** GET: the holder of a wallet, by national number. */
export const holderPath = (number: string): string => `/standard/v1/users/${number}`

/** How the calls for one country are written. */
export interface Dialect {
  readonly version: Version
  readonly isSigned: boolean
}

/** POST moves money. The second version of collections is the signed one. */
export const moneyPath = (kind: PaymentKind, { isSigned, version }: Dialect): string =>
  kind === "collection"
    ? `/merchant/${isSigned ? "v2" : "v1"}/payments/`
    : `/standard/${version}/disbursements${version === "v3" ? "" : "/"}`

/** GET returns the status, by our id. */
export const statusPath = (kind: PaymentKind, { version }: Pick<Dialect, "version">, id: string): string =>
  kind === "collection"
    ? `/standard/v1/payments/${id}`
    : `/standard/${version}/disbursements/${id}${version === "v2" ? "?transactionType=B2C" : ""}`

/** Our `transaction.id`: 32 hexadecimal digits, without dashes, which some countries refuse. */
export const wireId = (reference: Reference): string => uuidOf(`airtel:${reference}`).replaceAll("-", "")

// POST /auth/oauth2/token answers in OAuth's form.
/** The token was rejected: nothing was executed. */
export const TokenRefusal = Schema.Struct({ error: Schema.Literals(["invalid_token", "invalid_client"]) })

const Key = Schema.Struct({ key: Schema.NonEmptyString })
/** GET /v1/rsa/encryption-keys: one country's host omits the surrounding `data`. */
export const KeyAnswer = Schema.Union([Schema.Struct({ data: Key }), Key])

/** The outer part of every response. A refusal with HTTP 200 appears only here. */
export const Status = Schema.Struct({ response_code: nullable(Text), result_code: nullable(Text), code: nullable(Text) })

// `id` is `false` in a refusal.
const Transaction = Schema.Struct({
  id: nullable(Schema.Union([Text, Schema.Boolean])),
  status: nullable(Schema.String),
  airtel_money_id: Schema.optionalKey(Schema.Unknown),
  reference_id: Schema.optionalKey(Schema.Unknown)
})

/** The response to a POST that moves money, and to a GET of its status. */
export const MovementAnswer = Schema.Struct({
  data: nullable(Schema.Struct({ transaction: nullable(Transaction) })),
  status: Status
})

// GET /standard/v1/users/balance
export const BalanceAnswer = Schema.Struct({ data: Schema.Struct({ balance: Text, currency: Schema.String }) })

// GET /standard/v1/users/{number}
export const HolderAnswer = Schema.Struct({
  data: nullable(Schema.Struct({ first_name: nullable(Schema.String), last_name: nullable(Schema.String) })),
  status: Status
})

/** The body of a callback. `hash` is present only if the application authenticates its callbacks. */
export const CallbackBody = Schema.Struct({ transaction: Schema.Struct({ id: Text, status_code: nullable(Schema.String) }) })

// GET /merchant/v1/transactions
export const SummaryAnswer = Schema.Struct({
  data: Schema.Struct({ count: nullable(Text), transactions: Schema.Array(Schema.Unknown) })
})
const Party = nullable(Schema.Struct({ currency: nullable(Schema.String) }))
export const SummaryRow = Schema.Struct({
  charges: nullable(Schema.Struct({ service: nullable(Amount) })),
  payee: Party,
  payer: Party,
  service: nullable(Schema.Struct({ type: nullable(Schema.String) })),
  transaction: Schema.Struct({
    airtel_money_id: nullable(Text),
    amount: Amount,
    created_at: Text,
    id: Text,
    reference_number: nullable(Text),
    status: Schema.String
  })
})
