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

/** `asks`: the payer enters a PIN on the handset, or beforehand creates a code by USSD. */
interface Deposit extends Operation {
  readonly asks: "pin" | "code"
}

export interface Network {
  /** pawaPay's name for this country's network. */
  readonly provider: string
  /** Null when the gateway cannot collect from it. */
  readonly deposit: Deposit | null
  readonly payout: Operation
}

export interface Market {
  readonly country: string
  /** ISO 3166 alpha-3, as pawaPay uses it. */
  readonly iso3: string
  readonly name: string
  readonly prefix: string
  readonly currency: Currency
  /** By the network's code in corridors. */
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

type Place = readonly [country: string, iso3: string, name: string, prefix: string, currency: Currency]

const market = ([country, iso3, name, prefix, currency]: Place, networks: Market["networks"]): Market => ({
  country,
  iso3,
  name,
  prefix,
  currency,
  networks
})

const ghana: AmountLimits = [1n, 15_000n, 2]
const zambia: AmountLimits = [1n, 20_000n, 2]
const franc: AmountLimits = [1n, 2_000_000n, 0]
const burkina: AmountLimits = [100n, 2_000_000n, 0]

// The limits are a sample account's. `ActiveConf` reads each account's own; until then only the decimals are enforced.
export const markets: ReadonlyArray<Market> = [
  market(["UG", "UGA", "Uganda", "256", "UGX"], {
    MTN: network("MTN_MOMO_UGA", [500n, 5_000_000n, 2]),
    AIRTEL: network("AIRTEL_OAPI_UGA", [500n, 5_000_000n, 0])
  }),
  market(["KE", "KEN", "Kenya", "254", "KES"], { MPESA: network("MPESA_KEN", [1n, 250_000n, 0], [10n, 250_000n, 2]) }),
  market(["RW", "RWA", "Rwanda", "250", "RWF"], {
    MTN: network("MTN_MOMO_RWA", [5n, 2_000_000n, 0]),
    AIRTEL: network("AIRTEL_RWA", [100n, 1_500_000n, 0])
  }),
  market(["GH", "GHA", "Ghana", "233", "GHS"], {
    MTN: network("MTN_MOMO_GHA", ghana),
    TELECEL: network("VODAFONE_GHA", ghana),
    AT: network("AIRTELTIGO_GHA", [1n, 10_000n, 2])
  }),
  market(["TZ", "TZA", "Tanzania", "255", "TZS"], {
    AIRTEL: network("AIRTEL_TZA", [100n, 3_000_000n, 2]),
    HALOTEL: network("HALOTEL_TZA", [100n, 5_000_000n, 0]),
    TIGO: network("TIGO_TZA", [100n, 5_000_000n, 0], [1n, 5_000_000n, 0]),
    MPESA: network("VODACOM_TZA", [100n, 5_000_000n, 0])
  }),
  market(["ZM", "ZMB", "Zambia", "260", "ZMW"], {
    MTN: network("MTN_MOMO_ZMB", zambia),
    AIRTEL: network("AIRTEL_OAPI_ZMB", zambia),
    ZAMTEL: network("ZAMTEL_ZMB", zambia)
  }),
  market(["CM", "CMR", "Cameroon", "237", "XAF"], {
    MTN: network("MTN_MOMO_CMR", [1n, 1_000_000n, 0]),
    ORANGE: network("ORANGE_CMR", [1n, 500_000n, 0])
  }),
  market(["CI", "CIV", "Côte d'Ivoire", "225", "XOF"], {
    MTN: network("MTN_MOMO_CIV", franc),
    ORANGE: network("ORANGE_CIV", franc),
    // Its payers finish on a page whose URL appears only in a later status, when the payer can no longer be redirected.
    WAVE: { ...network("WAVE_CIV", franc), deposit: null }
  }),
  market(["BF", "BFA", "Burkina Faso", "226", "XOF"], {
    MOOV: network("MOOV_BFA", burkina),
    ORANGE: network("ORANGE_BFA", burkina, burkina, "code")
  })
]

export const marketOf = (country: string): Market | undefined => markets.find((one) => one.country === country)

const feePlaces = (takes: (network: Network) => boolean): ReadonlyArray<FeePlace> =>
  markets.map(({ country, currency, networks }) => ({
    country,
    currency,
    method: "momo",
    networks: Object.keys(networks).filter((code) => networks[code] !== undefined && takes(networks[code]))
  }))

/** pawaPay's responses name no fee. */
export const pricedPlaces: PricedPlaces = {
  payout: feePlaces(() => true),
  collection: feePlaces(({ deposit }) => deposit !== null)
}
