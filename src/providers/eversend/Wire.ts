import { Schema } from "effect"
import { Amount, nullable, Text, WrittenAmount } from "../WireNumber.ts"

// The parts of Eversend's HTTP bodies that the gateway uses, shared by the adapter and the simulator. Responses mix numbers and
// strings for the same kind of value, so both decode to text (WireNumber). Members that are not named here are ignored.

/** The envelope of every successful response except the token's. */
const envelope = <S extends Schema.Constraint>(data: S) =>
  Schema.Struct({ code: Text, success: Schema.optionalKey(Schema.Boolean), data })

// GET /auth/token, with the headers clientId and clientSecret; afterwards `Authorization: Bearer <token>`.
export const TokenAnswer = Schema.Struct({ status: Schema.optionalKey(Text), token: Schema.NonEmptyString })

// The text is in `message.message`, `message` or `error`. Only those on a closed list prove that nothing was made (Refusals.ts).
export const ErrorAnswer = Schema.Struct({
  code: Schema.optionalKey(Text),
  success: Schema.optionalKey(Schema.Boolean),
  message: Schema.optionalKey(Schema.Union([Schema.String, Schema.Struct({ message: Schema.String })])),
  error: Schema.optionalKey(Schema.String)
})

// POST /collections/otp
export const OtpRequest = Schema.Struct({ phone: Schema.String })
export const OtpAnswer = envelope(Schema.Struct({ pinId: Schema.NonEmptyString }))

// POST /collections/momo. `redirectUrl` is required for GH with GHS.
export const MomoCollectionRequest = Schema.Struct({
  phone: Schema.String,
  amount: WrittenAmount,
  country: Schema.String,
  currency: Schema.String,
  transactionRef: Schema.optionalKey(Schema.String),
  customer: Schema.optionalKey(Schema.Union([Schema.Record(Schema.String, Schema.Unknown), Schema.String])),
  otp: Schema.optionalKey(Schema.Struct({ pinId: Schema.String, pin: Schema.String })),
  redirectUrl: Schema.optionalKey(Schema.String)
})
// No published source names the member that contains the payment page: these four are read, `redirectUrl` is sent.
export const MomoCollectionAnswer = envelope(
  Schema.Struct({
    transactionId: Text,
    transactionRef: nullable(Schema.String),
    type: Schema.optionalKey(Schema.String),
    currency: Schema.optionalKey(Schema.String),
    amount: Schema.optionalKey(Amount),
    reason: nullable(Schema.String),
    status: Schema.String,
    redirectUrl: nullable(Schema.String),
    redirect_url: nullable(Schema.String),
    authorizationUrl: nullable(Schema.String),
    paymentLink: nullable(Schema.String),
    createdAt: Schema.optionalKey(Schema.String),
    updatedAt: Schema.optionalKey(Schema.String)
  })
)

const AmountType = Schema.Literals(["SOURCE", "DESTINATION"])

// POST /payouts/quotation, to a phone or bank account (country and currency), or to an Eversend wallet (identifier).
export const PayoutQuotationRequest = Schema.Struct({
  sourceWallet: Schema.String,
  amount: WrittenAmount,
  type: Schema.Literals(["momo", "bank", "eversend"]),
  amountType: Schema.optionalKey(AmountType),
  destinationCountry: Schema.optionalKey(Schema.String),
  destinationCurrency: Schema.optionalKey(Schema.String),
  identifier: Schema.optionalKey(Schema.Literals(["phone", "email", "tag"])),
  phone: Schema.optionalKey(Schema.String),
  email: Schema.optionalKey(Schema.String),
  tag: Schema.optionalKey(Schema.String)
})
// `totalAmount` = `sourceAmount` + `totalFees`, all in the source currency. `merchant` only for a wallet.
const PayoutQuotation = Schema.Struct({
  sourceCountry: nullable(Schema.String),
  sourceCurrency: Schema.String,
  sourceAmount: Amount,
  destinationCountry: nullable(Schema.String),
  destinationCurrency: Schema.String,
  destinationAmount: Amount,
  exchangeRate: Amount,
  totalFees: Amount,
  totalAmount: Amount,
  type: Schema.String,
  amountType: Schema.optionalKey(Schema.String),
  amount: Amount,
  merchant: nullable(
    Schema.Struct({
      merchantExists: Schema.Boolean,
      country: nullable(Schema.String),
      firstName: nullable(Schema.String),
      lastName: nullable(Schema.String),
      tag: nullable(Schema.String)
    })
  )
})
export const PayoutQuotationAnswer = envelope(
  Schema.Struct({ expires: Schema.optionalKey(Schema.String), token: Schema.NonEmptyString, quotation: PayoutQuotation })
)

// POST /payouts. The required members depend on the quotation's type: momo needs the person and the phone, bank also the
// account (the phone is optional), a wallet needs none.
export const PayoutRequest = Schema.Struct({
  token: Schema.String,
  transactionRef: Schema.optionalKey(Schema.String),
  firstName: Schema.optionalKey(Schema.String),
  lastName: Schema.optionalKey(Schema.String),
  country: Schema.optionalKey(Schema.String),
  phoneNumber: Schema.optionalKey(Schema.String),
  bankName: Schema.optionalKey(Schema.String),
  bankCode: Schema.optionalKey(Schema.String),
  bankAccountName: Schema.optionalKey(Schema.String),
  bankAccountNumber: Schema.optionalKey(Schema.String)
})

/** One transaction, as POST /payouts and GET /transactions write it. `isRefunded` after `successful` is a reversal. */
export const Transaction = Schema.Struct({
  transactionId: Text,
  transactionRef: nullable(Schema.String),
  type: Schema.optionalKey(Schema.String),
  currency: Schema.optionalKey(Schema.String),
  amount: Schema.optionalKey(Amount),
  fees: nullable(Amount),
  sourceCurrency: nullable(Schema.String),
  destinationCurrency: nullable(Schema.String),
  destinationAmount: nullable(Amount),
  reason: nullable(Schema.String),
  isRefunded: nullable(Schema.Boolean),
  status: Schema.String,
  createdAt: Schema.optionalKey(Schema.String),
  updatedAt: Schema.optionalKey(Schema.String)
})
export const PayoutAnswer = envelope(Schema.Struct({ transaction: Transaction }))

// GET /transactions/{transactionId}: a list of one, or (seen by one integration) the transaction itself. Unknown: 404.
export const TransactionAnswer = envelope(Schema.Union([Schema.Struct({ transactions: Schema.Array(Transaction) }), Transaction]))

// GET /transactions?search=<transactionRef>&type=…&status=…&currency=…&from=YYYY-MM-DD&to=…&page=1&limit=10, newest first.
export const TransactionsAnswer = envelope(
  Schema.Struct({
    transactions: Schema.Array(Schema.Unknown),
    total: Schema.optionalKey(Amount),
    limit: Schema.optionalKey(Amount),
    page: Schema.optionalKey(Amount)
  })
)

// GET /payouts/countries
export const CountriesAnswer = envelope(
  Schema.Struct({
    countries: Schema.Array(Schema.Unknown)
  })
)
export const Country = Schema.Struct({
  country: Schema.String,
  name: Schema.String,
  paymentTypes: Schema.Array(Schema.String),
  phonePrefix: Schema.String
})

// GET /payouts/banks/{country}
export const BanksAnswer = envelope(Schema.Array(Schema.Unknown))
export const Bank = Schema.Struct({ id: Text, active: Schema.Boolean, name: Schema.String, code: Schema.NonEmptyString })

// POST /beneficiaries/accounts/banks
export const ResolveBankRequest = Schema.Struct({
  accountNumber: Schema.String,
  bankCode: Schema.String,
  countryCode: Schema.String
})
const Name = Schema.String.check(Schema.isPattern(/\S/))
export const ResolveBankAnswer = envelope(
  Schema.Struct({ bank_code: Schema.String, account_number: Schema.String, account_name: Name })
)

// GET /wallets
export const WalletsAnswer = envelope(Schema.Array(Schema.Unknown))
export const Wallet = Schema.Struct({ currency: Schema.String, amount: Amount, enabled: Schema.Boolean })

// POST /exchanges/quotation. `amount` is in the source currency.
export const ExchangeQuotationRequest = Schema.Struct({ from: Schema.String, to: Schema.String, amount: WrittenAmount })
export const ExchangeQuotationAnswer = envelope(
  Schema.Struct({
    expires: Schema.optionalKey(Schema.String),
    token: Schema.NonEmptyString,
    quotation: Schema.Struct({
      baseCurrency: Schema.String,
      baseAmount: Amount,
      destCurrency: Schema.String,
      destAmount: Amount,
      rate: Amount
    })
  })
)

// POST /exchanges. Synchronous: `destination.amount` is the booked amount.
export const ExchangeRequest = Schema.Struct({ token: Schema.String, transactionRef: Schema.optionalKey(Schema.String) })
const ExchangeSide = Schema.Struct({ currency: Schema.String, amount: Amount })
export const ExchangeAnswer = envelope(Schema.Struct({ source: ExchangeSide, destination: ExchangeSide }))

/** The callback, flat or with `data`: both forms are in use. Either only names the transaction to poll. */
export const CallbackBody = Schema.Struct({
  type: Schema.optionalKey(Schema.String),
  eventType: Schema.optionalKey(Schema.String),
  transactionRef: nullable(Schema.String),
  transactionId: nullable(Text),
  data: Schema.optionalKey(
    Schema.Struct({ transactionRef: nullable(Schema.String), transactionId: nullable(Text), status: nullable(Schema.String) })
  )
})
