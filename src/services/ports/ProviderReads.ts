import type { Effect, Redacted } from "effect"
import type { BankAccount } from "../../domain/BankAccount.ts"
import type { Currency } from "../../domain/Currency.ts"
import type { ProviderError } from "../../domain/errors/Retriable.ts"
import type { MinorUnits } from "../../domain/Money.ts"

export interface PayableBank {
  /** The code that a payout uses for it. */
  readonly code: string
  readonly name: string
}

export interface BankBranch {
  /** The code that a payout uses for it. */
  readonly code: string
  readonly name: string
}

export interface PayableCountry {
  readonly country: string
  readonly name: string
  /** With the plus sign. */
  readonly phonePrefix: string
  readonly methods: ReadonlyArray<"momo" | "bank" | "wallet">
}

/** The balance of one wallet of the account; `pending` is null when the provider does not report it. */
export interface Balance {
  readonly currency: Currency
  readonly available: MinorUnits
  readonly pending: MinorUnits | null
}

/** Free reads that call the provider each time. A ProviderError says nothing about the answer. */
export interface ReferenceData {
  /** The banks that can be paid now; empty when the provider pays no banks in that country. */
  readonly banks?: (country: string) => Effect.Effect<ReadonlyArray<PayableBank>, ProviderError>
  /** The branches of a bank from `banks`, as payouts name them; empty for another bank, and when payouts name no branch. */
  readonly branches?: (country: string, bankCode: string) => Effect.Effect<ReadonlyArray<BankBranch>, ProviderError>
  /** The holder's name as the bank knows it. `unresolvable`: the provider says that there is no such account. */
  readonly resolve?: (account: BankAccount) => Effect.Effect<Redacted.Redacted | "unresolvable", ProviderError>
  readonly countries?: Effect.Effect<ReadonlyArray<PayableCountry>, ProviderError>
  /** The wallets in currencies that the gateway knows. */
  readonly balances?: Effect.Effect<ReadonlyArray<Balance>, ProviderError>
}

/** The same reads, each wrapped by `through`, which gets the read's name. */
export const readsThrough = (
  { balances, banks, branches, countries, resolve }: ReferenceData,
  through: <A>(read: keyof ReferenceData, ask: Effect.Effect<A, ProviderError>) => Effect.Effect<A, ProviderError>
): ReferenceData => ({
  ...(banks && { banks: (country) => through("banks", banks(country)) }),
  ...(branches && { branches: (country, bankCode) => through("branches", branches(country, bankCode)) }),
  ...(resolve && { resolve: (account) => through("resolve", resolve(account)) }),
  ...(countries && { countries: through("countries", countries) }),
  ...(balances && { balances: through("balances", balances) })
})
