import type { Effect, Redacted } from "effect"
import type { BankAccount } from "../../domain/BankAccount.ts"
import type { Currency } from "../../domain/Currency.ts"
import type { ProviderError } from "../../domain/errors/Retriable.ts"
import type { MinorUnits } from "../../domain/Money.ts"

export interface PayableBank {
  /** The code by which a payout names it. */
  readonly code: string
  readonly name: string
}

export interface BankBranch {
  /** The code by which a payout names it. */
  readonly code: string
  readonly name: string
}

export interface PayableCountry {
  readonly country: string
  readonly name: string
  /** With its plus sign. */
  readonly phonePrefix: string
  readonly methods: ReadonlyArray<"momo" | "bank" | "wallet">
}

/** The balance of one wallet of the account; `pending` is null where the provider gives none. */
export interface Balance {
  readonly currency: Currency
  readonly available: MinorUnits
  readonly pending: MinorUnits | null
}

/** Free reads, each asked live. A read that fails is a ProviderError and says nothing about what was asked. */
export interface ReferenceData {
  /** Those that can be paid now; none where the provider pays no banks of that country. */
  readonly banks?: (country: string) => Effect.Effect<ReadonlyArray<PayableBank>, ProviderError>
  /** Those of a bank that `banks` lists, as payouts name them; none for another bank, and where payouts name none. */
  readonly branches?: (country: string, bankCode: string) => Effect.Effect<ReadonlyArray<BankBranch>, ProviderError>
  /** The holder's name as the bank knows it. `unresolvable`: the provider says that there is no such account. */
  readonly resolve?: (account: BankAccount) => Effect.Effect<Redacted.Redacted | "unresolvable", ProviderError>
  readonly countries?: Effect.Effect<ReadonlyArray<PayableCountry>, ProviderError>
  /** Wallets of the currencies that the gateway knows. */
  readonly balances?: Effect.Effect<ReadonlyArray<Balance>, ProviderError>
}

/** The same reads, each by way of `through`, which is given its name. */
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
