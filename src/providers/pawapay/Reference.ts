import { Effect } from "effect"
import type { Currency } from "../../domain/Currency.ts"
import { add, fromDecimalDown, type MinorUnits, ZERO } from "../../domain/Money.ts"
import type { PayableCountry, ReferenceData } from "../../services/ports/ProviderReads.ts"
import { balancesAt } from "../Balances.ts"
import type { Connection } from "../Connection.ts"
import { readableRows } from "../Rows.ts"
import { type ActiveConf, operationsIn } from "./ActiveConf.ts"
import { markets } from "./Networks.ts"
import { type ActiveCountry, BalancesAnswer, Wallet } from "./Wire.ts"

/** pawaPay's free reads. It lists no banks. */
export const referenceData = (
  { get, name }: Connection,
  { read: activeCountries }: Pick<ActiveConf, "read">
): Required<Pick<ReferenceData, "countries" | "balances">> => {
  const countries = Effect.fn("pawapay.countries")(function* () {
    const active = yield* activeCountries
    return markets.flatMap(({ country, iso3, name: title, prefix }): ReadonlyArray<PayableCountry> => {
      const pays = active.some((one) => one.country === iso3 && isPayable(one))
      return pays ? [{ country, name: title, phonePrefix: `+${prefix}`, methods: ["momo"] }] : []
    })
  })

  // Wallets are per country; balances in a currency that several countries share are added up.
  const balances = Effect.fn("pawapay.balances")(function* () {
    const sums = new Map<Currency, MinorUnits>()
    const { balances: wallets } = yield* get(BalancesAnswer, "wallet_balances", "/wallet-balances")
    const held = (yield* readableRows(name, "wallet_balances", Wallet, wallets)).map(({ balance: amount, currency }) => ({
      amount,
      currency
    }))
    for (const { available, currency } of yield* balancesAt(name, held, fromDecimalDown))
      sums.set(currency, add(sums.get(currency) ?? ZERO, available))
    return [...sums].map(([currency, available]) => ({ currency, available, pending: null }))
  })

  return { countries: countries(), balances: balances() }
}

const isPayable = ({ providers }: typeof ActiveCountry.Type): boolean =>
  providers.some(({ currencies }) => currencies.some(({ operationTypes }) => operationsIn(operationTypes).has("PAYOUT")))
