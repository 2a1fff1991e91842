import { Redacted } from "effect"
import { minor } from "../../../src/domain/Money.ts"
import { airtel } from "../../../src/providers/airtel/Adapter.ts"
import type { AirtelSettings, CountryAccount } from "../../../src/providers/airtel/Client.ts"
import { type MarketCountry, places } from "../../../src/providers/airtel/Networks.ts"
import type { ChargeOrder, PayoutOrder } from "../../../src/services/ports/Provider.ts"
import { simulatedFees } from "../../../src/simulator/Fees.ts"
import { chargeOrder, momo, orderOn } from "../contract/Orders.ts"

// What the tests of this adapter order, and how they open it.

export const accountIn = (country: MarketCountry, baseUrl: string, change: Partial<CountryAccount> = {}): CountryAccount => ({
  country,
  currency: places[country].currency,
  version: "v1",
  isSigned: false,
  baseUrl,
  clientId: "6f0c1d5e",
  clientSecret: Redacted.make("b71d"),
  pin: Redacted.make("<enc>"),
  pinKey: "printed",
  pinPadding: "pkcs1",
  ...change
})

export const open = (countries: ReadonlyArray<CountryAccount>, change: Partial<AirtelSettings> = {}) =>
  airtel(
    {
      countries,
      fees: simulatedFees,
      holderCheck: "name",
      callbackKeys: [],
      statementCountries: [],
      timeoutMs: 10_000,
      ...change
    },
    "test"
  )

export const uganda = momo("UG", "UGX", "AIRTEL", "+25675260")
export const zambia = momo("ZM", "ZMW", "AIRTEL", "+26097631")

export const payout = (way = zambia, ending = "0552"): PayoutOrder =>
  orderOn(
    {
      principal: minor(25_000n),
      fee: minor(500n),
      destinationAmount: minor(25_000n),
      destinationCurrency: way.currency,
      rate: null,
      expiresInMs: 1,
      token: ""
    },
    way,
    ending
  )

export const charge = (way = uganda, ending = "4418"): ChargeOrder => ({ ...chargeOrder(way, ending), amount: minor(15_000n) })
