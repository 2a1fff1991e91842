import { Schema } from "effect"
import type { StatusQuery } from "../../services/ports/Provider.ts"
import { Amount, nullable } from "../WireNumber.ts"

// Wave's HTTP answers, as far as the gateway uses them: shared by the adapter and the simulator. Amounts are text in major units, and XOF has
// no decimals. Members that are not named here are ignored.

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

/** POST /v1/payout. `receive_amount` is what arrives; `fee` is taken from our wallet on top of it. */
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
/** GET /v1/payouts/search?client_reference=…: none is an empty list. */
export const PayoutsAnswer = Schema.Struct({ result: Schema.Array(Payout) })

/** POST /v1/checkout/sessions. `last_payment_error` of an open one is not final: its payer may try again. */
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

/** A refusal, in each of the forms that are in use: one of them is there. */
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
/** `amount` is the movement's effect on the balance, with its sign. */
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

/** Only events of checkout sessions name a charge of ours; of payouts, refunds and reversals Wave sends none. */
export const CallbackBody = Schema.Struct({
  type: Schema.String,
  data: Schema.Struct({ id: text, client_reference: text, checkout_status: text, payment_status: text })
})
