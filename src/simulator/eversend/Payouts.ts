import { Effect, Option } from "effect"
import * as Wire from "../../providers/eversend/Wire.ts"
import { endingOf, playOf } from "../Endings.ts"
import { begun, type SimulatedTransaction } from "../Facts.ts"
import {
  type Call,
  checkReference,
  decodeBody,
  deliver,
  PROVIDER,
  passGate,
  refuse,
  refusePhone,
  spend,
  success,
  transactionId
} from "./Call.ts"
import { isPayableBank, isPhoneOf, servedCountry } from "./Catalogue.ts"
import { type Promised, promisedBy } from "./Quotation.ts"
import { createdPayout } from "./Transactions.ts"

type Request = typeof Wire.PayoutRequest.Type

/** POST /payouts: spends a quotation's token. */
export const createPayout = Effect.fnUntraced(function* (call: Call) {
  const { account } = call.context
  const request = yield* decodeBody(Wire.PayoutRequest, call.request)
  yield* checkReference(request.transactionRef)
  const promised = Option.getOrUndefined(promisedBy(call, request.token))
  if (promised === undefined) return yield* refuse(400, "Quotation token is invalid or has expired")
  const recipient = yield* recipientOf(request, promised)

  const earlier = earlierWith(call, request.transactionRef)
  if (earlier !== undefined && call.duplicates === "refuse") return yield* refuse(400, "transactionRef already exists")
  if (earlier !== undefined && call.duplicates === "original") return success(createdPayout(earlier))

  const ending = endingOf(recipient)
  yield* passGate(playOf("payout", ending))
  const balance = account.balance(PROVIDER, call.merchant.clientId, promised.currency)
  if (promised.amount + promised.fee > balance) return yield* refuse(402, "Insufficient wallet balance")
  const used = `${PROVIDER}/quotation/${promised.once}`
  yield* spend(call, used)

  const transaction = begun(call.now, {
    provider: PROVIDER,
    account: call.merchant.clientId,
    id: transactionId(call, "BP"),
    reference: request.transactionRef ?? null,
    kind: "payout",
    ending,
    currency: promised.currency,
    amount: promised.amount,
    fee: promised.fee,
    destinationCurrency: promised.destinationCurrency,
    destinationAmount: promised.destinationAmount,
    detail: detail(request, promised)
  })
  const manner = yield* call.context.accept(transaction, [{ fact: "note", key: used, value: transaction.id }])
  return deliver(manner, success(createdPayout(transaction)))
})

const earlierWith = (call: Call, reference: string | undefined): SimulatedTransaction | undefined =>
  reference === undefined
    ? undefined
    : call.context.account.byReference(PROVIDER, call.merchant.clientId, reference).find(({ kind }) => kind === "payout")

/** Checks what the quotation's type needs; answers the number that its ending is read from. */
const recipientOf = Effect.fnUntraced(function* (request: Request, promised: Promised) {
  if (promised.recipient !== null) return promised.recipient
  const country = servedCountry(promised.country)
  if (country === undefined || request.country !== promised.country) return yield* refuse(400, "country is not the quotation's")
  if (!request.firstName) return yield* refuse(400, "firstName is required")
  if (!request.lastName) return yield* refuse(400, "lastName is required")
  if (request.phoneNumber !== undefined && !isPhoneOf(country, request.phoneNumber)) return yield* refusePhone()
  if (promised.method === "momo") {
    if (request.phoneNumber === undefined) return yield* refuse(400, "phoneNumber is required")
    return request.phoneNumber
  }
  if (!request.bankName) return yield* refuse(400, "bankName is required")
  if (!request.bankAccountName) return yield* refuse(400, "bankAccountName is required")
  if (!request.bankAccountNumber) return yield* refuse(400, "bankAccountNumber is required")
  if (!/^[A-Za-z0-9]{4,34}$/.test(request.bankAccountNumber)) return yield* refuse(400, "bankAccountNumber is invalid")
  if (!isPayableBank(promised.country, request.bankCode ?? "")) return yield* refuse(404, "Bank not found")
  return request.bankAccountNumber
})

const detail = (request: Request, promised: Promised): SimulatedTransaction["detail"] => ({
  sourceCountry: null,
  destinationCountry: promised.country,
  firstName: request.firstName ?? null,
  lastName: request.lastName ?? null,
  phoneNumber: request.phoneNumber ?? null,
  bankCode: request.bankCode ?? null,
  bankName: request.bankName ?? null,
  bankAccountName: request.bankAccountName ?? null,
  bankAccountNumber: request.bankAccountNumber ?? null
})
