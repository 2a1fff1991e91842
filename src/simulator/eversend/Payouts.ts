import { Effect, Option } from "effect"
import * as Wire from "../../providers/eversend/Wire.ts"
import { create } from "../Call.ts"
import { endingOf } from "../Endings.ts"
import type { SimulatedTransaction } from "../Facts.ts"
import { isPayableBank, isPhoneOf, servedCountry } from "./Catalogue.ts"
import { type QuotedPayout, readQuotationToken } from "./Quotations.ts"
import {
  type Call,
  checkReference,
  decodeBody,
  failingAtOnce,
  newId,
  refuse,
  refusePhone,
  shortBalance,
  spendToken,
  success
} from "./Responses.ts"
import { createdPayout } from "./Transactions.ts"

type Request = typeof Wire.PayoutRequest.Type

/** POST /payouts: spends a quotation's token. */
export const createPayout = Effect.fnUntraced(function* (call: Call) {
  const request = yield* decodeBody(Wire.PayoutRequest, call.request)
  yield* checkReference(request.transactionRef)
  const quoted = Option.getOrUndefined(readQuotationToken(call, request.token))
  if (quoted === undefined) return yield* refuse(400)
  const recipient = yield* recipientOf(request, quoted)

  const ending = endingOf(recipient)
  const { amount, currency, destinationAmount, destinationCurrency, fee } = quoted
  const payout = {
    id: newId(call, "BP"),
    reference: request.transactionRef ?? null,
    kind: "payout",
    ending,
    ...failingAtOnce("payout", ending),
    currency,
    amount,
    fee,
    destinationCurrency,
    destinationAmount,
    short: shortBalance,
    ...spendToken(call, "quotation", quoted.once),
    detail: detail(request, quoted)
  } as const
  return yield* create(call, payout, (transaction) => success(createdPayout(transaction)))
})

/** Checks what the quotation's type needs; returns the number that its ending is read from. */
const recipientOf = Effect.fnUntraced(function* (request: Request, quoted: QuotedPayout) {
  if (quoted.recipient !== null) return quoted.recipient
  const country = servedCountry(quoted.country)
  if (country === undefined || request.country !== quoted.country) return yield* refuse(400)
  if (!request.firstName) return yield* refuse(400)
  if (!request.lastName) return yield* refuse(400)
  if (request.phoneNumber !== undefined && !isPhoneOf(country, request.phoneNumber)) return yield* refusePhone()
  if (quoted.method === "momo") {
    if (request.phoneNumber === undefined) return yield* refuse(400)
    return request.phoneNumber
  }
  if (!request.bankName) return yield* refuse(400)
  if (!request.bankAccountName) return yield* refuse(400)
  if (!request.bankAccountNumber) return yield* refuse(400)
  if (!/^[A-Za-z0-9]{4,34}$/.test(request.bankAccountNumber)) return yield* refuse(400)
  if (!isPayableBank(quoted.country, request.bankCode ?? "")) return yield* refuse(404)
  return request.bankAccountNumber
})

const detail = (request: Request, quoted: QuotedPayout): SimulatedTransaction["detail"] => ({
  sourceCountry: null,
  destinationCountry: quoted.country,
  firstName: request.firstName ?? null,
  lastName: request.lastName ?? null,
  phoneNumber: request.phoneNumber ?? null,
  bankCode: request.bankCode ?? null,
  bankName: request.bankName ?? null,
  bankAccountName: request.bankAccountName ?? null,
  bankAccountNumber: request.bankAccountNumber ?? null
})
