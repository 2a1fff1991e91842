import { Schema } from "effect"
import type { Reference } from "../../domain/Ids.ts"
import { uuidOf } from "../ReferenceId.ts"
import { Amount, nullable, Text } from "../WireNumber.ts"

// MTN's HTTP bodies, as far as the gateway uses them, for adapter and simulator. Amounts are major units as strings.

// Each product has its own account, subscription key, tokens and name for its movements.
export const products = {
  collection: "requesttopay",
  disbursement: "transfer"
} as const
export type Product = keyof typeof products

/** GET: whether the number has an account that can be paid, and who holds it. */
export const holderPath = (number: string, what: "active" | "basicuserinfo"): string =>
  `/disbursement/v1_0/accountholder/msisdn/${number}/${what}`

export const tokenPath = (product: Product): string => `/${product}/token/`
/** POST moves money and returns 202 without a body; GET with the X-Reference-Id appended returns the status. */
export const moneyPath = (product: Product): string => `/${product}/v1_0/${products[product]}`
export const statusPath = (product: Product, id: string): string => `${moneyPath(product)}/${id}`
export const balancePath = (product: Product): string => `/${product}/v1_0/account/balance`

// POST /{product}/token/ with `Authorization: Basic` of userId:apiKey answers in OAuth's form.

/** By MTN's newer page; an older one says 160. */
export const MESSAGE_AT_MOST = 128
const Message = Schema.String.check(Schema.isPattern(/^[^'’]*$/), Schema.isMaxLength(MESSAGE_AT_MOST))
const Party = Schema.Struct({
  partyIdType: Schema.Literal("MSISDN"),
  partyId: Schema.String.check(Schema.isPattern(/^\d{8,15}$/))
})

const movement = {
  amount: Schema.String.check(Schema.isPattern(/^\d+(\.\d+)?$/)),
  currency: Schema.String,
  externalId: Schema.optionalKey(Schema.String),
  payerMessage: Schema.optionalKey(Message),
  payeeNote: Schema.optionalKey(Message)
}
export const PaymentRequest = Schema.Struct({ ...movement, payer: Party })
export const TransferRequest = Schema.Struct({ ...movement, payee: Party })

const ShownParty = Schema.Struct({ partyId: nullable(Text) })
const Reason = Schema.Union([Schema.String, Schema.Struct({ code: Schema.String })])
/**
 * The response to a GET of a movement, and the body of a callback. `reason` is a string in practice, and an object in MTN's own
 * specification; some markets send `Reason`, or a `code` beside the status.
 */
export const StatusAnswer = Schema.Struct({
  financialTransactionId: nullable(Text),
  externalId: nullable(Schema.String),
  amount: nullable(Amount),
  currency: nullable(Schema.String),
  payer: nullable(ShownParty),
  payee: nullable(ShownParty),
  status: Schema.String,
  reason: nullable(Reason),
  Reason: Schema.optionalKey(Schema.Unknown),
  code: Schema.optionalKey(Schema.Unknown)
})

// GET /{product}/v1_0/account/balance
export const BalanceAnswer = Schema.Struct({ availableBalance: Amount, currency: Schema.String })

// GET /{product}/v1_0/accountholder/msisdn/{number}/active
export const ActiveAnswer = Schema.Struct({ result: Schema.Boolean })
/** GET /{product}/v1_0/accountholder/msisdn/{number}/basicuserinfo; its birthday and other members are not read. */
export const HolderAnswer = Schema.Struct({
  name: nullable(Schema.String),
  given_name: nullable(Schema.String),
  family_name: nullable(Schema.String)
})

/** The body of a refusal: from MTN with a code, from the API gateway in front of it without one. */
export const ErrorAnswer = Schema.Union([Schema.Struct({ code: Schema.String }), Schema.Struct({ statusCode: Text })])

/** The X-Reference-Id of a transaction. */
export const referenceIdOf = (reference: Reference): string => uuidOf(`mtn:${reference}`)
