import { DateTime, Effect, Result, Schema } from "effect"
import { fromDecimal, type MinorUnits } from "../../domain/Money.ts"
import { type Market, markets, type Network } from "../../providers/pawapay/Networks.ts"
import { DepositRequest, PayoutRequest } from "../../providers/pawapay/Wire.ts"
import { type Play, playOf } from "../Endings.ts"
import { begun, type SimulatedTransaction } from "../Facts.ts"
import { collectionFee, payoutFee } from "../Fees.ts"
import { type Call, decodeBody, deliver, json, PROVIDER, passGate, refuse, reject, type Subject } from "./Call.ts"
import { plotOf } from "./Numbers.ts"
import { payment } from "./View.ts"

type Kind = "payout" | "collection"

/** What a deposit and a payout have alike. */
interface Asked {
  readonly kind: Kind
  readonly subject: Subject
  readonly provider: string
  readonly phoneNumber: string
  readonly request: Omit<DepositRequest, "depositId" | "payer">
}

/** POST /deposits */
export const createDeposit = Effect.fnUntraced(function* (call: Call) {
  const { depositId: id, payer, ...request } = yield* decodeBody(DepositRequest, call.request)
  return yield* create(call, { kind: "collection", subject: { member: "depositId", id }, ...payer.accountDetails, request })
})

/** POST /payouts */
export const createPayout = Effect.fnUntraced(function* (call: Call) {
  const { payoutId: id, recipient, ...request } = yield* decodeBody(PayoutRequest, call.request)
  return yield* create(call, { kind: "payout", subject: { member: "payoutId", id }, ...recipient.accountDetails, request })
})

/** GET /deposits/{id} and GET /payouts/{id} */
export const status = (kind: Kind) =>
  Effect.fnUntraced(function* (call: Call, id: string) {
    if (!UUID.test(id)) return yield* refuse(400, "INVALID_PARAMETER")
    const known = own(call, kind, id)
    return json(200, known === undefined ? { status: "NOT_FOUND" } : { status: "FOUND", data: payment(known) })
  })

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

const own = (call: Call, kind: Kind, id: string): SimulatedTransaction | undefined => {
  const known = call.context.account.transaction(PROVIDER, id)
  return known?.account === call.merchant.clientId && known.kind === kind ? known : undefined
}

const create = Effect.fnUntraced(function* (call: Call, asked: Asked) {
  const { kind, phoneNumber, subject } = asked
  if (!UUID.test(subject.id)) return yield* reject(subject, "INVALID_PARAMETER", 400)
  const earlier = own(call, kind, subject.id)
  if (earlier !== undefined) return json(200, initiated(subject, "DUPLICATE_IGNORED", earlier.createdAt))
  const { amount, market } = yield* checked(asked)
  const { ending, failureCode } = plotOf(kind, phoneNumber)
  const play: Play = playOf(kind, ending)
  yield* passGate(play, subject)
  const { clientReferenceId = null, customerMessage = null, metadata = [] } = asked.request
  const fee = kind === "payout" ? payoutFee(market.currency, "momo", amount) : collectionFee(amount)
  const balance = call.context.account.balance(PROVIDER, call.merchant.clientId, market.currency)
  if (kind === "payout" && amount + fee > balance) return yield* reject(subject, "PAWAPAY_WALLET_OUT_OF_FUNDS")

  const manner = yield* call.context.accept(
    begun(call.now, {
      provider: PROVIDER,
      account: call.merchant.clientId,
      id: subject.id,
      reference: clientReferenceId,
      kind,
      ending,
      currency: market.currency,
      amount,
      fee,
      detail: {
        country: market.iso3,
        provider: asked.provider,
        phoneNumber,
        customerMessage,
        failureCode,
        metadata: JSON.stringify(Object.assign({}, ...metadata))
      }
    })
  )
  return deliver(manner, json(200, initiated(subject, "ACCEPTED", call.now)), subject)
})

const initiated = ({ id, member }: Subject, word: string, at: number) => ({
  [member]: id,
  status: word,
  created: DateTime.formatIso(DateTime.makeUnsafe(at))
})

const checked = Effect.fnUntraced(function* ({ kind, phoneNumber, provider, request, subject }: Asked) {
  const found = networkNamed(provider)
  const operation = kind === "payout" ? found?.network.payout : found?.network.deposit
  if (found === undefined || operation === undefined || operation === null) return yield* reject(subject, "INVALID_PROVIDER")
  const { market, network } = found
  if (request.currency !== market.currency) return yield* reject(subject, "INVALID_CURRENCY")
  if (!new RegExp(`^${market.prefix}\\d{7,10}$`).test(phoneNumber)) return yield* reject(subject, "INVALID_PHONE_NUMBER")
  const needsCode = kind === "collection" && network.deposit?.asks === "code"
  if (needsCode && request.preAuthorisationCode === undefined) return yield* reject(subject, "MISSING_PARAMETER", 400)
  const message = request.customerMessage
  if (message !== undefined && !/^[A-Za-z0-9 ]{4,22}$/.test(message)) return yield* reject(subject, "INVALID_PARAMETER", 400)
  const amount = exact(request.amount, market, operation.decimals)
  if (amount === undefined) return yield* reject(subject, "INVALID_AMOUNT")
  const major = BigInt(request.amount.split(".")[0] ?? "0")
  const isAbove = major > operation.maximum || (major === operation.maximum && /[1-9]/.test(request.amount.split(".")[1] ?? ""))
  if (major < operation.minimum || isAbove) return yield* reject(subject, "AMOUNT_OUT_OF_BOUNDS")
  return { amount, market }
})

/** By pawaPay's own name of it. */
export const networkNamed = (provider: string): { readonly market: Market; readonly network: Network } | undefined =>
  markets.flatMap((market) =>
    Object.values(market.networks).flatMap((network) => (network.provider === provider ? [{ market, network }] : []))
  )[0]

const exact = (text: string, { currency }: Market, decimals: 0 | 2): MinorUnits | undefined => {
  if (!(decimals === 0 ? isWhole : isDecimal)(text)) return undefined
  const amount = fromDecimal(text, currency)
  return Result.isSuccess(amount) && amount.success > 0n ? amount.success : undefined
}
const isWhole = Schema.is(Schema.String.check(Schema.isPattern(/^(0|[1-9]\d{0,17})$/)))
const isDecimal = Schema.is(Schema.String.check(Schema.isPattern(/^(0|[1-9]\d{0,17})(\.\d{1,2})?$/)))
