import { Effect, Option, Redacted, type Scope } from "effect"
import type { Corridor } from "../../../src/domain/Corridor.ts"
import { ProviderError } from "../../../src/domain/errors/Retriable.ts"
import type { Mode, Reference } from "../../../src/domain/Ids.ts"
import { type MinorUnits, toDecimal } from "../../../src/domain/Money.ts"
import type { Destination } from "../../../src/domain/Party.ts"
import { type PayoutFees, payoutFeeOf } from "../../../src/providers/ContractFees.ts"
import { contractQuote, QUOTE_LIFE_MS, quoteRefused } from "../../../src/providers/Quotes.ts"
import { alarmLogger, decoded } from "../../../src/providers/Reading.ts"
import { openTransport } from "../../../src/providers/Transport.ts"
import type {
  PayoutOutcome,
  PayoutQuote,
  Provider,
  ProviderGuarantees,
  QuoteOrder,
  QuoteRefused,
  StatusOutcome,
  StatusQuery
} from "../../../src/services/ports/Provider.ts"
import { type Client, makeClient, type Reached } from "./Client.ts"
import { found, type Kind, lineOf, posted, refusedBy, taken } from "./Translate.ts"
import { sixthCallbacks } from "./Webhook.ts"
import { StatementAnswer } from "./Wire.ts"

export interface SixthSettings extends Reached {
  readonly webhookSecret: Redacted.Redacted
  readonly payoutFees: PayoutFees
}

const NAME = "sixth"
const heard = alarmLogger(NAME)

const guarantees: ProviderGuarantees = {
  clientReference: "unique_reject",
  lookup: "by_client_ref",
  webhookAuth: "hmac",
  quoteTtlMs: QUOTE_LIFE_MS,
  notFoundGraceMs: 60_000
}

/** One account at Tumbuka Pay. A call takes at most `timeoutMs`, the lookup after a repeated reference as long again. */
export const sixth = Effect.fn("sixth")(function* (
  settings: SixthSettings,
  mode: Mode
): Effect.fn.Return<Provider, never, Scope.Scope> {
  const client = makeClient(settings, yield* openTransport(NAME))
  const payouts = moving(client, "payout", "/transfers")
  const charges = moving(client, "collection", "/charges")
  return {
    name: NAME,
    mode,
    guarantees,
    callbacks: sixthCallbacks(settings.webhookSecret),
    payouts: {
      quote: (order) => Effect.succeed(quoteOf(order, settings.payoutFees)),
      send: (order) => payouts.make({ ...order, amount: order.quote.principal, party: order.destination }),
      fetchStatus: payouts.ask
    },
    collections: { charge: (order) => charges.make({ ...order, party: order.source }), fetchStatus: charges.ask },
    statement: statement(client)
  }
})

const networks: Readonly<Record<string, ReadonlyArray<string>>> = { "UG UGX": ["MTN", "AIRTEL"], "KE KES": ["MPESA", "AIRTEL"] }

const quoteOf = ({ amount, corridor, destinationCurrency }: QuoteOrder, fees: PayoutFees): PayoutQuote | QuoteRefused => {
  const fee = payoutFeeOf(fees, corridor.currency, corridor.method, amount)
  if (corridor.method !== "momo" || fee === undefined || destinationCurrency !== corridor.currency)
    return quoteRefused("no fee is agreed on for it")
  return contractQuote({ amount, destinationCurrency }, fee)
}

interface Order {
  readonly reference: Reference
  readonly corridor: Corridor
  readonly amount: MinorUnits
  readonly party: Destination
}

/** Transfers and charges are made, looked up and asked for alike. */
const moving = (client: Client, kind: Kind, path: string) => {
  const look = Effect.fnUntraced(function* (reference: Reference) {
    return found(kind, yield* client({ operation: "lookup", path: `${path}/${reference}` }), reference)
  })
  const make = Effect.fn("sixth.make")(function* ({
    amount,
    corridor,
    party,
    reference
  }: Order): Effect.fn.Return<PayoutOutcome> {
    const { currency } = corridor
    if (party._tag !== "momo" || networks[`${party.country} ${currency}`]?.includes(party.network) !== true)
      return yield* heard(refusedBy(kind, "misrouted", null), reference)
    const body = {
      client_ref: reference,
      amount: toDecimal(amount, currency),
      currency,
      country: party.country,
      network: party.network,
      msisdn: Redacted.value(party.msisdn).replace(/\D/g, "")
    }
    const outcome = posted(kind, yield* client({ operation: kind, path, body }), reference)
    return yield* heard(outcome === "Known" ? taken(yield* look(reference)) : outcome, reference)
  })
  const ask = Effect.fn("sixth.ask")(function* ({ reference }: StatusQuery): Effect.fn.Return<StatusOutcome> {
    return yield* heard(yield* look(reference), reference)
  })
  return { make, ask }
}

const statement = (client: Client): NonNullable<Provider["statement"]> =>
  Effect.fn("sixth.statement")(function* (day) {
    const response = yield* client({ operation: "statement", path: `/statement?${new URLSearchParams({ day })}` })
    const listed = decoded(StatementAnswer, response)
    if (Option.isNone(listed)) return yield* new ProviderError()
    const { charges, transfers } = listed.value
    const lines = [...transfers.map((one) => lineOf("payout", one)), ...charges.map((one) => lineOf("collection", one))]
    const readable = lines.filter((line) => line !== undefined)
    if (readable.length === lines.length) return readable
    yield* Effect.logError("a line of the statement cannot be read", { provider: NAME })
    return yield* new ProviderError()
  })
