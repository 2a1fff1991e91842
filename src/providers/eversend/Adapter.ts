import { Effect, Option } from "effect"
import { ProviderError } from "../../domain/errors/Retriable.ts"
import type { TransactionKind } from "../../domain/Transaction.ts"
import type {
  CollectionOperations,
  PayoutOperations,
  PayoutQuote,
  ProviderGuarantees,
  StatusOutcome,
  StatusQuery
} from "../../services/ports/Provider.ts"
import { decoded, type FactWithAlarm, withoutAlarm } from "../AnswerParsing.ts"
import { adapterOf, type Connection, connectionTo } from "../Connection.ts"
import { chargesBy, exchangesBy, expectedOf, payoutsBy } from "../Movements.ts"
import { quoteRefused, requestQuote } from "../Quotes.ts"
import { openBankNames } from "./Banks.ts"
import { eversendCallbacks } from "./Callback.ts"
import { type EversendSettings, openClient } from "./Client.ts"
import { exchangeOutcome, quoteExchange } from "./Exchange.ts"
import { byIdPath, chargeBody, codeBody, payoutBody, quotationBody, searchPath } from "./Order.ts"
import { QUOTE_LIFE_MS, quoteOf } from "./Quote.ts"
import { referenceData } from "./Reference.ts"
import { identity } from "./Refusals.ts"
import { statement } from "./Statement.ts"
import { chargeOutcome, foundById, foundInPage, payoutOutcome } from "./Translate.ts"
import { OtpAnswer } from "./Wire.ts"

/** Eversend documents neither how a repeated transactionRef is treated nor that its search finds one. */
const guarantees: ProviderGuarantees = {
  clientReference: "none",
  lookup: "by_client_ref_inferred",
  callbackAuth: "hmac",
  quoteTtlMs: QUOTE_LIFE_MS,
  notFoundGraceMs: 600_000,
  bankMsisdn: "documented"
}

/** One account at Eversend. `timeoutMs` bounds all requests of an operation, and again the lookup after a refused payout. */
export const eversend = adapterOf(identity, guarantees, function* (settings: EversendSettings, transport) {
  const client = yield* openClient(settings, transport)
  const connection = connectionTo(identity, client, settings.timeoutMs)
  const bankName = yield* openBankNames(client)
  const { call } = connection
  return {
    callbacks: eversendCallbacks(settings.webhookSecret),
    payouts: {
      quote: quoting(connection),
      ...payoutsBy(connection, {
        place: Effect.fnUntraced(function* (order) {
          const body = payoutBody(order, yield* bankName(order))
          return payoutOutcome(yield* call({ operation: "payout", method: "POST", path: "/payouts", body }), expectedOf(order))
        }),
        look: looking(connection, "payout")
      })
    },
    collections: {
      sendCode: codeSending(connection),
      ...chargesBy(connection, {
        place: (order) => {
          const body = chargeBody(order)
          const response = call({ operation: "charge", method: "POST", path: "/collections/momo", body })
          return Effect.map(response, (answer) => chargeOutcome(answer, order))
        },
        look: looking(connection, "collection")
      })
    },
    reference: referenceData(connection),
    statement: statement(connection),
    exchange: {
      quote: quoteExchange(connection),
      ...exchangesBy(connection, {
        place: ({ reference, token }) => {
          const body = { token, transactionRef: reference }
          return Effect.map(call({ operation: "exchange", method: "POST", path: "/exchanges", body }), exchangeOutcome)
        },
        look: looking(connection, "exchange")
      })
    }
  }
})

const quoting = (connection: Connection): PayoutOperations["quote"] =>
  Effect.fnUntraced(function* (order) {
    const body = quotationBody(order)
    if (body === undefined) return quoteRefused("a wallet is quoted for its owner only", "no_recipient")
    const call = { operation: "quotation", method: "POST", path: "/payouts/quotation", body } as const
    return yield* requestQuote<PayoutQuote>(connection, call, (response) => quoteOf(response, order))
  })

const codeSending = ({ call }: Connection): NonNullable<CollectionOperations["sendCode"]> =>
  Effect.fn("eversend.sendCode")(function* (source) {
    const response = yield* call({ operation: "otp", method: "POST", path: "/collections/otp", body: codeBody(source) })
    const answer = decoded(OtpAnswer, response)
    if (Option.isSome(answer)) return answer.value.data
    const isRefused = response._tag === "Answered" && response.status >= 400 && response.status <= 499
    return isRefused || response._tag === "NotSent" ? yield* new ProviderError({}) : "unknown"
  })

/** A search for one reference finds one row. There are several pages only when Eversend ignored the search term. */
const PAGE_SIZE = 100
const MAXIMUM_PAGES = 5

/** Looks up by Eversend's identifier when it is known and leads to our transaction, otherwise by a search for our reference. */
const looking = ({ client }: Connection, kind: TransactionKind) =>
  Effect.fnUntraced(function* (order: StatusQuery, until: number): Effect.fn.Return<FactWithAlarm<StatusOutcome>> {
    const { providerReference } = order
    if (providerReference !== null) {
      const call = { operation: "transaction", method: "GET", path: byIdPath(providerReference) } as const
      const byId = foundById(kind, order, yield* client(call, until))
      if (byId !== undefined) return byId
    }
    for (let page = 1; page <= MAXIMUM_PAGES; page++) {
      const path = searchPath(kind, order, page, PAGE_SIZE)
      const response = yield* client({ operation: "transactions", method: "GET", path }, until)
      const found = foundInPage(kind, order, response, PAGE_SIZE)
      if (found === "ended") return withoutAlarm({ _tag: "NotFound", note: "no transaction by our reference" })
      if (found !== "goes_on") return found
    }
    return {
      fact: { _tag: "Unknown", reason: "bad_response", note: `not in the first ${MAXIMUM_PAGES * PAGE_SIZE} transactions` },
      alarm: "Eversend's search lists other transactions than those that were searched for"
    }
  })
