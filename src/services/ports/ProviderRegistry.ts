import { Context, Option } from "effect"
import { Mode } from "../../domain/Ids.ts"
import { type AccountFingerprint, accountOf } from "../../domain/ProviderAccount.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import type { Provider } from "./Provider.ts"

/** The provider accounts for which this installation has credentials. They do not change while the process runs. */
export class ProviderRegistry extends Context.Service<
  ProviderRegistry,
  {
    /** Every provider that this program supports, configured or not, in a fixed order. */
    readonly known: ReadonlyArray<string>
    /** The account for new transactions; none when the provider has no address or credentials for that mode. */
    readonly find: (name: string, mode: Mode) => Option.Option<Provider>
    /** The current account, then the previous one if it is still configured. Neither account knows the other's transactions. */
    readonly accounts: (name: string, mode: Mode) => ReadonlyArray<Provider>
    /** The accounts that sent the records which name no account; empty when unknown. */
    readonly claimed: (name: string, mode: Mode) => ReadonlyArray<AccountFingerprint>
    /** The provider with this secret end of its callbacks' path. Its `callbacks` cover all accounts of the name and mode. */
    readonly byRouteKey: (name: string, routeKey: string) => Option.Option<Provider>
    /** The secret last part of the path to register at this provider: `/webhooks/{name}/{route_key}`. */
    readonly routeKey: (name: string, mode: Mode) => string
    /** Earlier route keys that are still accepted, because the newest one may not be registered at the provider yet. */
    readonly keptRouteKeys: (name: string, mode: Mode) => ReadonlyArray<string>
  }
>()("gateway/services/ports/ProviderRegistry") {}

/** The providers and modes with an account, in a fixed order. */
export const registeredAccounts = ({ find, known }: Pick<ProviderRegistry["Service"], "find" | "known">) =>
  known.flatMap((provider) =>
    Mode.literals.filter((mode) => Option.isSome(find(provider, mode))).map((mode) => ({ provider, mode }))
  )

type Accounts = Pick<ProviderRegistry["Service"], "accounts" | "claimed">

/** The account that a record was sent with: no other account knows its outcome. None when that account is not configured here. */
export const sentWith = (
  { accounts, claimed }: Accounts,
  record: Pick<Transaction, "provider" | "mode" | "account" | "currency">
): Option.Option<Provider> => {
  const { mode, provider } = record
  return Option.fromUndefinedOr(accountOf(accounts(provider, mode), claimed(provider, mode), record))
}

/** The registry with each provider wrapped, and built only once: every step of a request looks its provider up. */
export const decorateProviders = (
  registry: ProviderRegistry["Service"],
  wrap: (provider: Provider) => Provider
): ProviderRegistry["Service"] => {
  const built = new WeakMap<Provider, Provider>()
  const once = (provider: Provider): Provider => {
    const known = built.get(provider) ?? wrap(provider)
    built.set(provider, known)
    return known
  }
  return ProviderRegistry.of({
    ...registry,
    find: (name, mode) => Option.map(registry.find(name, mode), once),
    accounts: (name, mode) => registry.accounts(name, mode).map(once)
  })
}
