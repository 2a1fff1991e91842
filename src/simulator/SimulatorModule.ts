import { createHash } from "node:crypto"
import { Redacted } from "effect"
import type { Currency } from "../domain/Currency.ts"
import { Mode } from "../domain/Ids.ts"
import type { KnownProviderOf, ProviderAccounts, Reach } from "../providers/ProviderModule.ts"
import type { SimulatedProvider } from "./SimulatedProvider.ts"

/** The mobile money corridor in which a provider is demonstrated: a number is `prefix` and four digits. */
export interface Trial {
  readonly country: string
  readonly currency: Currency
  readonly network: string
  readonly prefix: string
  /** The payer finishes on a page of the provider. */
  readonly redirects?: true
}

/** Everything that one simulated provider consists of. */
interface SimulatorModule<Account> {
  /** The gateway's adapter for the same wire. */
  readonly provider: KnownProviderOf<Account>
  /** An account that works only at the simulator. */
  readonly account: (mode: Mode, reach: Reach) => Account
  /** The simulator's name for an account: public, and the key under which its callback address is registered. */
  readonly accountName: (account: Account) => string
  readonly simulator: (accounts: ReadonlyArray<Account>) => SimulatedProvider
  /** Absent: it serves MTN in Ghana. */
  readonly trial?: Trial
}

export interface KnownSimulator {
  readonly name: string
  readonly trial: Trial
  /** Accounts for this simulator at the address where it is reached. */
  readonly accounts: (reach: Reach) => ProviderAccounts
  /** The simulator that knows these accounts. */
  readonly simulated: (accounts: ProviderAccounts) => SimulatedProvider
  /** Undefined in a mode without an account. */
  readonly accountName: (accounts: ProviderAccounts, mode: Mode) => string | undefined
}

const ghana: Trial = { country: "GH", currency: "GHS", network: "MTN", prefix: "23324412" }

export const knownSimulator = <Account>(module: SimulatorModule<Account>): KnownSimulator => {
  const { provider } = module
  return {
    name: provider.name,
    trial: module.trial ?? ghana,
    accounts: (reach) => provider.with((mode) => module.account(mode, reach)),
    simulated: (accounts) => module.simulator(provider.accountsOf(accounts).map(({ account }) => account)),
    accountName: (accounts, wanted) =>
      provider
        .accountsOf(accounts)
        .filter(({ mode, turn }) => mode === wanted && turn === "current")
        .map(({ account }) => module.accountName(account))[0]
  }
}

const NAME_DIGITS = 12

/**
 * Names accounts whose wire has no name for them; `simulated-live` and `simulated-test` are the simulator's own. The secret
 * identifies its account and authenticates it: the name is derived from it, and cannot be reversed.
 */
export const namesBySecret =
  (prefix: string, simulatedSecret: (mode: Mode) => string) =>
  (secret: Redacted.Redacted): string => {
    const value = Redacted.value(secret)
    const mode = Mode.literals.find((one) => simulatedSecret(one) === value)
    if (mode !== undefined) return `simulated-${mode}`
    return `${prefix}-${createHash("sha256").update(value).digest("hex").slice(0, NAME_DIGITS)}`
  }
