import { Schema } from "effect"
import type { StatusQuery } from "../../services/ports/Provider.ts"
import { Amount, nullable } from "../WireNumber.ts"

// The parts of Wave's HTTP bodies that the gateway uses, shared by the adapter and the simulator. Amounts are text in major
// units, and XOF has no decimals. Members that are not named here are ignored.

export const PAYOUT_PATH = "/v1/payout"
export const SESSIONS_PATH = "/v1/checkout/sessions"
export const BALANCE_PATH = "/v1/balance"
export const TRANSACTIONS_PATH = "/v1/transactions"

type Ours = Pick<StatusQuery, "reference">
export const payoutsPath = ({ reference }: Ours): string => `/v1/payouts/search?client_reference=${reference}`
export const sessionsPath = ({ reference }: Ours): string => `${SESSIONS_PATH}/search?client_reference=${reference}`
export const expirePath = (id: string): string => `${SESSIONS_PATH}/${encodeURIComponent(id)}/expire`

export const IDEMPOTENCY_KEY = "idempotency-key"

const text = nullable(Schema.String)

/** POST /v1/payout. `receive_amount` is what the recipient gets; `fee` is added to it and paid from our wallet. */
export const Payout = Schema.Struct({
  id: Schema.NonEmptyString,
  currency: Schema.String,
  receive_amount: Amount,
  fee: nullable(Amount),
  mobile: text,
  client_reference: text,
  status: Schema.String,
  payout_error: nullable(Schema.Struct({ error_code: text }))
})
export type Payout = typeof Payout.Type
/** GET /v1/payouts/search?client_reference=…: an empty list when there is none. */
export const PayoutsAnswer = Schema.Struct({ result: Schema.Array(Payout) })

/** POST /v1/checkout/sessions. `last_payment_error` of an open session is not final: the payer may try again. */
export const Session = Schema.Struct({
  id: Schema.NonEmptyString,
  amount: Amount,
  currency: Schema.String,
  checkout_status: Schema.String,
  payment_status: Schema.String,
  client_reference: text,
  last_payment_error: nullable(Schema.Struct({ code: text })),
  wave_launch_url: text
})
export type Session = typeof Session.Type
/** GET /v1/checkout/sessions/search?client_reference=… */
export const SessionsAnswer = Schema.Struct({ result: Schema.Array(Session) })

/** A refusal in any of the forms in use; exactly one of the members is present. */
const code = Schema.optionalKey(Schema.NonEmptyString)
const error = Schema.optionalKey(Schema.Union([Schema.NonEmptyString, Schema.Struct({ code: Schema.NonEmptyString })]))
export const ErrorAnswer = Schema.Struct({ code, error_code: code, error })

/** GET /v1/balance */
export const BalanceAnswer = Schema.Struct({ amount: Amount, currency: Schema.String })

/** GET /v1/transactions?date=2026-01-31&after=… */
export const TransactionsAnswer = Schema.Struct({
  page_info: Schema.Struct({ end_cursor: text, has_next_page: Schema.Boolean }),
  items: Schema.Array(Schema.Unknown)
})
/** `amount` is the movement's signed effect on the balance. */
export const StatementRow = Schema.Struct({
  timestamp: Schema.String,
  transaction_id: Schema.NonEmptyString,
  transaction_type: text,
  amount: Amount,
  fee: nullable(Amount),
  currency: Schema.String,
  client_reference: text,
  checkout_api_session_id: text
})
export type StatementRow = typeof StatementRow.Type

/** Only events of checkout sessions name a charge of ours; Wave sends none for payouts, refunds and reversals. */
export const CallbackBody = Schema.Struct({
  type: Schema.String,
  data: Schema.Struct({ id: text, client_reference: text, checkout_status: text, payment_status: text })
})
