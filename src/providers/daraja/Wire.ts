import { createHash } from "node:crypto"
import { Option, Schema } from "effect"
import { isReference, type Reference, referenceFrom } from "../../domain/Ids.ts"
import { purposeIn } from "../OwnAddresses.ts"
import { Text } from "../WireNumber.ts"

// Safaricom's HTTP bodies, as far as the gateway uses them: shared by the adapter and the simulator. Amounts are whole shillings.

export const tokenPath = "/oauth/v1/generate"
export const paths = {
  charge: "/mpesa/stkpush/v1/processrequest",
  chargeStatus: "/mpesa/stkpushquery/v1/query",
  payout: "/mpesa/b2c/v3/paymentrequest",
  transaction: "/mpesa/transactionstatus/v1/query",
  balance: "/mpesa/accountbalance/v1/query",
  pull: "/pulltransactions/v1/query"
} as const

const nullable = <S extends Schema.Constraint>(schema: S) => Schema.optionalKey(Schema.NullOr(schema))
// GET /oauth/v1/generate, with `Authorization: Basic` of consumerKey:consumerSecret
export const TokenAnswer = Schema.Struct({ access_token: Schema.NonEmptyString, expires_in: Text })

// POST /mpesa/stkpush/v1/processrequest
export const ChargeAnswer = Schema.Struct({ ResponseCode: Text, CheckoutRequestID: Text.check(Schema.isNonEmpty()) })

// POST /mpesa/stkpushquery/v1/query
export const ChargeStatusAnswer = Schema.Struct({ CheckoutRequestID: nullable(Text), ResultCode: Text })

const Item = Schema.Struct({ Name: Schema.String, Value: Schema.optionalKey(Schema.Unknown) })
/** The body that comes to CallBackURL, once. A failure has no CallbackMetadata. */
export const ChargeCallback = Schema.Struct({
  Body: Schema.Struct({
    stkCallback: Schema.Struct({
      CheckoutRequestID: Text,
      ResultCode: Text,
      CallbackMetadata: nullable(Schema.Struct({ Item: Schema.Array(Item) }))
    })
  })
})

/** The answer to a call whose result comes later to ResultURL. */
export const Acknowledged = Schema.Struct({ ResponseCode: Text, ConversationID: nullable(Text) })

const Parameter = Schema.Struct({ Key: Schema.String, Value: Schema.optionalKey(Schema.Unknown) })
/** The body that comes to ResultURL, once. `ResultType` 1 says that more follows; a failure has no parameters. */
export const Result = Schema.Struct({
  Result: Schema.Struct({
    ResultType: nullable(Text),
    ResultCode: Text,
    OriginatorConversationID: nullable(Text),
    ConversationID: nullable(Text),
    TransactionID: nullable(Text),
    ResultParameters: nullable(
      Schema.Struct({ ResultParameter: Schema.optionalKey(Schema.Union([Schema.Array(Parameter), Parameter])) })
    )
  })
})
export type Result = typeof Result.Type

/** The texts and numbers among what a result names; a member that is something else is as if it were not there. */
export const parametersOf = ({ Result: { ResultParameters } }: Result): ReadonlyMap<string, string> => {
  const said = ResultParameters?.ResultParameter ?? []
  const all = "Key" in said ? [said] : said
  return new Map(all.flatMap(({ Key, Value }) => Option.toArray(Option.map(textOf(Value), (text) => [Key, text] as const))))
}
export const textOf = Schema.decodeUnknownOption(Text)

/** The body by which a paybill confirms each payment to it, those by a prompt among them. */
export const Confirmation = Schema.Struct({
  TransID: Schema.String.check(Schema.isPattern(/^[A-Z0-9]{8,20}$/)),
  TransTime: Text,
  TransAmount: Text,
  BusinessShortCode: Text,
  BillRefNumber: Schema.String
})

// POST /pulltransactions/v1/query: the payments to a paybill within the last 48 hours, one array deeper than its documents show
export const PullRow = Schema.Struct({ transactionId: Text, billreference: nullable(Text), amount: Text })
export const PullAnswer = Schema.Struct({
  ResponseCode: Text,
  Response: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.Union([Schema.Array(Schema.Unknown), Schema.Unknown]))))
})

/** A refusal of Safaricom's own gateway. */
export const ErrorAnswer = Schema.Struct({ errorCode: Schema.String })

const derived = (purpose: string, reference: Reference, length: number): string =>
  referenceFrom(createHash("sha256").update(`daraja ${purpose} ${reference}`).digest()).slice(0, length)

/** The only handle of ours that a charge has, which the payer reads in the prompt: twelve characters are taken, sixty bits. */
export const accountReferenceOf = (reference: Reference): string => derived("charge", reference, 12)
/** A person's own text, or a number, is none. One of ours that has no letter is lost with it: there is one in a million. */
export const isAccountReference = (text: string): boolean => /^(?=.*[A-Z])[0-9A-HJKMNP-TV-Z]{12}$/.test(text)
/** No longer than the one in Safaricom's own sample: the limit is not documented. */
export const conversationIdOf = (reference: Reference): string => derived("payout", reference, 25)

/** Our reference, which no body has room for: it stands in the address that a request gave for its result. */
export const referenceIn = (address: string): Reference | null => {
  const id = purposeIn(address)?.id
  return isReference(id) ? id : null
}
