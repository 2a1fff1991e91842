import { Redacted } from "effect"
import type { Corridor } from "../../domain/Corridor.ts"
import type { Currency } from "../../domain/Currency.ts"
import type { Destination, MomoParty } from "../../domain/Party.ts"
import type { PricedPlaces } from "../FeeSchedule.ts"
import { plainRule, recipientName } from "../ProviderText.ts"

// The destinations that Paystack reaches, with its codes. Any other is refused without a call.

interface Country {
  readonly currency: Currency
  /** As in the query of the list of banks. */
  readonly name: string
  readonly prefix: string
  /** The recipient type of a bank account. */
  readonly bankType: string | null
  /** Whether the name of an account's holder can be looked up. */
  readonly resolves: boolean
  readonly chargeProviders: Readonly<Record<string, string>>
  readonly recipientBanks: Readonly<Record<string, string>>
}

const countries: Readonly<Record<string, Country>> = {
  NG: {
    currency: "NGN",
    name: "nigeria",
    prefix: "234",
    bankType: "nuban",
    resolves: true,
    chargeProviders: {},
    recipientBanks: {}
  },
  GH: {
    currency: "GHS",
    name: "ghana",
    prefix: "233",
    bankType: "ghipss",
    resolves: true,
    chargeProviders: { MTN: "mtn", AT: "atl", TELECEL: "vod" },
    recipientBanks: { MTN: "MTN", AT: "ATL", TELECEL: "VOD" }
  },
  KE: {
    currency: "KES",
    name: "kenya",
    prefix: "254",
    bankType: "kepss",
    resolves: false,
    chargeProviders: { MPESA: "mpesa", AIRTEL: "atl" },
    recipientBanks: { MPESA: "MPESA" }
  },
  CI: {
    currency: "XOF",
    name: "cote d'ivoire",
    prefix: "225",
    bankType: null,
    resolves: false,
    chargeProviders: { MTN: "mtn", ORANGE: "orange", WAVE: "wave" },
    recipientBanks: {}
  }
}

export const resolvingCountries: ReadonlyArray<string> = Object.keys(countries).filter((country) => countries[country]?.resolves)

export const countryOf = (country: string): Country | undefined => countries[country]

type Method = "momo" | "bank"

/** The methods by which a country can be paid. */
export const payableBy = (country: string): ReadonlyArray<Method> => {
  const found = countryOf(country)
  const methods: ReadonlyArray<Method> = ["momo", "bank"]
  return methods.filter((method) =>
    method === "bank" ? (found?.bankType ?? null) !== null : Object.keys(found?.recipientBanks ?? {}).length > 0
  )
}

export const isPayable = ({ country, currency, method }: Pick<Corridor, "country" | "currency" | "method">): boolean =>
  countryOf(country)?.currency === currency && payableBy(country).some((one) => one === method)

/** Paystack quotes no transfers; its responses name the fee of each charge. */
export const pricedPlaces: PricedPlaces = {
  payout: Object.entries(countries).flatMap(([country, { currency, recipientBanks }]) =>
    payableBy(country).map((method) => ({
      country,
      currency,
      method,
      networks: method === "momo" ? Object.keys(recipientBanks) : []
    }))
  )
}

/** The number and provider of a charge; undefined for a network that Paystack does not charge. */
export const chargedParty = (
  { country, msisdn, network }: MomoParty,
  currency: Currency
): { readonly phone: string; readonly provider: string } | undefined => {
  const found = countryOf(country)
  const provider = found?.chargeProviders[network]
  if (found === undefined || provider === undefined || found.currency !== currency) return undefined
  return { phone: country === "GH" ? national(msisdn, found) : `+${digitsOf(msisdn)}`, provider }
}

/** The body of POST /transferrecipient; undefined for a destination that Paystack does not pay. */
export const recipientBody = (destination: Destination, currency: Currency): object | undefined => {
  const found = countryOf(destination.country)
  if (found === undefined || found.currency !== currency) return undefined
  if (destination._tag === "bank" && found.bankType !== null) {
    const { accountNumber, bankCode } = destination
    return {
      type: found.bankType,
      name: recipientName(nameRule, destination),
      account_number: Redacted.value(accountNumber),
      bank_code: bankCode,
      currency
    }
  }
  const bank = destination._tag === "momo" ? found.recipientBanks[destination.network] : undefined
  if (destination._tag !== "momo" || bank === undefined) return undefined
  return {
    type: "mobile_money",
    name: recipientName(nameRule, destination),
    account_number: national(destination.msisdn, found),
    bank_code: bank,
    currency
  }
}

/** The maximum length of account names; Paystack documents no limit. */
export const nameRule = plainRule(128)

/** In the country's national format. */
const national = (msisdn: Redacted.Redacted, { prefix }: Country): string => {
  const digits = digitsOf(msisdn)
  return digits.startsWith(prefix) ? `0${digits.slice(prefix.length)}` : digits
}

/** With the country's prefix but without the plus sign. */
const digitsOf = (msisdn: Redacted.Redacted): string => Redacted.value(msisdn).replace(/^\+/, "")
