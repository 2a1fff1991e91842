import { Effect, Option, Result, Schema } from "effect"
import type { Currency } from "../../domain/Currency.ts"
import { iso } from "../../domain/Instant.ts"
import { fromDecimal, toDecimal } from "../../domain/Money.ts"
import * as Wire from "../../providers/eversend/Wire.ts"
import { gateOf } from "../Call.ts"
import { endingOf, playOf } from "../Endings.ts"
import { type PayoutMethod, payoutFee } from "../Fees.ts"
import { convert, rate, sourceFor } from "../Rates.ts"
import { decimalOr } from "../Responses.ts"
import { issueToken, readToken, type TokenKind } from "../Tokens.ts"
import {
  countryOfPhone,
  currencyOf,
  homeOf,
  isPhoneOf,
  methodOfType,
  payoutMinimum,
  type ServedCountry,
  servedCountry
} from "./Catalogue.ts"
import { amountRefused, type Call, decodeBody, refuse, refusePhone, success } from "./Responses.ts"

type Request = typeof Wire.PayoutQuotationRequest.Type

/** The payout that a quotation's token stands for, in minor units. */
export interface QuotedPayout {
  readonly once: string
  readonly method: PayoutMethod
  readonly recipient: string | null
  readonly country: string
  readonly currency: Currency
  readonly amount: bigint
  readonly fee: bigint
  readonly destinationCurrency: Currency
  readonly destinationAmount: bigint
}

const quotationToken: TokenKind = { name: "quotation", lifeSeconds: 1800 }
const Claims = Schema.Struct({
  once: Schema.String,
  recipient: Schema.NullOr(Schema.String),
  quotation: Schema.Struct({
    sourceCurrency: Schema.String,
    sourceAmount: Schema.String,
    destinationCountry: Schema.String,
    destinationCurrency: Schema.String,
    destinationAmount: Schema.String,
    totalFees: Schema.String,
    type: Schema.Literals(["momo", "bank", "eversend"])
  })
})

const readQuotation = readToken(quotationToken, Claims)

/** POST /payouts/quotation: free, and good for one payout within 1800 s. */
export const quotePayout = Effect.fnUntraced(function* (call: Call) {
  const request = yield* decodeBody(Wire.PayoutQuotationRequest, call.request)
  const currency = currencyOf(request.sourceWallet)
  if (currency === undefined) return yield* refuse(400)
  const destination =
    request.type === "eversend" ? yield* walletDestination(call, request, currency) : yield* destinationOf(request)
  const method = methodOfType[request.type]
  if (!destination.country.pays.includes(method)) return yield* refuse(400)

  const destinationCurrency = destination.country.currency
  const toDestination = request.amountType === "DESTINATION"
  const fixed = yield* decimalOr(request.amount, toDestination ? destinationCurrency : currency, amountRefused)
  const amount = toDestination ? sourceFor(fixed, currency, destinationCurrency) : fixed
  const destinationAmount = toDestination ? fixed : convert(fixed, currency, destinationCurrency)
  const minimum = payoutMinimum(destination.country.country, method)
  if (destinationAmount < minimum) return yield* refuse(400)

  const fee = payoutFee(currency, method, amount)
  const quotation = {
    sourceCountry: homeOf(currency),
    sourceCurrency: currency,
    sourceAmount: toDecimal(amount, currency),
    destinationCountry: destination.country.country,
    destinationCurrency,
    destinationAmount: toDecimal(destinationAmount, destinationCurrency),
    exchangeRate: rate(currency, destinationCurrency),
    totalFees: toDecimal(fee, currency),
    totalAmount: twoDecimals(toDecimal(amount + fee, currency)),
    type: request.type,
    amountType: request.amountType ?? "SOURCE",
    amount: request.amount,
    ...(destination.recipient === null ? {} : { merchant: merchant(destination.country, destination.recipient) })
  }
  const once = `${call.now}-${call.context.account.sequence()}`
  const claims = { quotation, recipient: destination.recipient, once }
  const token = issueToken(quotationToken, call.merchant.clientSecret, claims, call.now)
  return success({ expires: expiry(call.now, quotationToken), token, quotation })
})

/** The quotation that a token stands for; none if it is forged or expired. The caller claims its single use. */
export const readQuotationToken = (call: Call, token: string): Option.Option<QuotedPayout> =>
  readQuotation(call.merchant.clientSecret, token, call.now).pipe(
    Option.flatMap(({ once, quotation, recipient }) => {
      const currency = currencyOf(quotation.sourceCurrency)
      const destinationCurrency = currencyOf(quotation.destinationCurrency)
      if (currency === undefined || destinationCurrency === undefined) return Option.none()
      return Option.all({
        once: Option.some(once),
        method: Option.some(methodOfType[quotation.type]),
        recipient: Option.some(recipient),
        country: Option.some(quotation.destinationCountry),
        currency: Option.some(currency),
        amount: Result.getSuccess(fromDecimal(quotation.sourceAmount, currency)),
        fee: Result.getSuccess(fromDecimal(quotation.totalFees, currency)),
        destinationCurrency: Option.some(destinationCurrency),
        destinationAmount: Result.getSuccess(fromDecimal(quotation.destinationAmount, destinationCurrency))
      })
    })
  )

/** "2026-01-31T10:00:00+00:00", the form that the live system returned. */
export const expiry = (now: number, { lifeSeconds }: TokenKind): string =>
  iso(now + lifeSeconds * 1000).replace(/\.\d+Z$/, "+00:00")

const destinationOf = Effect.fnUntraced(function* (request: Request) {
  if (request.destinationCountry === undefined) return yield* refuse(400)
  if (request.destinationCurrency === undefined) return yield* refuse(400)
  const country = servedCountry(request.destinationCountry)
  if (country === undefined) return yield* refuse(400)
  if (country.currency !== request.destinationCurrency) return yield* refuse(400)
  return { country, recipient: null }
})

// The only quotation with a number: it resolves the recipient. E-mail addresses and tags belong to the sending country.
const walletDestination = Effect.fnUntraced(function* (call: Call, request: Request, currency: Currency) {
  if (request.identifier === undefined) return yield* refuse(400)
  const recipient = request[request.identifier]
  if (recipient === undefined || recipient === "") return yield* refuse(400)
  const country = request.identifier === "phone" ? countryOfPhone(recipient) : servedCountry(homeOf(currency))
  if (request.identifier === "phone" && (country === undefined || !isPhoneOf(country, recipient))) return yield* refusePhone()
  if (country === undefined) return yield* refuse(400)
  yield* gateOf(call, recipient, ["unavailable"])
  return { country, recipient }
})

const merchant = ({ country, currency }: ServedCountry, recipient: string) =>
  playOf("payout", endingOf(recipient)).gate === "no_account"
    ? { result: "failed", merchantExists: false }
    : {
        result: "successful",
        merchantExists: true,
        country,
        defaultWallet: currency,
        isMerchant: false,
        firstName: "JOHN",
        lastName: "DOE",
        tag: "johndoe"
      }

const twoDecimals = (text: string): string => (text.includes(".") ? text : `${text}.00`)
