import { Clock, Effect, type Scope } from "effect"
import { ProviderError } from "../../domain/errors/Retriable.ts"
import type { Mode } from "../../domain/Ids.ts"
import type {
  ChargeOrder,
  CollectionOperations,
  PayoutOperations,
  Provider,
  ProviderGuarantees,
  StatusOutcome,
  StatusQuery
} from "../../services/ports/Provider.ts"
import { type Client, type Deadline, deadlineAfter, timeLeft } from "../Client.ts"
import { type Reading, refusalOf, refusedBy } from "../Reading.ts"
import { openTransport } from "../Transport.ts"
import { openBranches } from "./Banks.ts"
import { type FlutterwaveSettings, makeClient, type Sender } from "./Client.ts"
import { chargeRoute } from "./Networks.ts"
import { accountOf, chargeCall, transferBody } from "./Order.ts"
import { feePath, QUOTE_LIFE_MS, quoteOf, unquotable } from "./Quote.ts"
import { duplicate, isDuplicate, logAlarm, NAME } from "./Reading.ts"
import { RESOLVES_IN, referenceData } from "./Reference.ts"
import { statement } from "./Statement.ts"
import { chargeFound, chargeOutcome, confirmed, isUnconfirmed, payoutOutcome, transferFound } from "./Translate.ts"
import { flutterwaveCallbacks } from "./Webhook.ts"

/**
 * Transfers are unique by our reference; charges are not, and one promise is made for both. Flutterwave answers 503 itself after about 28 s and
 * may go on working: what is not found sooner than well after that proves nothing.
 */
const guarantees: ProviderGuarantees = {
  clientReference: "none",
  lookup: "by_client_ref",
  webhookAuth: "weak",
  quoteTtlMs: QUOTE_LIFE_MS,
  notFoundGraceMs: 120_000,
  bankAccountCountries: RESOLVES_IN
}

/** One account at Flutterwave. A call takes at most `timeoutMs`; the lookup after a refused transfer as long again. */
export const flutterwave = Effect.fn("flutterwave")(function* (
  settings: FlutterwaveSettings,
  mode: Mode
): Effect.fn.Return<Provider, never, Scope.Scope> {
  const client = makeClient(settings, yield* openTransport(NAME))
  const deadline = deadlineAfter(settings.timeoutMs)
  const askTransfer = asking(client, deadline, transferPath, transferFound)
  const askCharge = asking(client, deadline, chargePath, chargeFound)
  return {
    name: NAME,
    mode,
    guarantees,
    callbacks: flutterwaveCallbacks(settings.webhookSecretHash),
    payouts: {
      quote: quoting(client, deadline),
      send: yield* sending(client, deadline, settings.sender),
      fetchStatus: (order) => Effect.flatMap(askTransfer(order), (reading) => logAlarm(reading, order.reference))
    },
    collections: {
      reachesNetwork: ({ country, network }) => chargeRoute(country, network) !== undefined,
      charge: charging(client, deadline),
      fetchStatus: (order) => Effect.flatMap(askCharge(order), (reading) => logAlarm(reading, order.reference))
    },
    reference: referenceData(client, deadline),
    statement: statement(client, deadline)
  }
})

const quoting = (client: Client, deadline: Deadline): PayoutOperations["quote"] =>
  Effect.fn("flutterwave.quote")(function* (order) {
    const refused = unquotable(order)
    if (refused !== undefined) return refused
    const response = yield* client({ operation: "fee", method: "GET", path: feePath(order) }, yield* deadline)
    const quote = quoteOf(response, order)
    if (!("_tag" in quote) || quote._tag === "QuoteRefused") return quote
    if (quote.alarm !== null) yield* Effect.logError(quote.alarm, { provider: NAME })
    return yield* new ProviderError()
  })

const sending = Effect.fnUntraced(function* (client: Client, deadline: Deadline, sender: Sender | null) {
  const branchOf = yield* openBranches(client)
  const lookUp = asking(client, deadline, transferPath, transferFound)
  const send: PayoutOperations["send"] = Effect.fn("flutterwave.send")(function* (order) {
    const { corridor, destination, quote, reference } = order
    const account = accountOf(destination)
    if (account === undefined || quote.destinationCurrency !== corridor.currency)
      return yield* logAlarm(refusedBy(noRoute, null, "no such route"), reference)
    const until = yield* deadline
    const branch = yield* Effect.option(Effect.timeout(branchOf(order), yield* timeLeft(until)))
    // Nothing of the transfer itself was sent.
    if (branch._tag === "None") return { _tag: "NotSent", note: "the bank's branches cannot be read" } as const
    const body = transferBody(order, account, branch.value, sender)
    const response = yield* client({ operation: "transfer", method: "POST", path: "/transfers", body }, until)
    const { alarm, fact } = payoutOutcome(response, { reference, currency: corridor.currency })
    if (!isUnconfirmed(fact)) return yield* logAlarm({ alarm, fact }, reference)
    const sentAt = yield* Clock.currentTimeMillis
    const looked = yield* lookUp({
      reference,
      providerReference: null,
      currency: corridor.currency,
      destinationCurrency: null,
      sentAt
    })
    return yield* logAlarm(confirmed(isDuplicate(response) ? duplicate : { fact, alarm }, looked), reference)
  })
  return send
})

const charging = (client: Client, deadline: Deadline): CollectionOperations["charge"] =>
  Effect.fn("flutterwave.charge")(function* (order: ChargeOrder) {
    const call = chargeCall(order)
    if (call === undefined) return yield* logAlarm(refusedBy(noRoute, null, "no such route"), order.reference)
    const response = yield* client({ operation: "charge", method: "POST", ...call }, yield* deadline)
    return yield* logAlarm(chargeOutcome(response, order), order.reference)
  })

/** A corridor row leads here that this provider cannot serve. */
const noRoute = refusalOf(
  "config",
  "provider_rejected",
  "The provider does not serve this country, network or recipient.",
  "a corridor is routed to Flutterwave that it does not serve"
)

type Found = (response: Parameters<typeof chargeFound>[0], order: StatusQuery) => Reading<StatusOutcome>

const asking = (client: Client, deadline: Deadline, path: (reference: string) => string, found: Found) =>
  Effect.fn("flutterwave.ask")(function* (order: StatusQuery) {
    const call = { operation: "ask", method: "GET", path: path(order.reference) } as const
    return found(yield* client(call, yield* deadline), order)
  })

const chargePath = (reference: string): string =>
  `/transactions/verify_by_reference?${new URLSearchParams({ tx_ref: reference })}`
const transferPath = (reference: string): string => `/transfers?${new URLSearchParams({ reference })}`
