import { Clock, Effect } from "effect"
import { ProviderError } from "../../domain/errors/Retriable.ts"
import type { ExchangeOperations, StatusOutcome, StatusQuery } from "../../services/ports/Provider.ts"
import type { Client, Deadline } from "../Client.ts"
import type { Reading } from "../Reading.ts"
import { logAlarm } from "./Reading.ts"
import { confirmed, isUnconfirmed } from "./Translate.ts"
import { exchangeOutcome, exchangeQuotationBody, exchangeQuoteOf } from "./TranslateExchange.ts"

interface Parts {
  readonly client: Client
  readonly deadline: Deadline
  readonly search: (until: number, order: StatusQuery) => Effect.Effect<Reading<StatusOutcome>>
}

/** Exchanges between the account's own wallets. */
export const exchanging = ({ client, deadline, search }: Parts): Pick<ExchangeOperations, "quote" | "execute"> => {
  const quote: ExchangeOperations["quote"] = Effect.fn("eversend.exchange.quote")(function* (order) {
    const askedAt = yield* Clock.currentTimeMillis
    const body = exchangeQuotationBody(order)
    const call = { operation: "exchange_quotation", method: "POST", path: "/exchanges/quotation", body } as const
    const answer = exchangeQuoteOf(yield* client(call, yield* deadline), order, askedAt)
    if (!("_tag" in answer) || answer._tag === "QuoteRefused") return answer
    if (answer.alarm !== null) yield* Effect.logError(answer.alarm)
    return yield* new ProviderError()
  })

  const execute: ExchangeOperations["execute"] = Effect.fn("eversend.exchange")(function* (order) {
    const { currency, destinationCurrency, reference, token } = order
    const body = { token, transactionRef: reference }
    const response = yield* client({ operation: "exchange", method: "POST", path: "/exchanges", body }, yield* deadline)
    const { alarm, fact } = exchangeOutcome(response)
    if (!isUnconfirmed(fact)) return yield* logAlarm({ alarm, fact }, reference)
    const sentAt = yield* Clock.currentTimeMillis
    const looked = yield* search(yield* deadline, { reference, providerReference: null, currency, destinationCurrency, sentAt })
    if (alarm !== null) yield* Effect.logError(alarm, { reference })
    return yield* logAlarm(confirmed({ fact, alarm: null }, looked), reference)
  })

  return { quote, execute }
}
