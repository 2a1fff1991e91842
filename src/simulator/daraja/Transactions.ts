import { Effect, Schema } from "effect"
import { minor, toDecimal } from "../../domain/Money.ts"
import { byId, ownTransactions } from "../Call.ts"
import { sentOnce } from "../Callbacks.ts"
import type { PlannedCallback } from "../Endings.ts"
import type { OutgoingCallback, SimulatedTransaction } from "../Facts.ts"
import { callbackFact, FAILED_AFTER_MS } from "../Movements.ts"
import { movementWith, order } from "../Orders.ts"
import {
  acknowledged,
  type Call,
  checkAddress,
  checkInitiator,
  checkPassword,
  conversationOf,
  decodeBody,
  json,
  lastPart,
  refuse,
  Stamped
} from "./Responses.ts"

const shillings = (amount: bigint): string => toDecimal(minor(amount), "KES")
/** `20261128142355`, in East African time. */
const stampOf = (at: number): string => new Date(at + 10_800_000).toISOString().replace(/\D/g, "").slice(0, 14)

const ChargeStatusRequest = Schema.Struct({ ...Stamped.fields, CheckoutRequestID: Schema.String })

/** The default reason of a failure: the payer closed the prompt, or the recipient's account is full. */
const usualCodes = { collection: "1032", payout: "8", exchange: "9999" } as const
const codeOf = ({ detail, kind }: SimulatedTransaction): string => detail.code ?? usualCodes[kind]

/** POST /mpesa/stkpushquery/v1/query */
export const chargeStatus = Effect.fnUntraced(function* (call: Call) {
  const request = yield* decodeBody(ChargeStatusRequest, call.request)
  yield* checkPassword(call, request)
  const charge = byId(call, "collection", request.CheckoutRequestID)
  if (charge === undefined) return yield* refuse(400, "400.002.02", "Bad Request - Invalid CheckoutRequestID")
  if (charge.status === "pending") return yield* refuse(500, "500.001.1001", "The transaction is being processed")
  return json(200, {
    ResponseCode: "0",
    ResponseDescription: "The service request has been accepted successsfully",
    MerchantRequestID: "81ce-4d02-1",
    CheckoutRequestID: charge.id,
    ResultCode: charge.status === "successful" ? "0" : codeOf(charge),
    ResultDesc: charge.status === "successful" ? "The service request is processed successfully." : "Request cancelled by user"
  })
})

export const Question = Schema.Struct({
  Initiator: Schema.String,
  SecurityCredential: Schema.String,
  PartyA: Schema.String,
  IdentifierType: Schema.Literal("4"),
  ResultURL: Schema.String,
  QueueTimeOutURL: Schema.String,
  Remarks: Schema.String.check(Schema.isPattern(/^.{2,100}$/))
})
const TransactionRequest = Schema.Struct({
  ...Question.fields,
  CommandID: Schema.Literal("TransactionStatusQuery"),
  OriginalConversationID: Schema.optionalKey(Schema.String),
  TransactionID: Schema.optionalKey(Schema.String)
})

/** POST /mpesa/transactionstatus/v1/query: of a payout by its OriginatorConversationID, or of any transaction by its receipt. */
export const transactionStatus = Effect.fnUntraced(function* (call: Call) {
  const request = yield* decodeBody(TransactionRequest, call.request)
  const { OriginalConversationID: id, TransactionID: receipt } = request
  const found =
    id === undefined
      ? (["collection", "payout"] as const).flatMap((kind) => ownTransactions(call, kind)).find((one) => isPaidAs(one, receipt))
      : byId(call, "payout", id)
  return yield* answeredLater(
    call,
    request,
    found === undefined ? { code: UNKNOWN } : { code: "0", parameters: shown(found, call.now) }
  )
})

/** The documents do not give the code for an unknown transaction. */
const UNKNOWN = "R000002"

const isPaidAs = ({ detail, status }: SimulatedTransaction, receipt: string | undefined): boolean =>
  status === "successful" && detail.receipt === receipt

const words = { pending: "Initiated", successful: "Completed", failed: "Declined" } as const

/** The status of a payout that fails immediately is, like any other, available only once its result is sent. */
const wordOf = ({ createdAt, detail, status }: SimulatedTransaction, now: number): string =>
  words[status === "failed" && detail.code !== null && now < createdAt + FAILED_AFTER_MS ? "pending" : status]

const shown = (transaction: SimulatedTransaction, now: number) => {
  const { amount, createdAt, detail, fee, id, kind, status, updatedAt } = transaction
  const person = `${detail.number} - ADA K`
  return {
    DebitPartyName: kind === "payout" ? "3004411 - Shop" : person,
    CreditPartyName: kind === "payout" ? person : "605512 - Shop",
    OriginatorConversationID: id,
    InitiatedTime: stampOf(createdAt),
    ...(kind === "payout" ? { DebitPartyCharges: `Fee For B2C Payment|KES|${shillings(fee)}` } : {}),
    TransactionStatus: wordOf(transaction, now),
    FinalisedTime: status === "pending" ? "" : stampOf(updatedAt),
    Amount: shillings(amount),
    ...(status === "successful" ? { ReceiptNo: detail.receipt } : {})
  }
}

interface Answer {
  readonly code: string
  readonly parameters?: object
}

/** Acknowledges a query; the answer is sent once, to the address that the query names. */
export const answeredLater = Effect.fnUntraced(function* (call: Call, question: typeof Question.Type, answer: Answer) {
  yield* checkInitiator(call, question)
  yield* checkAddress(question.ResultURL)
  const conversation = conversationOf(call)
  const ids = { OriginatorConversationID: `5531-${conversation}`, ConversationID: conversation }
  const callback = sent(resultBody({ ...ids, TransactionID: "0000000000" }, answer), lastPart(question.ResultURL))
  const { merchant, now, provider } = call
  const subject = { provider, account: merchant.clientId, id: conversation }
  yield* call.context.commit([callbackFact(subject, "answer", now, callback)])
  return acknowledged(ids.OriginatorConversationID, conversation)
})

const resultBody = (ids: object, { code, parameters }: Answer) => ({
  Result: {
    ResultType: 0,
    ResultCode: /^\d+$/.test(code) ? Number(code) : code,
    ResultDesc: code === "0" ? "The service request is processed successfully." : "The request failed.",
    ...ids,
    ...(parameters === undefined
      ? {}
      : { ResultParameters: { ResultParameter: Object.entries(parameters).map(([Key, Value]) => ({ Key, Value })) } }),
    ReferenceData: { ReferenceItem: { Key: "QueueTimeoutURL", Value: "https://internalapi.example/queuetimeout" } }
  }
})

const sent = (body: object, path: string): OutgoingCallback => sentOnce(JSON.stringify(body), { path })

type Said = Pick<PlannedCallback, "says" | "signature">
const GOES_ON = "4999"

/** Sent once and unsigned. A forged callback does not differ from a genuine one in anything that could be checked. */
export const callbackOf = (transaction: SimulatedTransaction, { says, signature }: Said): OutgoingCallback => {
  const { detail, kind } = transaction
  const receipt = signature === "genuine" ? (detail.receipt ?? "") : "T000000000"
  const code = { successful: "0", failed: codeOf(transaction), pending: GOES_ON }[says]
  return sent((kind === "payout" ? payoutResult : promptResult)(transaction, code, receipt), detail.path ?? "")
}

const promptResult = ({ amount, detail, id, updatedAt }: SimulatedTransaction, code: string, receipt: string) => ({
  Body: {
    stkCallback: {
      MerchantRequestID: "81ce-4d02-1",
      CheckoutRequestID: id,
      ResultCode: Number(code),
      ResultDesc: code === "0" ? "The service request is processed successfully." : "Request cancelled by user",
      ...(code === "0"
        ? {
            CallbackMetadata: {
              Item: [
                { Name: "Amount", Value: Number(shillings(amount)) },
                { Name: "MpesaReceiptNumber", Value: receipt },
                { Name: "Balance" },
                { Name: "TransactionDate", Value: Number(stampOf(updatedAt)) },
                { Name: "PhoneNumber", Value: Number(detail.number) }
              ]
            }
          }
        : {})
    }
  }
})

const payoutResult = ({ amount, detail, id }: SimulatedTransaction, code: string, receipt: string) =>
  resultBody(
    { OriginatorConversationID: id, ConversationID: detail.conversation, TransactionID: receipt },
    {
      code: code === GOES_ON ? "0" : code,
      ...(code === "0"
        ? {
            parameters: {
              TransactionAmount: Number(shillings(amount)),
              TransactionReceipt: receipt,
              ReceiverPartyPublicName: `${detail.number} - ADA K`,
              B2CRecipientIsRegisteredCustomer: "Y"
            }
          }
        : {})
    }
  )

const PullRequest = Schema.Struct({ ShortCode: Schema.String, StartDate: Schema.String, EndDate: Schema.String })
const PULLED_FOR_MS = 48 * 3_600_000

/** POST /pulltransactions/v1/query: the paybill's last 48 hours, nested one array deeper than the documents show. */
export const pull = Effect.fnUntraced(function* (call: Call) {
  const { ShortCode } = yield* decodeBody(PullRequest, call.request)
  if (ShortCode !== call.merchant.settings.shortcode) return yield* refuse(400, "400.001", "Invalid shortcode")
  const paid = ownTransactions(call, "collection").filter(
    ({ status, updatedAt }) => status === "successful" && updatedAt > call.now - PULLED_FOR_MS
  )
  const rows = paid.map(({ amount, detail, updatedAt }) => ({
    transactionId: detail.receipt,
    trxDate: new Date(updatedAt).toISOString(),
    msisdn: Number(detail.number),
    transactiontype: "c2b-pay-bill-debit",
    billreference: detail.bill,
    amount: Number(shillings(amount)).toFixed(1),
    organizationname: "Shop"
  }))
  return json(200, {
    ResponseRefID: "26178-42530161-2",
    ResponseCode: rows.length === 0 ? "1001" : "1000",
    ResponseMessage: rows.length === 0 ? "No transactions" : "Success",
    ...(rows.length === 0 ? {} : { Response: [rows] })
  })
})

const RegisterRequest = Schema.Struct({
  ShortCode: Schema.String,
  ResponseType: Schema.Literals(["Completed", "Cancelled"]),
  ConfirmationURL: Schema.String,
  ValidationURL: Schema.String
})

/** POST /mpesa/c2b/v2/registerurl: once per account, as in production. `paths`: the last parts of the two addresses. */
export const registering = (paths: Map<string, string>) =>
  Effect.fnUntraced(function* ({ merchant: { clientId, settings }, request }: Call) {
    const { ConfirmationURL, ShortCode, ValidationURL } = yield* decodeBody(RegisterRequest, request)
    if (ShortCode !== settings.shortcode) return yield* refuse(400, "400.002.02", "Bad Request - Invalid ShortCode")
    yield* checkAddress(ConfirmationURL)
    yield* checkAddress(ValidationURL)
    if (paths.has(clientId)) return yield* refuse(500, "500.003.1001", "Urls are already registered.")
    paths.set(clientId, lastPart(ConfirmationURL))
    return json(200, { OriginatorCoversationID: "6e86-45dd-91ac-1", ResponseCode: "0", ResponseDescription: "Success" })
  })

const Confirmed = Schema.Struct({ client_reference: Schema.String })

/** The paybill's confirmation of a payment by a prompt, where an address is registered for it. */
export const confirmOrder = (
  provider: string,
  accounts: ReadonlyArray<{ readonly clientId: string }>,
  paths: ReadonlyMap<string, string>
) =>
  order(Confirmed, (context, { client_reference }, now) => {
    const paid = movementWith(context, provider, accounts, client_reference)
    if (paid?.kind !== "collection" || paid.status !== "successful") return Effect.succeed("no payment to the paybill")
    const path = paths.get(paid.account)
    if (path === undefined) return Effect.succeed("no address is registered for the paybill")
    const { amount, detail, updatedAt } = paid
    const body = {
      TransactionType: "Pay Bill",
      TransID: detail.receipt,
      TransTime: stampOf(updatedAt),
      TransAmount: shillings(amount),
      BusinessShortCode: "605512",
      BillRefNumber: detail.bill,
      InvoiceNumber: "",
      OrgAccountBalance: "",
      ThirdPartyTransID: "",
      MSISDN: "2547*****233",
      FirstName: "ADA"
    }
    return Effect.as(context.commit([callbackFact(paid, "confirmation", now, sent(body, path))]), null)
  })
