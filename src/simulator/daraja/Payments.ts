import { Effect, Schema } from "effect"
import { minor } from "../../domain/Money.ts"
import { referenceIn } from "../../providers/daraja/Wire.ts"
import { balanceOf, create, newDigits, onceById } from "../Call.ts"
import { endingOf, type Play, playOf, wholeOrNothing } from "../Endings.ts"
import { collectionFee, payoutFee } from "../Fees.ts"
import { failsAtOnce } from "../Movements.ts"
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
import { callbackOf } from "./Transactions.ts"

const CURRENCY = "KES"
const Shillings = Schema.Union([Schema.Int, Schema.String.check(Schema.isPattern(/^\d{1,9}$/))])
const Msisdn = Schema.String.check(Schema.isPattern(/^254\d{9}$/))

const ChargeRequest = Schema.Struct({
  ...Stamped.fields,
  TransactionType: Schema.Literals(["CustomerPayBillOnline", "CustomerBuyGoodsOnline"]),
  Amount: Shillings,
  PartyA: Msisdn,
  PartyB: Schema.String,
  PhoneNumber: Msisdn,
  CallBackURL: Schema.String,
  AccountReference: Schema.String.check(Schema.isPattern(/^[A-Za-z0-9]{1,12}$/)),
  TransactionDesc: Schema.String.check(Schema.isPattern(/^.{1,13}$/))
})

const PayoutRequest = Schema.Struct({
  OriginatorConversationID: Schema.String.check(Schema.isPattern(/^[\w-]{1,25}$/)),
  InitiatorName: Schema.String,
  SecurityCredential: Schema.String,
  CommandID: Schema.Literals(["BusinessPayment", "SalaryPayment", "PromotionPayment"]),
  Amount: Shillings,
  PartyA: Schema.String,
  PartyB: Msisdn,
  Remarks: Schema.String.check(Schema.isPattern(/^.{2,100}$/)),
  QueueTimeOutURL: Schema.String,
  ResultURL: Schema.String
})

/** POST /mpesa/stkpush/v1/processrequest */
export const createCharge = Effect.fnUntraced(function* (call: Call) {
  const request = yield* decodeBody(ChargeRequest, call.request)
  yield* checkPassword(call, request)
  yield* checkAddress(request.CallBackURL)
  const { PhoneNumber: number } = request
  const amount = yield* amountOf(request.Amount, { least: 1n, most: 250_000n })
  const ending = wholeOrNothing(endingOf(number))
  const id = `ws_CO_${request.Timestamp}${newDigits(call)}${number}`
  const reason = playOf("collection", ending).gate === "no_account" ? "2006" : null
  const charge = {
    id,
    reference: referenceIn(request.CallBackURL) ?? request.AccountReference,
    kind: "collection",
    ...failsAtOnce(reason, callbackOf),
    ending,
    currency: CURRENCY,
    amount,
    fee: collectionFee(amount),
    detail: {
      number,
      path: lastPart(request.CallBackURL),
      bill: request.AccountReference,
      receipt: receiptOf(call),
      code: reason
    }
  } as const
  return yield* create(call, charge, () =>
    json(200, {
      MerchantRequestID: `81ce-4d02-${newDigits(call)}`,
      CheckoutRequestID: id,
      ResponseCode: "0",
      ResponseDescription: "Success. Request accepted for processing",
      CustomerMessage: "Success. Request accepted for processing"
    })
  )
})

/** POST /mpesa/b2c/v3/paymentrequest */
export const createPayout = Effect.fnUntraced(function* (call: Call) {
  const request = yield* decodeBody(PayoutRequest, call.request)
  yield* checkInitiator(call, { Initiator: request.InitiatorName, ...request })
  if (request.PartyA !== call.merchant.settings.payoutShortcode)
    return yield* refuse(400, "400.002.02", "Bad Request - Invalid PartyA")
  yield* checkAddress(request.ResultURL)
  const { OriginatorConversationID: id, PartyB: number } = request
  const amount = yield* amountOf(request.Amount, { least: 10n, most: 250_000n })
  const ending = endingOf(number)
  const fee = payoutFee(CURRENCY, "momo", amount)
  const code = failureOf(playOf("payout", ending), amount + fee > balanceOf(call, CURRENCY))
  const payout = {
    id,
    reference: referenceIn(request.ResultURL) ?? id,
    kind: "payout",
    ...failsAtOnce(code, callbackOf),
    ending,
    currency: CURRENCY,
    amount,
    fee,
    once: onceById(call, id, refuse(500, "500.002.1001", "Duplicate OriginatorConversationID.")),
    detail: { number, path: lastPart(request.ResultURL), conversation: conversationOf(call), receipt: receiptOf(call), code }
  } as const
  return yield* create(call, payout, ({ detail }) => acknowledged(id, detail.conversation ?? ""))
})

/** The code of a payout that Safaricom accepts first and fails immediately afterwards. */
const failureOf = ({ gate }: Play, isShort: boolean): string | null =>
  gate === "pool_short" || isShort ? "1" : gate === "no_account" ? "2040" : null

const amountOf = Effect.fnUntraced(function* (
  shillings: number | string,
  { least, most }: { readonly least: bigint; readonly most: bigint }
) {
  const amount = BigInt(shillings)
  if (amount < least || amount > most) return yield* refuse(400, "400.002.02", "Bad Request - Invalid Amount")
  return minor(amount * 100n)
})

/** `TKS41Q7ZPD` */
const receiptOf = (call: Call): string => `T${BigInt(newDigits(call)).toString(36).toUpperCase()}`
