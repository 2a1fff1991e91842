import { createHash } from "node:crypto"
import { DateTime, Option, Schema } from "effect"
import { isReference, type Reference, referenceFrom } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import { purposeIn } from "../OwnAddresses.ts"
import { nullable, Text } from "../WireNumber.ts"

// Safaricom's HTTP bodies, as far as the gateway uses them, for adapter and simulator. Amounts are whole shillings.

/** With `Authorization: Basic` of consumerKey:consumerSecret; answers in OAuth's form. */
export const tokenPath = "/oauth/v1/generate?grant_type=client_credentials"
export const paths = {
  charge: "/mpesa/stkpush/v1/processrequest",
  chargeStatus: "/mpesa/stkpushquery/v1/query",
  payout: "/mpesa/b2c/v3/paymentrequest",
  status: "/mpesa/transactionstatus/v1/query",
  balance: "/mpesa/accountbalance/v1/query",
  register: "/mpesa/c2b/v2/registerurl",
  pull: "/pulltransactions/v1/query"
} as const

// POST /mpesa/stkpush/v1/processrequest
export const ChargeAnswer = Schema.Struct({ ResponseCode: Text, CheckoutRequestID: Text.check(Schema.isNonEmpty()) })

// POST /mpesa/stkpushquery/v1/query
export const ChargeStatusAnswer = Schema.Struct({ CheckoutRequestID: nullable(Text), ResultCode: Text })

const Item = Schema.Struct({ Name: Schema.String, Value: Schema.optionalKey(Schema.Unknown) })
/** The body that is sent to CallBackURL, once. A failure has no CallbackMetadata. */
export const ChargeCallback = Schema.Struct({
  Body: Schema.Struct({
    stkCallback: Schema.Struct({
      CheckoutRequestID: Text,
      ResultCode: Text,
      CallbackMetadata: nullable(Schema.Struct({ Item: Schema.Array(Item) }))
    })
  })
})

/** The response to a call whose result is sent to ResultURL later. */
export const Acknowledged = Schema.Struct({ ResponseCode: Text, ConversationID: nullable(Text) })

const Parameter = Schema.Struct({ Key: Schema.String, Value: Schema.optionalKey(Schema.Unknown) })
/** The body that is sent to ResultURL, once. `ResultType` 1 means that more follows; a failure has no parameters. */
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

const EAST_AFRICA_MS = 3 * 3_600_000
/** `2026-11-27T08:00:00` */
const eastAfrican = (at: Instant): string => DateTime.formatIso(DateTime.makeUnsafe(at + EAST_AFRICA_MS)).slice(0, 19)

/** `20261128142355`, as in a transaction's time; null when it has another form. */
export const instantOf = (stamp: string): Instant | null => {
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/.exec(stamp) ?? []
  const at = Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`)
  return Number.isNaN(at) ? null : at - EAST_AFRICA_MS
}
/** The same form of a given time. */
export const stampOf = (at: Instant): string => eastAfrican(at).replace(/\D/g, "")
/** `2026-11-27T10:13:00Z`, a pulled payment's time; null in another form. A time without a zone is in East Africa's. */
export const pulledInstantOf = (text: string): Instant | null => {
  const [, day, time, zone = "+03:00"] =
    /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:\.\d+)?(Z|[+-]\d\d:\d\d)?$/.exec(text.trim()) ?? []
  const at = Date.parse(`${day}T${time}${zone}`)
  return Number.isNaN(at) ? null : at
}
/** As the bounds of a pull are written. */
export const pullMoment = (at: Instant): string => eastAfrican(at).replace("T", " ")

/** The texts and numbers among what a result names; a member that is something else is as if it were not there. */
export const parametersOf = ({ Result: { ResultParameters } }: Result): ReadonlyMap<string, string> => {
  const said = ResultParameters?.ResultParameter ?? []
  const all = "Key" in said ? [said] : said
  return new Map(all.flatMap(({ Key, Value }) => Option.toArray(Option.map(textOf(Value), (text) => [Key, text] as const))))
}
export const textOf = Schema.decodeUnknownOption(Text)

// POST /mpesa/c2b/v2/registerurl
export const RegisterAnswer = Schema.Struct({ ResponseCode: Text })

/** The body with which a paybill confirms each payment, even by a prompt. Trusted only for the receipt, which is queried. */
export const Confirmation = Schema.Struct({
  TransID: Schema.String.check(Schema.isPattern(/^[A-Z0-9]{8,20}$/)),
  BusinessShortCode: Text,
  BillRefNumber: Schema.String
})

// POST /pulltransactions/v1/query: the payments to a paybill within the last 48 hours, one array deeper than documented.
export const PullRow = Schema.Struct({
  transactionId: Text,
  billreference: nullable(Text),
  amount: Text,
  msisdn: nullable(Text),
  trxDate: nullable(Text)
})
export const PullAnswer = Schema.Struct({
  ResponseCode: Text,
  Response: Schema.optionalKey(Schema.NullOr(Schema.Array(Schema.Union([Schema.Array(Schema.Unknown), Schema.Unknown]))))
})

/** A refusal of Safaricom's API gateway. */
export const ErrorAnswer = Schema.Struct({ errorCode: Schema.String })

const derived = (purpose: string, reference: Reference, length: number): string =>
  referenceFrom(createHash("sha256").update(`daraja ${purpose} ${reference}`).digest()).slice(0, length)

/** The only handle of ours that a charge has. The payer sees it in the prompt. Twelve characters are accepted: sixty bits. */
export const accountReferenceOf = (reference: Reference): string => derived("charge", reference, 12)
/** Excludes what payers enter: text or numbers. One of our references in a million has no letter and is excluded too. */
export const isAccountReference = (text: string): boolean => /^(?=.*[A-Z])[0-9A-HJKMNP-TV-Z]{12}$/.test(text)
/** No longer than the one in Safaricom's sample, because the limit is not documented. */
export const conversationIdOf = (reference: Reference): string => derived("payout", reference, 25)

/** Our reference, from the result address that a request named; the bodies have no room for it. */
export const referenceIn = (address: string): Reference | null => {
  const id = purposeIn(address)?.id
  return isReference(id) ? id : null
}
