import { Effect, Option, Result, Schema } from "effect"
import type { Currency } from "../../domain/Currency.ts"
import { fromDecimal, toDecimal } from "../../domain/Money.ts"
import * as Wire from "../../providers/eversend/Wire.ts"
import { balanceOf, create } from "../Call.ts"
import { playOf } from "../Endings.ts"
import type { SimulatedTransaction } from "../Facts.ts"
import { convert, convertRaw, rate } from "../Rates.ts"
import { decimalOr } from "../Responses.ts"
import { issueToken, readToken, type TokenKind } from "../Tokens.ts"
import { currencyOf } from "./Catalogue.ts"
import { expiry } from "./Quotations.ts"
import {
  amountRefused,
  type Call,
  checkReference,
  decodeBody,
  failingAtOnce,
  newId,
  number,
  plain,
  refusal,
  refuse,
  shortBalance,
  spendToken,
  success
} from "./Responses.ts"

const exchangeToken: TokenKind = { name: "exchange", lifeSeconds: 30 }
const Claims = Schema.Struct({ once: Schema.String, from: Schema.String, to: Schema.String, amount: Schema.String })
const readQuotation = readToken(exchangeToken, Claims)

/** POST /exchanges/quotation: free, and good for one exchange within 30 s. */
export const quoteExchange = Effect.fnUntraced(function* (call: Call) {
  const request = yield* decodeBody(Wire.ExchangeQuotationRequest, call.request)
  const from = currencyOf(request.from)
  const to = currencyOf(request.to)
  if (from === undefined || to === undefined || from === to) return yield* refuse(400)
  const amount = yield* decimalOr(request.amount, from, amountRefused)
  const once = `${call.now}-${call.context.account.sequence()}`
  const claims = { once, from, to, amount: toDecimal(amount, from) }
  const balance = balanceOf(call, from)
  return success({
    expires: expiry(call.now, exchangeToken),
    token: issueToken(exchangeToken, call.merchant.clientSecret, claims, call.now),
    quotation: {
      baseCurrency: from,
      baseAmount: number(amount, from),
      baseWalletBefore: number(balance, from),
      baseWalletAfter: balance > amount ? number(balance - amount, from) : 0,
      destCurrency: to,
      destAmount: numeral(convertRaw(amount, from, to)),
      destWalletBefore: number(balanceOf(call, to), to),
      destWalletAfter: null,
      rate: numeral(rate(from, to))
    }
  })
})

/** POST /exchanges: booked before the response. It carries no number, so its ending is chosen through the control port. */
export const createExchange = Effect.fnUntraced(function* (call: Call) {
  const request = yield* decodeBody(Wire.ExchangeRequest, call.request)
  yield* checkReference(request.transactionRef)
  const claims = Option.getOrUndefined(readQuotation(call.merchant.clientSecret, request.token, call.now))
  const from = currencyOf(claims?.from ?? "")
  const to = currencyOf(claims?.to ?? "")
  if (claims === undefined || from === undefined || to === undefined) {
    return yield* refuse(400)
  }
  const amount = Result.getOrElse(fromDecimal(claims.amount, from), () => 0n)
  const ending = call.context.chosen("exchange")
  const { outcome } = playOf("exchange", ending)
  const failing = failingAtOnce("exchange", ending)
  const before = { from: balanceOf(call, from), to: balanceOf(call, to) }
  const exchange = {
    id: newId(call, "BE"),
    reference: request.transactionRef ?? null,
    kind: "exchange",
    ending,
    ...failing,
    currency: from,
    amount,
    fee: 0n,
    destinationCurrency: to,
    destinationAmount: convert(amount, from, to),
    short: shortBalance,
    ...spendToken(call, "exchange", claims.once)
  } as const
  return yield* create(call, exchange, (transaction) => {
    if (outcome === "failed" || failing.status === "failed") return refusal(400)
    // The response has no status for "pending".
    return outcome === "stays_pending" ? refusal(500) : bookedResponse(transaction, before)
  })
})

const bookedResponse = (transaction: SimulatedTransaction, before: { readonly from: bigint; readonly to: bigint }) => {
  const { amount, currency, destinationAmount, destinationCurrency } = transaction
  return plain({
    code: 201,
    data: {
      source: side(currency, amount, before.from, before.from - amount),
      destination: side(destinationCurrency, destinationAmount, before.to, before.to + destinationAmount)
    },
    success: true
  })
}

const side = (currency: Currency, amount: bigint, before: bigint, after: bigint) => ({
  currency,
  amount: number(amount, currency),
  balance: { before: toDecimal(before, currency), after: toDecimal(after, currency) }
})

const EXACT_DIGITS = 15

/** A JSON number as long as it can carry every digit, otherwise a string, as Eversend's amounts may also be. */
const numeral = (text: string): number | string => (text.replace(/^0\.0*|\./g, "").length <= EXACT_DIGITS ? Number(text) : text)
