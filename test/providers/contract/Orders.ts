import { randomBytes } from "node:crypto"
import { Clock, Effect, Redacted } from "effect"
import type { Corridor } from "../../../src/domain/Corridor.ts"
import { type Currency, exponents } from "../../../src/domain/Currency.ts"
import { type Reference, referenceFrom } from "../../../src/domain/Ids.ts"
import { type MinorUnits, minor } from "../../../src/domain/Money.ts"
import type { Destination, MomoParty } from "../../../src/domain/Party.ts"
import type {
  ChargeOrder,
  ExchangeOrder,
  Otp,
  PayoutOperations,
  PayoutOrder,
  PayoutQuote,
  ProviderGuarantees,
  QuoteOrder,
  StatusQuery
} from "../../../src/services/ports/Provider.ts"

/** One corridor that a provider serves, and numbers there whose last four characters choose the ending. */
export interface Way {
  readonly country: string
  readonly currency: Currency
  readonly method: "momo" | "bank" | "wallet"
  /** The payer finishes on a page of the provider. */
  readonly redirect: boolean
  readonly amount: MinorUnits
  /** Nobody can pay another amount than a charge asks for. */
  readonly isFixed?: true
  readonly party: (ending: string) => Destination
}

export type SentBack = "Returned" | "Refused" | "Succeeded"

/** What a provider's line says about it; everything else is the same for all of them. */
export interface Abilities {
  /** The first plays the endings; whole and two-decimal currencies, where the provider has them. */
  readonly payouts: ReadonlyArray<Way>
  readonly charges: ReadonlyArray<Way>
  /** Absent where the provider exchanges nothing. */
  readonly exchange?: ExchangeOrder
  /** Whether an answer names the fee that a payout cost; a charge's is always known, by the account's contract where the wire is silent. */
  readonly namesFees: { readonly payouts: boolean }
  /** The word of a paid charge, where the answer that makes one can say it. */
  readonly paidAtOnce?: string
  /** What an answer says once money that arrived was sent back: that, a failure after the success (a person looks), or still success. */
  readonly sentBack: { readonly payouts: SentBack; readonly charges: SentBack }
  readonly callbackAuth: ProviderGuarantees["callbackAuth"]
  /** No status names an amount: what was ordered is what moved. Absent: each names it. */
  readonly namesAmounts?: false
  /** It refuses under HTTP 200, in codes that a lookup has to confirm; absent: what it refuses so is final by its documents. */
  readonly refusesUnder200?: true
  /** Nobody is called back about a payout; absent: about both. */
  readonly callsBack?: { readonly payouts: false }
  /** What its statement has, where it has one; absent: both. */
  readonly lists?: ReadonlyArray<"payout" | "collection">
  /** Of which kinds a status names the number or account of the other side. */
  readonly namesOtherSide: { readonly payouts: boolean; readonly charges: boolean }
}

const way = (country: string, currency: Currency, method: Way["method"], party: Way["party"]): Way => ({
  country,
  currency,
  method,
  redirect: false,
  // Uneven in the smallest unit, where there is one below the whole.
  amount: minor(exponents[currency] === 0 ? 20_000n : 12_345n),
  party
})

/** `prefix` is written as the gateway hands numbers on, with country and without anything but digits after its plus sign. */
export const momo = (country: string, currency: Currency, network: string, prefix: string): Way =>
  way(country, currency, "momo", (ending) => ({ _tag: "momo", msisdn: Redacted.make(prefix + ending), network, country }))

export const bank = (country: string, currency: Currency, bankCode: string, prefix: string): Way => {
  const accountName = Redacted.make("Jane Mary Doe")
  const party = (ending: string): Destination => ({
    _tag: "bank",
    country,
    bankCode,
    accountNumber: Redacted.make(prefix + ending),
    accountName,
    msisdn: null
  })
  return way(country, currency, "bank", party)
}

/** The same bank, where a payout names its branch. */
export const through = (branchCode: string, { party, ...rest }: Way): Way => ({
  ...rest,
  party: (ending) => {
    const destination = party(ending)
    return destination._tag === "bank" ? { ...destination, branchCode } : destination
  }
})

export const wallet = (country: string, currency: Currency, prefix: string): Way =>
  way(country, currency, "wallet", (ending) => ({
    _tag: "wallet",
    country,
    identifier: "tag",
    value: Redacted.make(prefix + ending)
  }))

export const newReference = (): Reference => referenceFrom(randomBytes(26))

export const corridorOf = (way: Way, direction: Corridor["direction"]): Corridor => {
  const party = way.party("")
  return {
    country: way.country,
    currency: way.currency,
    direction,
    method: way.method,
    active: true,
    providers: [],
    networks: party._tag === "momo" ? [party.network] : [],
    minimum: null,
    maximum: null,
    customerAction: way.redirect ? "redirect" : "handset_pin",
    requiresRedirectUrl: way.redirect,
    requiresMsisdn: false,
    preference: "order",
    requiresName: false,
    destinationCurrencies: [way.currency],
    availability: "operational",
    inactiveReason: null,
    updatedAt: 0
  }
}

export const quoteOrder = (way: Way, ending: string): QuoteOrder => ({
  corridor: corridorOf(way, "payout"),
  amount: way.amount,
  amountType: "SOURCE",
  destinationCurrency: way.currency,
  destinationCountry: way.country,
  destination: way.party(ending)
})

/** An order on a quote, as the gateway makes it. */
export const payoutOrder = Effect.fnUntraced(function* (payouts: PayoutOperations, way: Way, ending: string) {
  const quote = yield* payouts.quote(quoteOrder(way, ending))
  if ("_tag" in quote) return yield* Effect.die(new Error(`no quote: ${quote.note}`))
  return orderOn(quote, way, ending)
})

export const orderOn = (quote: PayoutQuote, way: Way, ending: string): PayoutOrder => ({
  reference: newReference(),
  corridor: corridorOf(way, "payout"),
  quote,
  destination: way.party(ending),
  narration: null
})

export const chargeOrder = (way: Way, ending: string, otp: Otp | null = null): ChargeOrder => ({
  reference: newReference(),
  corridor: corridorOf(way, "collection"),
  amount: way.amount,
  source: payerOf(way, ending),
  redirectUrl: way.redirect ? "https://shop.example/back" : null,
  narration: null,
  payer: null,
  otp
})

export const payerOf = (way: Way, ending: string): MomoParty => {
  const party = way.party(ending)
  if (party._tag !== "momo") throw new Error("charges are of mobile money")
  return party
}

export const askOrder = Effect.fnUntraced(function* (way: Way, reference: Reference, providerReference: string | null = null) {
  const party = way.party("")
  const network = party._tag === "momo" ? party.network : null
  const order: StatusQuery = {
    charge: { country: way.country, method: way.method, network, amount: way.amount, fee: null },
    reference,
    providerReference,
    currency: way.currency,
    destinationCurrency: null,
    country: way.country,
    sentAt: yield* Clock.currentTimeMillis
  }
  return order
})
