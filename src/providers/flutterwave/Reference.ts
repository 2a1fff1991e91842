import { Effect, Redacted, Result } from "effect"
import { isCurrency } from "../../domain/Currency.ts"
import { ProviderError } from "../../domain/errors/Retriable.ts"
import { fromDecimalDown } from "../../domain/Money.ts"
import type { Balance, ReferenceData } from "../../services/ports/Provider.ts"
import type { Call, Client, Deadline } from "./Client.ts"
import { read, refusalStatus } from "./Reading.ts"
import { payableCountries, pays } from "./Routes.ts"
import { BalancesAnswer, BanksAnswer, ResolveAnswer } from "./Wire.ts"

/** Flutterwave knows the holders of Nigerian accounts only. */
export const RESOLVES_IN: ReadonlyArray<string> = ["NG"]

/** Flutterwave's free reads. */
export const referenceData = (client: Client, deadline: Deadline): Required<ReferenceData> => {
  const ask = (call: Call) => Effect.flatMap(deadline, (until) => client(call, until))

  const banks: Required<ReferenceData>["banks"] = Effect.fn("flutterwave.banks")(function* (country) {
    if (!pays(country, "bank")) return []
    const { data } = yield* read(BanksAnswer, yield* ask({ operation: "banks", method: "GET", path: `/banks/${country}` }))
    return data.map(({ code, name }) => ({ code, name }))
  })

  const resolve: Required<ReferenceData>["resolve"] = Effect.fn("flutterwave.resolve")(function* (account) {
    const body = { account_number: Redacted.value(account.accountNumber), account_bank: account.bankCode }
    const exchanged = yield* ask({ operation: "resolve", method: "POST", path: "/accounts/resolve", body })
    if (refusalStatus(exchanged) === 400) return "unresolvable"
    const { data } = yield* read(ResolveAnswer, exchanged)
    return Redacted.make(data.account_name)
  })

  const balances = Effect.fn("flutterwave.balances")(function* () {
    const { data } = yield* read(BalancesAnswer, yield* ask({ operation: "balances", method: "GET", path: "/balances" }))
    return (yield* Effect.forEach(data, balanceOf)).flat()
  })

  return { banks, resolve, countries: Effect.succeed(payableCountries), balances: balances() }
}

/** A currency that the gateway does not know is not its own; digits finer than the currency cannot be paid out. */
const balanceOf = Effect.fnUntraced(function* ({ available_balance, currency }: (typeof BalancesAnswer.Type)["data"][number]) {
  if (!isCurrency(currency)) return []
  const available = fromDecimalDown(available_balance, currency)
  // The ledger balance holds what is not settled yet beside what is on its way out: no part of it is this.
  if (Result.isSuccess(available)) return [{ currency, available: available.success, pending: null } satisfies Balance]
  yield* Effect.logError("a balance at Flutterwave cannot be read", { currency })
  return yield* new ProviderError()
})
