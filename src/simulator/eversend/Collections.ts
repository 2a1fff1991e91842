import { createHash } from "node:crypto"
import { Effect, Option, Result, Schema } from "effect"
import { fromDecimal } from "../../domain/Money.ts"
import * as Wire from "../../providers/eversend/Wire.ts"
import { page, Stop } from "../Answers.ts"
import { type Ending, endingOf, type Play, playOf } from "../Endings.ts"
import { begun, type SimulatedTransaction } from "../Facts.ts"
import { collectionFee } from "../Fees.ts"
import type { SimulatorContext } from "../SimulatedProvider.ts"
import {
  type Call,
  checkReference,
  decodeBody,
  deliver,
  PROVIDER,
  passGate,
  refusal,
  refuse,
  refusePhone,
  success,
  transactionId
} from "./Call.ts"
import { countryOfPhone, currencyOf, isPhoneOf, servedCountries, servedCountry } from "./Catalogue.ts"
import { createdCollection, decimal } from "./Transactions.ts"

type Request = typeof Wire.MomoCollectionRequest.Type

/** The only right code. */
const PIN = "123456"
const PIN_LIFE_MS = 600_000
/** Minor units. */
const LARGEST_COLLECTION = 10_000_000_000n

/** POST /collections/fees */
export const collectionFees = Effect.fnUntraced(function* (call: Call) {
  const request = yield* decodeBody(Wire.CollectionFeesRequest, call.request)
  const currency = currencyOf(request.currency)
  if (currency === undefined || !servedCountries.some((one) => one.collects && one.currency === currency)) {
    return yield* refuse(400, "currency is not supported")
  }
  const asked = fromDecimal(request.amount, currency)
  if (Result.isFailure(asked)) return yield* refuse(400, "amount has too many decimals")
  const charges = collectionFee(asked.success)
  return success({
    currency,
    min_load_amount: decimal(1n, currency),
    max_load_amount: decimal(LARGEST_COLLECTION, currency),
    charges: decimal(charges, currency),
    total_to_pay: decimal(asked.success + charges, currency),
    amount: decimal(asked.success, currency),
    payment_method: "16"
  })
})

const SentCode = Schema.fromJsonString(Schema.Struct({ phone: Schema.String, expiresAt: Schema.Int, used: Schema.Boolean }))
type SentCode = typeof SentCode.Type
const writeCode = Schema.encodeSync(SentCode)
const readCode = Schema.decodeUnknownOption(SentCode)
const codeKey = (pinId: string) => `${PROVIDER}/otp/${pinId}`

/** POST /collections/otp: the code is sent whatever the number ends in; the ending belongs to the charge. */
export const sendCode = Effect.fnUntraced(function* (call: Call) {
  const { phone } = yield* decodeBody(Wire.OtpRequest, call.request)
  const country = countryOfPhone(phone)
  if (country === undefined || !isPhoneOf(country, phone)) return yield* refusePhone()
  const seed = `${call.merchant.clientId}/${call.now}/${call.context.account.sequence()}`
  const pinId = `VE${createHash("sha256").update(seed).digest("hex").slice(0, 32)}`
  const value = writeCode({ phone, expiresAt: call.now + PIN_LIFE_MS, used: false })
  yield* call.context.account.commit([{ fact: "note", key: codeKey(pinId), value }])
  return success({ pinId })
})

const CodeShape = Schema.fromJsonString(Schema.Struct({ otp: Schema.optionalKey(Schema.Unknown) }))
const RightCodeShape = Schema.Struct({ pinId: Schema.String, pin: Schema.String })
const OtherRedirect = Schema.fromJsonString(Schema.Struct({ redirect_url: Schema.optionalKey(Schema.String) }))

/** POST /collections/momo */
export const createCollection = Effect.fnUntraced(function* (call: Call) {
  const shape = Schema.decodeUnknownOption(CodeShape)(call.request.body)
  const misshaped = Option.exists(shape, ({ otp }) => otp !== undefined && !Schema.is(RightCodeShape)(otp))
  if (misshaped) return yield* refuse(500, "An error has occurred")
  const request = yield* decodeBody(Wire.MomoCollectionRequest, call.request)
  yield* checkReference(request.transactionRef)
  const { amount, currency, redirectTo } = yield* checked(call, request)

  const { otp } = request
  const code = otp === undefined ? undefined : readCode(call.context.account.note(codeKey(otp.pinId)))
  if (otp !== undefined && !isRightCode(code, otp.pin, request.phone, call.now)) return yield* refuse(400, "Invalid OTP")

  const earlier = earlierWith(call, request.transactionRef)
  if (earlier !== undefined && call.duplicates === "refuse") return yield* refuse(400, "transactionRef already exists")
  if (earlier !== undefined && call.duplicates === "original") return success(created(call.context, earlier))

  const ending = endingOf(request.phone)
  const play = playOf("collection", ending)
  if (play.gate !== "refused") yield* passGate(play)
  if (otp !== undefined && !call.claim(codeKey(otp.pinId))) return yield* refuse(400, "Invalid OTP")

  const transaction = begun(call.now, {
    provider: PROVIDER,
    account: call.merchant.clientId,
    id: transactionId(call, "BE"),
    reference: request.transactionRef ?? null,
    kind: "collection",
    ...start(play, ending, redirectTo),
    currency,
    amount,
    fee: collectionFee(amount),
    detail: { sourceCountry: request.country, phoneNumber: request.phone, redirectTo }
  })
  const manner = yield* call.context.accept(transaction, otp === undefined ? [] : [usedCode(otp.pinId, request.phone, call.now)])
  const answer = success(created(call.context, transaction))
  return transaction.awaitsPayer || transaction.status === "failed" ? answer : deliver(manner, answer)
})

/** A refused charge is answered as a failed transaction: a 400 could also mean a wrong code. */
const start = (play: Play, ending: Ending, redirectTo: string | null) => {
  const refused = play.gate === "refused"
  return {
    status: refused ? "failed" : "pending",
    reason: refused ? "Charge was rejected" : null,
    awaitsPayer: redirectTo !== null && !refused,
    ending
  } as const
}

const checked = Effect.fnUntraced(function* (call: Call, request: Request) {
  const country = servedCountry(request.country)
  if (country === undefined || !country.collects) return yield* refuse(400, "country is not supported")
  if (country.currency !== request.currency) return yield* refuse(400, "currency is not supported")
  if (!isPhoneOf(country, request.phone)) return yield* refusePhone()
  const amount = fromDecimal(request.amount, country.currency)
  if (Result.isFailure(amount)) return yield* refuse(400, "amount has too many decimals")
  if (amount.success > LARGEST_COLLECTION) return yield* refuse(400, "amount is above the maximum")
  if (country.country !== "GH") return { amount: amount.success, currency: country.currency, redirectTo: null }
  const other = Option.getOrUndefined(Schema.decodeUnknownOption(OtherRedirect)(call.request.body))?.redirect_url
  const redirectTo = request.redirectUrl ?? other ?? ""
  if (!/^https?:\/\/\S+$/.test(redirectTo)) return yield* refuse(400, "redirectUrl is required")
  return { amount: amount.success, currency: country.currency, redirectTo }
})

const isRightCode = (code: Option.Option<SentCode> | undefined, pin: string, phone: string, now: number): boolean =>
  code !== undefined && Option.exists(code, (sent) => pin === PIN && sent.phone === phone && !sent.used && sent.expiresAt > now)

const usedCode = (pinId: string, phone: string, now: number) =>
  ({ fact: "note", key: codeKey(pinId), value: writeCode({ phone, expiresAt: now, used: true }) }) as const

const earlierWith = (call: Call, reference: string | undefined): SimulatedTransaction | undefined =>
  reference === undefined
    ? undefined
    : call.context.account.byReference(PROVIDER, call.merchant.clientId, reference).find(({ kind }) => kind === "collection")

const created = (context: SimulatorContext, transaction: SimulatedTransaction) => ({
  ...createdCollection(transaction),
  ...(transaction.awaitsPayer ? { redirectUrl: `${context.origin}/checkout/${transaction.id}` } : {})
})

/** GET /checkout/{transactionId}: the page that the payer is sent to. Visiting it pays, once. */
export const checkout = Effect.fnUntraced(function* (context: SimulatorContext, id: string, claim: Call["claim"]) {
  const transaction = context.account.transaction(PROVIDER, id)
  if (transaction === undefined) return yield* new Stop({ answer: refusal(404, "Not found") })
  const done = paidPage(transaction.detail.redirectTo ?? "")
  if (!transaction.awaitsPayer || !claim(`${PROVIDER}/checkout/${id}`)) return done
  return deliver(yield* context.completeByPayer(transaction), done)
})

const paidPage = (back: string) => page(`<p>Payment completed</p><a href="${back.replace(/[&"<>]/g, "")}">Back to the shop</a>`)
