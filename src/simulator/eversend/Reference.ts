import { Effect } from "effect"
import { Currency } from "../../domain/Currency.ts"
import * as Wire from "../../providers/eversend/Wire.ts"
import { balanceOf, gateOf } from "../Call.ts"
import { banksOf, isPayableBank, servedCountries, servedCountry, typeOfMethod } from "./Catalogue.ts"
import { type Call, decodeBody, number, refuse, success } from "./Responses.ts"

/** GET /payouts/countries */
export const countries = () =>
  Effect.succeed(
    success({
      countries: servedCountries.map(({ country, name, pays, phonePrefix }, index) => ({
        country,
        id: String(900 + index),
        name,
        paymentTypes: pays.map((method) => typeOfMethod[method]),
        phonePrefix
      }))
    })
  )

/** GET /payouts/banks/{country} */
export const banks = Effect.fnUntraced(function* (_: Call, country: string) {
  if (servedCountry(country)?.pays.includes("bank") !== true) return yield* refuse(404)
  return success(
    banksOf(country).map(({ active, code, name }) => ({
      id: `${country}${code}`,
      active,
      name,
      branch: { id: "312", code: "", state: "N/A", city: "N/A", name: "Main Branch" },
      code
    }))
  )
})

/** POST /beneficiaries/accounts/banks */
export const resolveBank = Effect.fnUntraced(function* (call: Call) {
  const request = yield* decodeBody(Wire.ResolveBankRequest, call.request)
  if (!isPayableBank(request.countryCode, request.bankCode)) return yield* refuse(404)
  if (!/^[A-Za-z0-9]{4,34}$/.test(request.accountNumber)) return yield* refuse(400)
  yield* gateOf(call, request.accountNumber, ["no_account", "unavailable"])
  return success({ bank_code: request.bankCode, account_number: request.accountNumber, account_name: "JOHN DOE" })
})

/** GET /wallets */
export const wallets = (call: Call) =>
  Effect.succeed(
    success(
      Currency.literals.map((currency) => ({
        currency,
        currencyType: "fiat",
        amount: number(balanceOf(call, currency), currency),
        enabled: true,
        name: `${currency} wallet`,
        isMain: currency === "UGX"
      }))
    )
  )
