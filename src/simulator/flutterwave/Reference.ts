import { Effect } from "effect"
import { Currency } from "../../domain/Currency.ts"
import { ResolveRequest } from "../../providers/flutterwave/Wire.ts"
import { plainNumber } from "../../providers/WireNumber.ts"
import { balanceOf, gateOf } from "../Call.ts"
import { bankCountries, banks, RESOLVED_COUNTRY } from "./Catalogue.ts"
import { type Call, decodeBody, refuse, success } from "./Responses.ts"

/** GET /banks/{country} */
export const listBanks = Effect.fnUntraced(function* (_: Call, country: string) {
  if (!bankCountries.includes(country)) return yield* refuse(400, "country is not supported")
  const found = banks.filter((one) => one.country === country)
  return success(
    "Banks fetched successfully",
    found.map(({ code, id, name }) => ({ id, code, name }))
  )
})

/** GET /banks/{id}/branches */
export const listBranches = Effect.fnUntraced(function* (_: Call, id: string) {
  const bank = banks.find((one) => String(one.id) === id)
  if (bank === undefined) return yield* refuse(404, "Bank not found")
  return success(
    "Bank branches fetched successfully",
    bank.branches.map((branch, index) => ({
      id: bank.id * 100 + index,
      branch_code: branch,
      branch_name: `${bank.name} ${branch}`.toUpperCase(),
      swift_code: "",
      bic: "",
      bank_id: bank.id
    }))
  )
})

/** POST /accounts/resolve */
export const resolveAccount = Effect.fnUntraced(function* (call: Call) {
  const { account_bank, account_number } = yield* decodeBody(ResolveRequest, call.request)
  const isKnown = banks.some(({ code, country }) => code === account_bank && country === RESOLVED_COUNTRY)
  if (!isKnown || !/^\d{4,20}$/.test(account_number))
    return yield* refuse(400, "Sorry, that account number is invalid, please check and try again")
  yield* gateOf(call, account_number, ["no_account", "unavailable"])
  return success("Account details fetched", { account_number, account_name: "JOHN DOE" })
})

const walletsOf = (call: Call) =>
  Currency.literals.map((currency) => {
    const amount = plainNumber(balanceOf(call, currency), currency)
    return { currency, available_balance: amount, ledger_balance: amount }
  })

/** GET /balances */
export const listBalances = (call: Call) => Effect.sync(() => success("Wallet balances fetched", walletsOf(call)))

/** GET /balances/{currency} */
export const oneBalance = Effect.fnUntraced(function* (call: Call, currency: string) {
  const found = walletsOf(call).find((one) => one.currency === currency)
  return found === undefined ? yield* refuse(400, "currency is not supported") : success("Wallet balance fetched", found)
})
