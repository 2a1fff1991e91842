import { Effect, Result, Schema } from "effect"
import { iso } from "../../domain/Instant.ts"
import { fromDecimal, type MinorUnits } from "../../domain/Money.ts"
import type { PaymentKind } from "../../domain/Payment.ts"
import { type Market, markets, type Network } from "../../providers/pawapay/Networks.ts"
import { DepositRequest, PayoutRequest } from "../../providers/pawapay/Wire.ts"
import { byId, create } from "../Call.ts"
import { type Ending, endingOf } from "../Endings.ts"
import { collectionFee, payoutFee } from "../Fees.ts"
import { type Call, decodeBody, json, paymentErrors, reject, type Subject } from "./Responses.ts"
import { UUID } from "./Transactions.ts"

/** The common fields of a deposit and a payout. */
interface Requested {
  readonly kind: PaymentKind
  readonly subject: Subject
  readonly provider: string
  readonly phoneNumber: string
  readonly request: Omit<DepositRequest, "depositId" | "payer">
}

/** POST /deposits */
export const createDeposit = Effect.fnUntraced(function* (call: Call) {
  const { depositId: id, payer, ...request } = yield* decodeBody(DepositRequest, call.request)
  return yield* createPayment(call, {
    kind: "collection",
    subject: { member: "depositId", id },
    ...payer.accountDetails,
    request
  })
})

/** POST /payouts */
export const createPayout = Effect.fnUntraced(function* (call: Call) {
  const { payoutId: id, recipient, ...request } = yield* decodeBody(PayoutRequest, call.request)
  return yield* createPayment(call, { kind: "payout", subject: { member: "payoutId", id }, ...recipient.accountDetails, request })
})

const createPayment = Effect.fnUntraced(function* (call: Call, requested: Requested) {
  const { kind, phoneNumber, provider, request, subject } = requested
  if (!UUID.test(subject.id)) return yield* reject(subject, "INVALID_PARAMETER", 400)
  const earlier = byId(call, kind, subject.id)
  if (earlier !== undefined) return json(200, initiated(subject, "DUPLICATE_IGNORED", earlier.createdAt))
  const { amount, market } = yield* checkRequest(requested)
  const { currency, iso3: country } = market
  const { ending, failureCode } = scenarioOf(kind, phoneNumber)
  const { clientReferenceId = null, customerMessage = null, metadata: members = [] } = request
  const metadata = JSON.stringify(Object.assign({}, ...members))
  const payment = {
    id: subject.id,
    reference: clientReferenceId,
    kind,
    errors: paymentErrors(subject),
    ending,
    currency,
    amount,
    fee: kind === "payout" ? payoutFee(currency, "momo", amount) : collectionFee(amount),
    ...(kind === "payout" ? { short: reject(subject, "PAWAPAY_WALLET_OUT_OF_FUNDS") } : {}),
    detail: { country, provider, phoneNumber, customerMessage, failureCode, metadata }
  } as const
  return yield* create(call, payment, ({ createdAt }) => json(200, initiated(subject, "ACCEPTED", createdAt)))
})

const initiated = ({ id, member }: Subject, word: string, at: number) => ({
  [member]: id,
  status: word,
  created: iso(at)
})

const checkRequest = Effect.fnUntraced(function* ({ kind, phoneNumber, provider, request, subject }: Requested) {
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

/** By pawaPay's own name for it. */
const networkNamed = (provider: string): { readonly market: Market; readonly network: Network } | undefined =>
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

/** How a payment plays: its ending, and its failure code. */
interface Scenario {
  readonly ending: Ending
  readonly failureCode: string
}

// pawaPay's own test numbers: a network's prefix, and three digits for the outcome.
const beginnings: ReadonlyArray<string> = [
  "256783456",
  "256753456",
  "254703456",
  "260763456",
  "260973456",
  "237653456",
  "237693456",
  "250783456",
  "255683456",
  "255763456",
  "255713456",
  "255623456"
]
const SCENARIO_DIGITS = 3

const failures: Readonly<Record<"payout" | "collection", Readonly<Record<string, string>>>> = {
  collection: {
    "019": "PAYER_LIMIT_REACHED",
    "029": "PAYER_NOT_FOUND",
    "039": "PAYMENT_NOT_APPROVED",
    "049": "INSUFFICIENT_BALANCE",
    "059": "TRANSACTION_ALREADY_IN_PROCESS",
    "069": "UNSPECIFIED_FAILURE"
  },
  payout: {
    "079": "RECIPIENT_NOT_FOUND",
    "089": "RECIPIENT_NOT_FOUND",
    "099": "WALLET_LIMIT_REACHED",
    "109": "RECIPIENT_LIMIT_REACHED",
    "119": "UNSPECIFIED_FAILURE"
  }
}

const ordinary = { payout: "UNSPECIFIED_FAILURE", collection: "PAYMENT_NOT_APPROVED" } as const

const scenarioOf = (kind: "payout" | "collection", phoneNumber: string): Scenario => {
  const beginning = beginnings.find((one) => phoneNumber.startsWith(one) && phoneNumber.length === one.length + SCENARIO_DIGITS)
  const digits = beginning === undefined ? "" : phoneNumber.slice(beginning.length)
  const failureCode = failures[kind][digits]
  if (failureCode !== undefined) return { ending: "0002", failureCode }
  return { ending: digits === "129" ? "0010" : endingOf(phoneNumber), failureCode: ordinary[kind] }
}
