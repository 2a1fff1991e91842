import { Effect } from "effect"
import type { Currency } from "../../domain/Currency.ts"
import { add, fromDecimalDown, type MinorUnits, ZERO } from "../../domain/Money.ts"
import type { PayableCountry, ReferenceData } from "../../services/ports/ProviderReads.ts"
import { balancesAt } from "../Balances.ts"
import type { Connection } from "../Connection.ts"
import { readableRows } from "../Rows.ts"
import { markets } from "./Networks.ts"
import { ActiveConfAnswer, ActiveCountry, BalancesAnswer, Wallet } from "./Wire.ts"

/** pawaPay's free reads. It knows no banks. */
export const referenceData = ({ get, name }: Connection): Required<Pick<ReferenceData, "countries" | "balances">> => {
  const countries = Effect.fn("pawapay.countries")(function* () {
    const listed = yield* get(ActiveConfAnswer, "active_conf", "/active-conf")
    const active = yield* readableRows(name, "active_conf", ActiveCountry, listed.countries)
    return markets.flatMap(({ country, iso3, name: title, prefix }): ReadonlyArray<PayableCountry> => {
      const pays = active.some((one) => one.country === iso3 && isPayable(one))
      return pays ? [{ country, name: title, phonePrefix: `+${prefix}`, methods: ["momo"] }] : []
    })
  })

  // A wallet is of one country; the currencies that several countries share are told together.
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
  providers.some(({ currencies }) => currencies.some(({ operationTypes }) => operationsOf(operationTypes).includes("PAYOUT")))

const operationsOf = (
  types: (typeof ActiveCountry.Type)["providers"][number]["currencies"][number]["operationTypes"]
): ReadonlyArray<string> => (isList(types) ? types.map(({ operationType }) => operationType) : Object.keys(types))

const isList = <A>(value: ReadonlyArray<A> | Readonly<Record<string, unknown>>): value is ReadonlyArray<A> => Array.isArray(value)
