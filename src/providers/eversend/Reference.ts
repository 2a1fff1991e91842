import { Effect, Redacted } from "effect"
import { fromDecimalDown } from "../../domain/Money.ts"
import type { PayableCountry, ReferenceData } from "../../services/ports/ProviderReads.ts"
import { balancesAt } from "../Balances.ts"
import type { Connection } from "../Connection.ts"
import { readableRows } from "../Rows.ts"
import { isRefusal } from "./Refusals.ts"
import { Bank, BanksAnswer, CountriesAnswer, Country, ResolveBankAnswer, Wallet, WalletsAnswer } from "./Wire.ts"

/** Eversend's free reads. */
export const referenceData = ({ call, get, name, read }: Connection): Required<Omit<ReferenceData, "branches">> => {
  const banks: Required<ReferenceData>["banks"] = Effect.fn("eversend.banks")(function* (country) {
    const response = yield* call({ operation: "banks", method: "GET", path: `/payouts/banks/${country}` })
    // Eversend does not pay banks in that country.
    if (isRefusal(response) && response.status === 404) return []
    const { data } = yield* read(BanksAnswer, response)
    const listed = yield* readableRows(name, "banks", Bank, data)
    return listed.filter(({ active }) => active).map((bank) => ({ code: bank.code, name: bank.name }))
  })

  const resolve: Required<ReferenceData>["resolve"] = Effect.fn("eversend.resolve")(function* (account) {
    const response = yield* call({
      operation: "resolve",
      method: "POST",
      path: "/beneficiaries/accounts/banks",
      body: {
        accountNumber: Redacted.value(account.accountNumber),
        bankCode: account.bankCode,
        countryCode: account.country
      }
    })
    if (isRefusal(response) && UNRESOLVABLE.includes(response.status)) return "unresolvable"
    const { data } = yield* read(ResolveBankAnswer, response)
    return Redacted.make(data.account_name)
  })

  const countries = Effect.fn("eversend.countries")(function* () {
    const { data } = yield* get(CountriesAnswer, "countries", "/payouts/countries")
    return (yield* readableRows(name, "countries", Country, data.countries)).map(
      ({ paymentTypes, ...place }): PayableCountry => ({
        ...place,
        methods: methods.filter((method) => paymentTypes.includes(paymentTypeOf[method]))
      })
    )
  })

  const balances = Effect.fn("eversend.balances")(function* () {
    const { data } = yield* get(WalletsAnswer, "wallets", "/wallets")
    return yield* balancesAt(
      name,
      (yield* readableRows(name, "wallets", Wallet, data)).filter(({ enabled }) => enabled),
      fromDecimalDown
    )
  })

  return { banks, resolve, countries: countries(), balances: balances() }
}

/** The statuses with which Eversend says that there is no such account. */
const UNRESOLVABLE = [400, 404, 422]

const methods = ["momo", "bank", "wallet"] as const
/** Eversend calls its own wallet by its own name. */
const paymentTypeOf = { momo: "momo", bank: "bank", wallet: "eversend" } as const satisfies Record<
  (typeof methods)[number],
  string
>
