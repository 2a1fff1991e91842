import { Redacted } from "effect"
import type { Corridor, Method } from "../../../src/domain/Corridor.ts"
import type { Currency } from "../../../src/domain/Currency.ts"
import { type Reference, referenceFrom } from "../../../src/domain/Ids.ts"
import { minor } from "../../../src/domain/Money.ts"
import type { Destination } from "../../../src/domain/Party.ts"
import { eversend } from "../../../src/providers/eversend/Adapter.ts"
import type { EversendSettings } from "../../../src/providers/eversend/Client.ts"
import type {
  Adapter,
  ChargeOrder,
  CollectionOperations,
  PayoutOperations,
  PayoutOrder,
  PayoutQuote,
  QuoteOrder,
  StatusQuery
} from "../../../src/services/ports/Provider.ts"

// What the tests of the adapter order. The credentials are those of EversendBench.

export const settings = (baseUrl: string, change: Partial<EversendSettings> = {}): EversendSettings => ({
  baseUrl,
  clientId: "simulator",
  clientSecret: Redacted.make("simulator-secret"),
  webhookSecret: Redacted.make("webhook-secret"),
  origin: null,
  timeoutMs: 10_000,
  ...change
})

export const open = (baseUrl: string, change: Partial<EversendSettings> = {}) => eversend(settings(baseUrl, change), "test")

const present = <A>(part: A | undefined): A => {
  if (part === undefined) throw new Error("Eversend can do this")
  return part
}
export const payoutsOf = ({ payouts }: Adapter): PayoutOperations => present(payouts)
export const collectionsOf = ({ collections }: Adapter): CollectionOperations => present(collections)

let made = 0
/** Another one each time. */
export const newReference = (): Reference => {
  made += 1
  return referenceFrom(Buffer.from(String(made).padStart(26, "0"), "latin1"))
}

export const corridor = (
  direction: Corridor["direction"],
  method: Method = "momo",
  country = "UG",
  currency: Currency = "UGX"
): Corridor => ({
  country,
  currency,
  direction,
  method,
  active: true,
  providers: ["eversend"],
  networks: ["MTN"],
  minimum: null,
  maximum: null,
  customerAction: country === "GH" ? "redirect" : "handset_pin",
  requiresRedirectUrl: country === "GH",
  requiresMsisdn: false,
  preference: "order",
  requiresName: false,
  destinationCurrencies: [currency],
  availability: "operational",
  inactiveReason: null,
  updatedAt: 0
})

export const momo = (ending: string): Destination => ({
  _tag: "momo",
  msisdn: Redacted.make(`25670000${ending}`),
  network: "MTN",
  country: "UG"
})

export const bank = (ending: string, accountName = "Jane Mary Doe"): Destination => ({
  _tag: "bank",
  country: "UG",
  bankCode: "16",
  accountNumber: Redacted.make(`00120${ending}`),
  accountName: Redacted.make(accountName),
  msisdn: null
})

export const wallet = (ending: string): Destination => ({
  _tag: "wallet",
  country: "UG",
  identifier: "tag",
  value: Redacted.make(`janedoe${ending}`)
})

export const quoteOrder = (change: Partial<QuoteOrder> = {}): QuoteOrder => ({
  corridor: corridor("payout"),
  amount: minor(20_000n),
  amountType: "SOURCE",
  destinationCurrency: "UGX",
  destinationCountry: "UG",
  destination: null,
  ...change
})

const quote: PayoutQuote = {
  principal: minor(20_000n),
  fee: minor(1000n),
  destinationAmount: minor(20_000n),
  destinationCurrency: "UGX",
  rate: null,
  expiresInMs: 1_740_000,
  token: "a-quotation-token"
}

export const payoutOrder = (change: Partial<PayoutOrder> = {}): PayoutOrder => ({
  reference: newReference(),
  corridor: corridor("payout"),
  quote,
  destination: momo("1234"),
  narration: null,
  ...change
})

export const chargeOrder = (ending: string, change: Partial<ChargeOrder> = {}): ChargeOrder => ({
  reference: newReference(),
  corridor: corridor("collection"),
  amount: minor(20_000n),
  source: { _tag: "momo", msisdn: Redacted.make(`25670000${ending}`), network: "MTN", country: "UG" },
  redirectUrl: null,
  narration: null,
  payer: null,
  otp: null,
  ...change
})

export const askOrder = (reference: Reference, providerReference: string | null = null): StatusQuery => ({
  reference,
  providerReference,
  currency: "UGX",
  destinationCurrency: null,
  sentAt: 1_790_000_000_000
})
