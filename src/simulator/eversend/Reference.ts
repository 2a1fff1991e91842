import { Effect } from "effect"
import { exponents, isCurrency } from "../../domain/Currency.ts"
import * as Wire from "../../providers/eversend/Wire.ts"
import { endingOf, playOf } from "../Endings.ts"
import { type Call, decodeBody, PROVIDER, passGate, refuse, success } from "./Call.ts"
import { banksOf, isPayableBank, servedCountries, servedCountry, typeOfMethod } from "./Catalogue.ts"
import { number } from "./Transactions.ts"

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
export const banks = Effect.fnUntraced(function* (country: string) {
  if (servedCountry(country)?.pays.includes("bank") !== true) return yield* refuse(404, "Country not found")
  return success(
    banksOf(country).map(({ active, code, id, name }) => ({
      id,
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
  if (!isPayableBank(request.countryCode, request.bankCode)) return yield* refuse(404, "Bank not found")
  if (!/^[A-Za-z0-9]{4,34}$/.test(request.accountNumber)) return yield* refuse(400, "accountNumber is invalid")
  const play = playOf("payout", endingOf(request.accountNumber))
  if (play.gate === "no_account" || play.gate === "unavailable") yield* passGate(play)
  return success({ bank_code: request.bankCode, account_number: request.accountNumber, account_name: "JOHN DOE" })
})

/** POST /beneficiaries/accounts/eversend: the phone counts when there are several. */
export const resolveWallet = Effect.fnUntraced(function* (call: Call) {
  const request = yield* decodeBody(Wire.ResolveWalletRequest, call.request)
  const recipient = request.phone ?? request.email ?? request.tag
  if (recipient === undefined || recipient === "") return yield* refuse(400, "phone or email is required")
  const play = playOf("payout", endingOf(recipient))
  if (play.gate === "unavailable") yield* passGate(play)
  return success({ accountExists: play.gate !== "no_account" })
})

/** GET /wallets */
export const wallets = (call: Call) =>
  Effect.succeed(
    success(
      Object.keys(exponents)
        .filter(isCurrency)
        .map((currency) => ({
          currency,
          currencyType: "fiat",
          amount: number(call.context.account.balance(PROVIDER, call.merchant.clientId, currency), currency),
          enabled: true,
          name: `${currency} wallet`,
          isMain: currency === "UGX"
        }))
    )
  )
