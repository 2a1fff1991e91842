import { Cache, Clock, Duration, Effect, Exit, Option, type Scope } from "effect"
import { ProviderError } from "../../domain/errors/Retriable.ts"
import type { Mode } from "../../domain/Ids.ts"
import type {
  CollectionOperations,
  PayoutOperations,
  PayoutOrder,
  Provider,
  ProviderGuarantees,
  StatusOutcome,
  StatusQuery
} from "../../services/ports/Provider.ts"
import { type Client, type Deadline, deadlineAfter } from "../Client.ts"
import { decoded, type Reading } from "../Reading.ts"
import { openTransport, type ProviderResponse } from "../Transport.ts"
import { type EversendSettings, openClient } from "./Client.ts"
import { exchanging } from "./Exchange.ts"
import { byIdPath, chargeBody, codeBody, payoutBody, quotationBody, searchPath } from "./Order.ts"
import { QUOTE_LIFE_MS, quoteOf } from "./Quote.ts"
import { logAlarm, NAME } from "./Reading.ts"
import { referenceData } from "./Reference.ts"
import type { Kind } from "./Refusals.ts"
import { statement } from "./Statement.ts"
import { chargeOutcome, confirmed, foundById, foundInPage, isUnconfirmed, payoutOutcome } from "./Translate.ts"
import { eversendCallbacks } from "./Webhook.ts"
import { BanksAnswer, OtpAnswer } from "./Wire.ts"

/** Eversend does not say what a second call with one transactionRef does, nor that its search is by transactionRef. */
const guarantees: ProviderGuarantees = {
  clientReference: "none",
  lookup: "by_client_ref_inferred",
  webhookAuth: "hmac",
  quoteTtlMs: QUOTE_LIFE_MS,
  notFoundGraceMs: 600_000
}

/** A search for one reference finds one row; only where Eversend did not search at all are there pages to go through. */
const PAGE_SIZE = 100
const MAXIMUM_PAGES = 5
const BANKS_LIFE = Duration.hours(1)
const MAXIMUM_BANK_LISTS = 32

/** One account at Eversend. A call takes at most `timeoutMs`, however many requests it needs; the lookup after a refused payout as long again. */
export const eversend = Effect.fn("eversend")(function* (
  settings: EversendSettings,
  mode: Mode
): Effect.fn.Return<Provider, never, Scope.Scope> {
  const client = yield* openClient(settings, yield* openTransport(NAME))
  const deadline = deadlineAfter(settings.timeoutMs)
  const ask = asking(client, deadline)
  return {
    name: NAME,
    mode,
    guarantees,
    callbacks: eversendCallbacks(settings.webhookSecret),
    payouts: { quote: quoting(client, deadline), send: yield* sending(client, deadline), fetchStatus: ask("payout") },
    collections: { charge: charging(client, deadline), sendCode: codeSending(client, deadline), fetchStatus: ask("collection") },
    reference: referenceData(client, deadline),
    statement: statement(client, deadline),
    exchange: {
      ...exchanging({ client, deadline, search: (until, order) => search(client, until, "exchange", order) }),
      fetchStatus: ask("exchange")
    }
  }
})

const quoting = (client: Client, deadline: Deadline): PayoutOperations["quote"] =>
  Effect.fn("eversend.quote")(function* (order) {
    const body = quotationBody(order)
    if (body === undefined) return { _tag: "QuoteRefused", kind: "party", note: "a wallet is quoted for its owner only" }
    const response = yield* client({ operation: "quotation", method: "POST", path: "/payouts/quotation", body }, yield* deadline)
    const quote = quoteOf(response, order)
    if (!("_tag" in quote) || quote._tag === "QuoteRefused") return quote
    if (quote.alarm !== null) yield* Effect.logError(quote.alarm)
    return yield* new ProviderError()
  })

const sending = Effect.fnUntraced(function* (client: Client, deadline: Deadline) {
  const bankName = yield* bankNames(client)
  const send: PayoutOperations["send"] = Effect.fn("eversend.send")(function* (order) {
    const body = payoutBody(order, yield* bankName(order))
    const response = yield* client({ operation: "payout", method: "POST", path: "/payouts", body }, yield* deadline)
    const { reference } = order
    const { currency } = order.corridor
    const { alarm, fact } = payoutOutcome(response, { reference, currency })
    if (!isUnconfirmed(fact)) return yield* logAlarm({ alarm, fact }, reference)
    const sentAt = yield* Clock.currentTimeMillis
    const looked = yield* search(client, yield* deadline, "payout", {
      reference,
      providerReference: null,
      currency,
      destinationCurrency: null,
      sentAt
    })
    if (alarm !== null) yield* Effect.logError(alarm, { reference })
    return yield* logAlarm(confirmed({ fact, alarm: null }, looked), reference)
  })
  return send
})

const charging = (client: Client, deadline: Deadline): CollectionOperations["charge"] =>
  Effect.fn("eversend.charge")(function* (order) {
    const response = yield* client(
      { operation: "charge", method: "POST", path: "/collections/momo", body: chargeBody(order) },
      yield* deadline
    )
    return yield* logAlarm(chargeOutcome(response, order), order.reference)
  })

const codeSending = (client: Client, deadline: Deadline): NonNullable<CollectionOperations["sendCode"]> =>
  Effect.fn("eversend.sendCode")(function* (source) {
    const call = { operation: "otp", method: "POST", path: "/collections/otp", body: codeBody(source) } as const
    const response = yield* client(call, yield* deadline)
    const answer = decoded(OtpAnswer, response)
    if (Option.isSome(answer)) return answer.value.data
    const isRefused = response._tag === "Answered" && response.status >= 400 && response.status <= 499
    return isRefused || response._tag === "NotSent" ? yield* new ProviderError() : "unknown"
  })

const asking = (client: Client, deadline: Deadline) => (kind: Kind) =>
  Effect.fn("eversend.ask")(function* (order: StatusQuery): Effect.fn.Return<StatusOutcome> {
    const until = yield* deadline
    const byId = order.providerReference === null ? undefined : yield* lookUp(client, until, kind, order, order.providerReference)
    return yield* logAlarm(byId ?? (yield* search(client, until, kind, order)), order.reference)
  })

const lookUp = Effect.fnUntraced(function* (client: Client, until: number, kind: Kind, order: StatusQuery, id: string) {
  const response = yield* client({ operation: "transaction", method: "GET", path: byIdPath(id) }, until)
  return foundById(kind, order, response)
})

const search = Effect.fnUntraced(function* (
  client: Client,
  until: number,
  kind: Kind,
  order: StatusQuery
): Effect.fn.Return<Reading<StatusOutcome>> {
  for (let page = 1; page <= MAXIMUM_PAGES; page++) {
    const path = searchPath(kind, order, page, PAGE_SIZE)
    const response: ProviderResponse = yield* client({ operation: "transactions", method: "GET", path }, until)
    const found = foundInPage(kind, order, response, PAGE_SIZE)
    if (found === "ended") return { fact: { _tag: "NotFound", note: "no transaction by our reference" }, alarm: null }
    if (found !== "goes_on") return found
  }
  return {
    fact: { _tag: "Unknown", reason: "bad_response", note: `not in the first ${MAXIMUM_PAGES * PAGE_SIZE} transactions` },
    alarm: "Eversend's search lists other transactions than those that were searched for"
  }
})

/**
 * Eversend wants the bank's name beside its code. It is read from Eversend's own list; where that cannot be read, or has no such
 * code, the code stands for the name, and whether such a bank is paid is Eversend's to say.
 */
const bankNames = Effect.fnUntraced(function* (client: Client) {
  const lists = yield* Cache.makeWith<string, ReadonlyMap<string, string>, "unread">(
    Effect.fnUntraced(function* (country) {
      const until = yield* deadlineAfter(BANKS_TIMEOUT_MS)
      const response = yield* client({ operation: "banks", method: "GET", path: `/payouts/banks/${country}` }, until)
      const answer = decoded(BanksAnswer, response)
      if (Option.isNone(answer)) return yield* Effect.fail("unread" as const)
      return new Map(answer.value.data.map(({ code, name }) => [code, name]))
    }),
    { capacity: MAXIMUM_BANK_LISTS, timeToLive: (exit) => (Exit.isSuccess(exit) ? BANKS_LIFE : Duration.zero) }
  )
  return Effect.fnUntraced(function* ({ destination }: PayoutOrder) {
    if (destination._tag !== "bank") return ""
    const { bankCode, country } = destination
    return yield* Cache.get(lists, country).pipe(
      Effect.map((names) => names.get(bankCode) ?? bankCode),
      Effect.catch(() => Effect.succeed(bankCode))
    )
  })
})

/** What a name is worth waiting for. */
const BANKS_TIMEOUT_MS = 3000
