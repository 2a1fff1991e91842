import { createHash } from "node:crypto"
import { Effect, Option, Schema } from "effect"
import * as Wire from "../../providers/eversend/Wire.ts"
import { create } from "../Call.ts"
import { endingOf } from "../Endings.ts"
import type { SimulatedTransaction } from "../Facts.ts"
import { collectionFee } from "../Fees.ts"
import { decimalOr, type Stop } from "../Responses.ts"
import { countryOfPhone, isPhoneOf, servedCountry } from "./Catalogue.ts"
import {
  amountRefused,
  type Call,
  checkReference,
  decodeBody,
  failingAtOnce,
  newId,
  refuse,
  refusePhone,
  success
} from "./Responses.ts"
import { createdCollection } from "./Transactions.ts"

type Request = typeof Wire.MomoCollectionRequest.Type

/** The only right code. */
const PIN = "123456"
const PIN_LIFE_MS = 600_000

const SentCode = Schema.fromJsonString(Schema.Struct({ phone: Schema.String, expiresAt: Schema.Int, used: Schema.Boolean }))
type SentCode = typeof SentCode.Type
const writeCode = Schema.encodeSync(SentCode)
const readCode = Schema.decodeUnknownOption(SentCode)
const codeKey = ({ provider }: Call, pinId: string) => `${provider}/otp/${pinId}`

/** POST /collections/otp: the code is sent whatever the number ends in; the ending belongs to the charge. */
export const sendCode = Effect.fnUntraced(function* (call: Call) {
  const { phone } = yield* decodeBody(Wire.OtpRequest, call.request)
  const country = countryOfPhone(phone)
  if (country === undefined || !isPhoneOf(country, phone)) return yield* refusePhone()
  const seed = `${call.merchant.clientId}/${call.now}/${call.context.account.sequence()}`
  const pinId = `VE${createHash("sha256").update(seed).digest("hex").slice(0, 32)}`
  const value = writeCode({ phone, expiresAt: call.now + PIN_LIFE_MS, used: false })
  yield* call.context.account.commit([{ fact: "note", key: codeKey(call, pinId), value }])
  return success({ pinId })
})

const CodeShape = Schema.fromJsonString(Schema.Struct({ otp: Schema.optionalKey(Schema.Unknown) }))
const RightCodeShape = Schema.Struct({ pinId: Schema.String, pin: Schema.String })
const OtherRedirect = Schema.fromJsonString(Schema.Struct({ redirect_url: Schema.optionalKey(Schema.String) }))

/** POST /collections/momo */
export const createCollection = Effect.fnUntraced(function* (call: Call) {
  const shape = Schema.decodeUnknownOption(CodeShape)(call.request.body)
  const misshaped = Option.exists(shape, ({ otp }) => otp !== undefined && !Schema.is(RightCodeShape)(otp))
  if (misshaped) return yield* refuse(500)
  const request = yield* decodeBody(Wire.MomoCollectionRequest, call.request)
  yield* checkReference(request.transactionRef)
  const { amount, currency, redirectTo } = yield* checkRequest(call, request)

  const { otp } = request
  const invalidCode = refuse(400, "Invalid OTP")
  const code = otp === undefined ? undefined : readCode(call.context.account.note(codeKey(call, otp.pinId)))
  if (otp !== undefined && !isRightCode(code, otp.pin, request.phone, call.now)) return yield* invalidCode

  const ending = endingOf(request.phone)
  const failing = failingAtOnce("collection", ending)
  const charge = {
    id: newId(call, "BE"),
    reference: request.transactionRef ?? null,
    kind: "collection",
    ...failing,
    awaitsPayer: redirectTo !== null && failing.status === undefined,
    ending,
    currency,
    amount,
    fee: collectionFee(amount),
    detail: { sourceCountry: request.country, phoneNumber: request.phone, redirectTo },
    ...(otp === undefined ? {} : spendCode(call, otp.pinId, request.phone, invalidCode))
  } as const
  return yield* create(call, charge, (transaction) => success(created(call, transaction)))
})

const checkRequest = Effect.fnUntraced(function* (call: Call, request: Request) {
  const country = servedCountry(request.country)
  if (country === undefined || !country.collects) return yield* refuse(400)
  if (country.currency !== request.currency) return yield* refuse(400)
  if (!isPhoneOf(country, request.phone)) return yield* refusePhone()
  const amount = yield* decimalOr(request.amount, country.currency, amountRefused)
  if (country.country !== "GH") return { amount, currency: country.currency, redirectTo: null }
  const other = Option.getOrUndefined(Schema.decodeUnknownOption(OtherRedirect)(call.request.body))?.redirect_url
  const redirectTo = request.redirectUrl ?? other ?? ""
  if (!/^https?:\/\/\S+$/.test(redirectTo)) return yield* refuse(400)
  return { amount, currency: country.currency, redirectTo }
})

const isRightCode = (code: Option.Option<SentCode> | undefined, pin: string, phone: string, now: number): boolean =>
  code !== undefined && Option.exists(code, (sent) => pin === PIN && sent.phone === phone && !sent.used && sent.expiresAt > now)

const spendCode = (call: Call, pinId: string, phone: string, refusal: Stop) => {
  const key = codeKey(call, pinId)
  const value = writeCode({ phone, expiresAt: call.now, used: true })
  return { once: { key, refusal }, alongside: () => [{ fact: "note", key, value } as const] }
}

const created = ({ context }: Call, transaction: SimulatedTransaction) => ({
  ...createdCollection(transaction),
  ...(transaction.awaitsPayer ? { redirectUrl: `${context.origin}/checkout/${transaction.id}` } : {})
})
