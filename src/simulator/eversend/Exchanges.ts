import { Effect, Option, Result, Schema } from "effect"
import type { Currency } from "../../domain/Currency.ts"
import { fromDecimal } from "../../domain/Money.ts"
import * as Wire from "../../providers/eversend/Wire.ts"
import { playOf } from "../Endings.ts"
import { begun, type SimulatedTransaction } from "../Facts.ts"
import { bought, boughtRaw, rate } from "../Rates.ts"
import {
  type Call,
  checkReference,
  decodeBody,
  deliver,
  PROVIDER,
  passGate,
  plain,
  refusal,
  refuse,
  spend,
  success,
  transactionId
} from "./Call.ts"
import { currencyOf } from "./Catalogue.ts"
import { expiry } from "./Quotation.ts"
import { issueToken, lifetimes, readToken } from "./Tokens.ts"
import { decimal, number } from "./Transactions.ts"

const ExchangeToken = Schema.Struct({
  once: Schema.String,
  from: Schema.String,
  to: Schema.String,
  amount: Schema.String
})

/** POST /exchanges/quotation: free, and good for one exchange within 30 s. */
export const quoteExchange = Effect.fnUntraced(function* (call: Call) {
  const request = yield* decodeBody(Wire.ExchangeQuotationRequest, call.request)
  const from = currencyOf(request.from)
  const to = currencyOf(request.to)
  if (from === undefined || to === undefined || from === to) return yield* refuse(400, "currency pair is not supported")
  const asked = fromDecimal(request.amount, from)
  if (Result.isFailure(asked)) return yield* refuse(400, "amount has too many decimals")
  const amount = asked.success
  const { account } = call.context
  const once = `${call.now}-${account.sequence()}`
  const claims = { once, from, to, amount: decimal(amount, from) }
  const balance = account.balance(PROVIDER, call.merchant.clientId, from)
  return success({
    expires: expiry(call.now, lifetimes.exchange),
    token: issueToken("exchange", call.merchant.clientSecret, claims, call.now),
    quotation: {
      baseCurrency: from,
      baseAmount: number(amount, from),
      baseWalletBefore: number(balance, from),
      baseWalletAfter: balance > amount ? number(balance - amount, from) : 0,
      destCurrency: to,
      destAmount: numeral(boughtRaw(amount, from, to)),
      destWalletBefore: number(account.balance(PROVIDER, call.merchant.clientId, to), to),
      destWalletAfter: null,
      rate: numeral(rate(from, to))
    }
  })
})

/** POST /exchanges: booked in the answer. Carries no number: its ending is chosen through the control port. */
export const createExchange = Effect.fnUntraced(function* (call: Call) {
  const { account } = call.context
  const request = yield* decodeBody(Wire.ExchangeRequest, call.request)
  yield* checkReference(request.transactionRef)
  const claims = Option.getOrUndefined(readToken("exchange", call.merchant.clientSecret, ExchangeToken, request.token, call.now))
  const from = currencyOf(claims?.from ?? "")
  const to = currencyOf(claims?.to ?? "")
  if (claims === undefined || from === undefined || to === undefined) {
    return yield* refuse(400, "Quotation token is invalid or has expired")
  }
  const amount = Result.getOrElse(fromDecimal(claims.amount, from), () => 0n)
  const ending = call.context.chosen("exchange")
  const play = playOf("exchange", ending)
  yield* passGate(play)
  const before = {
    from: account.balance(PROVIDER, call.merchant.clientId, from),
    to: account.balance(PROVIDER, call.merchant.clientId, to)
  }
  if (amount > before.from) return yield* refuse(402, "Insufficient wallet balance")
  const used = `${PROVIDER}/exchange/${claims.once}`
  yield* spend(call, used)

  const transaction = begun(call.now, {
    provider: PROVIDER,
    account: call.merchant.clientId,
    id: transactionId(call, "BE"),
    reference: request.transactionRef ?? null,
    kind: "exchange",
    ending,
    currency: from,
    amount,
    fee: 0n,
    destinationCurrency: to,
    destinationAmount: bought(amount, from, to)
  })
  const manner = yield* call.context.accept(transaction, [{ fact: "note", key: used, value: transaction.id }])
  if (play.outcome === "failed") return refusal(400, "Exchange failed")
  // Its answer has no word for "pending".
  if (play.outcome === "stays_pending") return refusal(500, "An error has occurred")
  return deliver(manner, booked(transaction, before))
})

const booked = (transaction: SimulatedTransaction, before: { readonly from: bigint; readonly to: bigint }) => {
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
  balance: { before: decimal(before, currency), after: decimal(after, currency) }
})

const EXACT_DIGITS = 15

/** A JSON number as long as it carries every digit, else a string, which Eversend's amounts may be as well. */
const numeral = (text: string): number | string => (text.replace(/^0\.0*|\./g, "").length <= EXACT_DIGITS ? Number(text) : text)
