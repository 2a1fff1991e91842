import { Effect } from "effect"
import { fromDecimalDown } from "../../domain/Money.ts"
import type { ReferenceData } from "../../services/ports/ProviderReads.ts"
import { balancesAt } from "../Balances.ts"
import type { Branch } from "../CountryBranches.ts"
import type { Wallet } from "./Client.ts"
import { places } from "./Networks.ts"
import { BALANCE_PATH, BalanceAnswer } from "./Wire.ts"

/** Wave's free reads. It knows no banks, and compares a holder's name without telling it. */
export const referenceData = (branches: ReadonlyArray<Branch<Wallet>>): ReferenceData => ({
  countries: Effect.succeed(branches.map(({ account: { country } }) => ({ country, ...places[country], methods: ["momo"] }))),
  balances: Effect.forEach(branches, ({ connection: { get, name } }) =>
    Effect.flatMap(get(BalanceAnswer, "balance", BALANCE_PATH), (held) => balancesAt(name, [held], fromDecimalDown))
  ).pipe(
    Effect.map((all) => all.flat()),
    Effect.withSpan("wave.balances")
  )
})
