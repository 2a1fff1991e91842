import type { Currency } from "../../domain/Currency.ts"
import type { FeePlace, PricedPlaces } from "../FeeSchedule.ts"

/** How many decimals an amount may have. */
export type Decimals = 0 | 2

/** The limits of one network for one operation, in major units. */
interface Operation {
  readonly minimum: bigint
  readonly maximum: bigint
  readonly decimals: Decimals
}

/** `asks`: on the handset for a PIN, or beforehand for a code that the payer makes by USSD. */
interface Deposit extends Operation {
  readonly asks: "pin" | "code"
}

export interface Network {
  /** pawaPay's name for the network of this country. */
  readonly provider: string
  /** Null where the gateway cannot collect from it. */
  readonly deposit: Deposit | null
  readonly payout: Operation
}

export interface Market {
  readonly country: string
  /** ISO 3166 alpha-3, as pawaPay names countries. */
  readonly iso3: string
  readonly name: string
  readonly prefix: string
  readonly currency: Currency
  /** By the corridor's code of the network. */
  readonly networks: Readonly<Record<string, Network>>
}

type AmountLimits = readonly [minimum: bigint, maximum: bigint, decimals: Decimals]

const operation = ([minimum, maximum, decimals]: AmountLimits): Operation => ({ minimum, maximum, decimals })
const network = (
  provider: string,
  deposit: AmountLimits,
  payout: AmountLimits = deposit,
  asks: Deposit["asks"] = "pin"
): Network => ({
  provider,
  deposit: { ...operation(deposit), asks },
  payout: operation(payout)
})

const ghana: AmountLimits = [1n, 15_000n, 2]
const zambia: AmountLimits = [1n, 20_000n, 2]
const franc: AmountLimits = [1n, 2_000_000n, 0]
const burkina: AmountLimits = [100n, 2_000_000n, 0]

// The limits are a sample account's; each account has its own, which `ActiveConf` reads. Until it was read the gateway itself minds the decimals only.
export const markets: ReadonlyArray<Market> = [
  {
    country: "UG",
    iso3: "UGA",
    name: "Uganda",
    prefix: "256",
    currency: "UGX",
    networks: {
      MTN: network("MTN_MOMO_UGA", [500n, 5_000_000n, 2]),
      AIRTEL: network("AIRTEL_OAPI_UGA", [500n, 5_000_000n, 0])
    }
  },
  {
    country: "KE",
    iso3: "KEN",
    name: "Kenya",
    prefix: "254",
    currency: "KES",
    networks: { MPESA: network("MPESA_KEN", [1n, 250_000n, 0], [10n, 250_000n, 2]) }
  },
  {
    country: "RW",
    iso3: "RWA",
    name: "Rwanda",
    prefix: "250",
    currency: "RWF",
    networks: { MTN: network("MTN_MOMO_RWA", [5n, 2_000_000n, 0]), AIRTEL: network("AIRTEL_RWA", [100n, 1_500_000n, 0]) }
  },
  {
    country: "GH",
    iso3: "GHA",
    name: "Ghana",
    prefix: "233",
    currency: "GHS",
    networks: {
      MTN: network("MTN_MOMO_GHA", ghana),
      TELECEL: network("VODAFONE_GHA", ghana),
      AT: network("AIRTELTIGO_GHA", [1n, 10_000n, 2])
    }
  },
  {
    country: "TZ",
    iso3: "TZA",
    name: "Tanzania",
    prefix: "255",
    currency: "TZS",
    networks: {
      AIRTEL: network("AIRTEL_TZA", [100n, 3_000_000n, 2]),
      HALOTEL: network("HALOTEL_TZA", [100n, 5_000_000n, 0]),
      TIGO: network("TIGO_TZA", [100n, 5_000_000n, 0], [1n, 5_000_000n, 0]),
      MPESA: network("VODACOM_TZA", [100n, 5_000_000n, 2])
    }
  },
  {
    country: "ZM",
    iso3: "ZMB",
    name: "Zambia",
    prefix: "260",
    currency: "ZMW",
    networks: {
      MTN: network("MTN_MOMO_ZMB", zambia),
      AIRTEL: network("AIRTEL_OAPI_ZMB", zambia),
      ZAMTEL: network("ZAMTEL_ZMB", zambia)
    }
  },
  {
    country: "CM",
    iso3: "CMR",
    name: "Cameroon",
    prefix: "237",
    currency: "XAF",
    networks: { MTN: network("MTN_MOMO_CMR", [1n, 1_000_000n, 0]), ORANGE: network("ORANGE_CMR", [1n, 500_000n, 0]) }
  },
  {
    country: "CI",
    iso3: "CIV",
    name: "Côte d'Ivoire",
    prefix: "225",
    currency: "XOF",
    networks: {
      MTN: network("MTN_MOMO_CIV", franc),
      ORANGE: network("ORANGE_CIV", franc),
      // Its payers finish on a page whose address comes with a later status only, when a payer can no longer be sent there.
      WAVE: { ...network("WAVE_CIV", franc), deposit: null }
    }
  },
  {
    country: "BF",
    iso3: "BFA",
    name: "Burkina Faso",
    prefix: "226",
    currency: "XOF",
    networks: { MOOV: network("MOOV_BFA", burkina), ORANGE: network("ORANGE_BFA", burkina, burkina, "code") }
  }
]

export const marketOf = (country: string): Market | undefined => markets.find((one) => one.country === country)

const feePlaces = (takes: (network: Network) => boolean): ReadonlyArray<FeePlace> =>
  markets.map(({ country, currency, networks }) => ({
    country,
    currency,
    method: "momo",
    networks: Object.keys(networks).filter((code) => networks[code] !== undefined && takes(networks[code]))
  }))

/** pawaPay's answers name no fee. */
export const pricedPlaces: PricedPlaces = {
  payout: feePlaces(() => true),
  collection: feePlaces(({ deposit }) => deposit !== null)
}
