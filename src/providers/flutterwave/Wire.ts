import { Schema } from "effect"
import { Amount, nullable, Text } from "../WireNumber.ts"

// The parts of Flutterwave's v3 HTTP bodies that the gateway uses, shared by the adapter and the simulator. Amounts are major
// units, as JSON numbers in both directions; both sides read them as text (WireNumber). Others are ignored.

/** The envelope of every success. `status: "error"` with a 2xx does not match it. */
const envelope = <S extends Schema.Constraint>(data: S) => Schema.Struct({ status: Schema.Literal("success"), data })

/** Every refusal. There are no codes, and the text is not reliable. */
export const ErrorAnswer = Schema.Struct({ status: Schema.Literal("error"), message: nullable(Schema.String) })

const PageInfo = Schema.Struct({ page_info: Schema.Struct({ current_page: Amount, total_pages: Amount }) })

const paged = <S extends Schema.Constraint>(data: S) =>
  Schema.Struct({ status: Schema.Literal("success"), data: Schema.Array(data), meta: Schema.optionalKey(PageInfo) })

/** A page of a list, around its rows. */
export const Listed = paged(Schema.Unknown)

// POST /charges?type=mobile_money_uganda|…|mpesa
export const ChargeRequest = Schema.Struct({
  tx_ref: Schema.NonEmptyString,
  amount: Amount,
  currency: Schema.String,
  email: Schema.NonEmptyString,
  phone_number: Schema.String,
  fullname: Schema.optionalKey(Schema.String),
  network: Schema.optionalKey(Schema.String),
  country: Schema.optionalKey(Schema.String),
  order_id: Schema.optionalKey(Schema.String),
  redirect_url: Schema.optionalKey(Schema.String)
})

/** One charge. `amount_settled` is the merchant's part after every fee; `app_fee` is Flutterwave's own fee, without tax. */
export const Transaction = Schema.Struct({
  id: Text,
  tx_ref: nullable(Schema.String),
  amount: Amount,
  currency: Schema.String,
  app_fee: nullable(Amount),
  amount_settled: nullable(Amount),
  status: Schema.String,
  created_at: Schema.optionalKey(Schema.String)
})

// Ghana, Uganda, Rwanda and Zambia return a payment page and no `data`: the charge has no identifier yet.
export const ChargeAnswer = Schema.Struct({
  status: Schema.Literal("success"),
  data: nullable(Transaction),
  meta: nullable(
    Schema.Struct({
      authorization: nullable(
        Schema.Struct({
          mode: nullable(Schema.String),
          redirect: nullable(Schema.String),
          redirect_url: nullable(Schema.String)
        })
      )
    })
  )
})

// GET /transactions/verify_by_reference?tx_ref=…, GET /transactions/{id}/verify. Unknown: 400 or 404 with an ErrorAnswer.
export const VerifyAnswer = envelope(Transaction)

// GET /transactions?from=YYYY-MM-DD&to=…&page=1 is a list of them.

// POST /transfers. A mobile-money transfer without beneficiary_name is accepted, and fails later.
export const TransferRequest = Schema.Struct({
  account_bank: Schema.NonEmptyString,
  account_number: Text,
  amount: Amount,
  currency: Schema.String,
  debit_currency: Schema.optionalKey(Schema.String),
  reference: Schema.NonEmptyString,
  narration: Schema.optionalKey(Schema.String),
  beneficiary_name: Schema.optionalKey(Schema.String),
  destination_branch_code: Schema.optionalKey(Schema.String),
  meta: Schema.optionalKey(Schema.Unknown)
})

export const Transfer = Schema.Struct({
  id: Text,
  reference: nullable(Schema.String),
  account_number: nullable(Text),
  amount: Amount,
  currency: Schema.String,
  fee: nullable(Amount),
  status: Schema.String,
  complete_message: nullable(Schema.String),
  created_at: Schema.optionalKey(Schema.String)
})
export const TransferAnswer = envelope(Transfer)

// GET /transfers?reference=…|from=…&to=…&page=1. An unknown reference: an empty list.
export const TransfersAnswer = paged(Transfer)

// GET /chargebacks?from=YYYY-MM-DD&to=…&page=1. Only some rows name a currency.
export const Chargeback = Schema.Struct({
  id: Text,
  amount: nullable(Amount),
  currency: nullable(Schema.String),
  status: Schema.String,
  stage: nullable(Schema.String),
  transaction_id: nullable(Text),
  tx_ref: nullable(Schema.String)
})
// GET /refunds?from=YYYY-MM-DD&to=…&page=1, in two forms; neither names a currency.
export const Refund = Schema.Struct({
  id: Text,
  tx_id: nullable(Text),
  TransactionId: nullable(Text),
  amount_refunded: nullable(Amount),
  AmountRefunded: nullable(Amount),
  status: nullable(Schema.String),
  meta: Schema.optionalKey(Schema.Unknown)
})

// GET /transfers/fee?amount=…&currency=…&type=account|mobilemoney|barter
export const FeeAnswer = envelope(
  Schema.Array(Schema.Struct({ currency: Schema.String, fee_type: Schema.Literals(["value", "percentage"]), fee: Amount }))
)

// GET /banks/{country}
export const BanksAnswer = envelope(Schema.Array(Schema.Unknown))
export const Bank = Schema.Struct({ id: Text, code: Schema.NonEmptyString, name: Schema.String })

// GET /banks/{id}/branches
export const BranchesAnswer = envelope(Schema.Array(Schema.Unknown))
export const Branch = Schema.Struct({ branch_code: Schema.NonEmptyString, branch_name: nullable(Schema.String) })

// POST /accounts/resolve
export const ResolveRequest = Schema.Struct({ account_number: Text, account_bank: Schema.String })
const Name = Schema.String.check(Schema.isPattern(/\S/))
export const ResolveAnswer = envelope(Schema.Struct({ account_name: Name }))

// GET /balances
export const Balance = Schema.Struct({ currency: Schema.String, available_balance: Amount })
export const BalancesAnswer = envelope(Schema.Array(Schema.Unknown))

/** The callback, for charges (`tx_ref`) and transfers (`reference`) alike. It only names the transaction to poll. */
export const CallbackBody = Schema.Struct({
  event: nullable(Schema.String),
  data: Schema.optionalKey(
    Schema.Struct({
      id: nullable(Text),
      transaction_id: nullable(Text),
      tx_ref: nullable(Schema.String),
      reference: nullable(Schema.String),
      status: nullable(Schema.String)
    })
  )
})
