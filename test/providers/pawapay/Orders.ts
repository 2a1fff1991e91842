import { Effect, Logger, Redacted, References } from "effect"
import type { Corridor } from "../../../src/domain/Corridor.ts"
import type { Currency } from "../../../src/domain/Currency.ts"
import type { Reference } from "../../../src/domain/Ids.ts"
import { type MinorUnits, minor, ZERO } from "../../../src/domain/Money.ts"
import type { MomoParty } from "../../../src/domain/Party.ts"
import { pawapay } from "../../../src/providers/pawapay/Adapter.ts"
import type { PawapaySettings } from "../../../src/providers/pawapay/Client.ts"
import { FILE_HOSTS } from "../../../src/providers/pawapay/Statement.ts"
import type { ChargeOrder, PayoutOrder, PayoutQuote, StatusQuery } from "../../../src/services/ports/Provider.ts"
import { simulatedFees } from "../../../src/simulator/Fees.ts"
import { newReference } from "../contract/Orders.ts"

// What the tests of pawaPay's adapter order.

export const open = Effect.fnUntraced(function* (baseUrl: string, change: Partial<PawapaySettings> = {}) {
  const settings: PawapaySettings = {
    baseUrl,
    apiToken: Redacted.make("the-token"),
    signingKey: null,
    callbackKey: null,
    callbackHosts: [],
    statementHosts: FILE_HOSTS,
    fees: simulatedFees,
    timeoutMs: 5000,
    ...change
  }
  const provider = yield* pawapay(settings, "test")
  const { collections, payouts } = provider
  if (collections === undefined || payouts === undefined) return yield* Effect.die(new Error("pawaPay does both"))
  return { provider, payouts, collections }
})

export const corridor = (direction: Corridor["direction"], country = "UG", currency: Currency = "UGX"): Corridor => ({
  country,
  currency,
  direction,
  method: "momo",
  active: true,
  providers: ["pawapay"],
  networks: [],
  minimum: null,
  maximum: null,
  customerAction: "handset_pin",
  requiresRedirectUrl: false,
  requiresMsisdn: false,
  preference: "order",
  requiresName: false,
  destinationCurrencies: [currency],
  availability: "operational",
  inactiveReason: null,
  updatedAt: 0
})

export const party = (country: string, network: string, msisdn: string): MomoParty => ({
  _tag: "momo",
  msisdn: Redacted.make(msisdn),
  network,
  country
})

const quoteFor = (amount: MinorUnits, currency: Currency): PayoutQuote => ({
  principal: amount,
  fee: ZERO,
  destinationAmount: amount,
  destinationCurrency: currency,
  rate: null,
  expiresInMs: 1,
  token: ""
})

/** 20,000 UGX to a number of MTN's in Uganda, unless it is changed. */
export const payoutOrder = (change: Partial<PayoutOrder> = {}): PayoutOrder => ({
  reference: newReference(),
  corridor: corridor("payout"),
  quote: quoteFor(minor(20_000n), "UGX"),
  destination: party("UG", "MTN", "+256 770 001234"),
  narration: null,
  ...change
})

export const payoutOf = (country: string, currency: Currency, network: string, amount: bigint): PayoutOrder =>
  payoutOrder({
    corridor: corridor("payout", country, currency),
    quote: quoteFor(minor(amount), currency),
    destination: party(country, network, "256770001234")
  })

export const chargeOrder = (change: Partial<ChargeOrder> = {}): ChargeOrder => ({
  reference: newReference(),
  corridor: corridor("collection"),
  amount: minor(20_000n),
  source: party("UG", "MTN", "256770001234"),
  redirectUrl: null,
  narration: null,
  payer: null,
  otp: null,
  ...change
})

export const chargeOf = (country: string, currency: Currency, network: string, amount: bigint): ChargeOrder =>
  chargeOrder({
    corridor: corridor("collection", country, currency),
    amount: minor(amount),
    source: party(country, network, "256770001234")
  })

export const askOrder = (reference: Reference): StatusQuery => ({
  reference,
  providerReference: null,
  currency: "UGX",
  destinationCurrency: null,
  sentAt: 0,
  charge: { country: "UG", method: "momo", network: "MTN", amount: minor(20_000n), fee: null }
})

/** With what was logged as an error meanwhile. */
export const overheard = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.suspend(() => {
    const errors: Array<string> = []
    const logger = Logger.make(({ fiber, logLevel }) => {
      if (logLevel === "Error") errors.push(JSON.stringify(fiber.getRef(References.CurrentLogAnnotations)))
    })
    return Effect.map(Effect.provide(effect, Logger.layer([logger])), (value) => ({ value, errors }))
  })
