import { Effect, Redacted } from "effect"
import { fromDecimalDown } from "../../domain/Money.ts"
import type { ReferenceData } from "../../services/ports/ProviderReads.ts"
import { balancesAt } from "../Balances.ts"
import type { Connection } from "../Connection.ts"
import { readableRows } from "../Rows.ts"
import { branchCountries, payableCountries, pays } from "./Networks.ts"
import { refusalStatus } from "./Refusals.ts"
import { Balance, BalancesAnswer, Bank, BanksAnswer, Branch, BranchesAnswer, ResolveAnswer } from "./Wire.ts"

/** Flutterwave can look up the holders of Nigerian accounts only. */
export const RESOLVES_IN: ReadonlyArray<string> = ["NG"]

/** Flutterwave's free reads. */
export const referenceData = ({ call, get, name, read }: Connection): Required<ReferenceData> => {
  const banks: Required<ReferenceData>["banks"] = Effect.fn("flutterwave.banks")(function* (country) {
    if (!pays(country, "bank")) return []
    const { data } = yield* get(BanksAnswer, "banks", `/banks/${country}`)
    return (yield* readableRows(name, "banks", Bank, data)).map((bank) => ({ code: bank.code, name: bank.name }))
  })

  /** By the bank's identifier from Flutterwave's own list of banks. */
  const branches: Required<ReferenceData>["branches"] = Effect.fn("flutterwave.branches")(function* (country, bankCode) {
    if (!pays(country, "bank") || !branchCountries.includes(country)) return []
    const listed = yield* get(BanksAnswer, "banks", `/banks/${country}`)
    const id = (yield* readableRows(name, "banks", Bank, listed.data)).find(({ code }) => code === bankCode)?.id
    if (id === undefined) return []
    const { data } = yield* get(BranchesAnswer, "branches", `/banks/${encodeURIComponent(id)}/branches`)
    const found = yield* readableRows(name, "branches", Branch, data)
    return found.map((branch) => ({ code: branch.branch_code, name: branch.branch_name ?? branch.branch_code }))
  })

  const resolve: Required<ReferenceData>["resolve"] = Effect.fn("flutterwave.resolve")(function* (account) {
    const body = { account_number: Redacted.value(account.accountNumber), account_bank: account.bankCode }
    const response = yield* call({ operation: "resolve", method: "POST", path: "/accounts/resolve", body })
    if (refusalStatus(response) === 400) return "unresolvable"
    const { data } = yield* read(ResolveAnswer, response)
    return Redacted.make(data.account_name)
  })

  const balances = Effect.fn("flutterwave.balances")(function* () {
    const { data } = yield* get(BalancesAnswer, "balances", "/balances")
    // The ledger balance includes both unsettled and outgoing money, so it does not give the pending part.
    const listed = yield* readableRows(name, "balances", Balance, data)
    const held = listed.map(({ available_balance: amount, currency }) => ({ amount, currency }))
    return yield* balancesAt(name, held, fromDecimalDown)
  })

  return { banks, branches, resolve, countries: Effect.succeed(payableCountries), balances: balances() }
}
