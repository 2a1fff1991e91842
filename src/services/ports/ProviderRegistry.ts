import { Context, Option } from "effect"
import { Mode } from "../../domain/Ids.ts"
import { type AccountFingerprint, accountOf } from "../../domain/ProviderAccount.ts"
import type { Transaction } from "../../domain/Transaction.ts"
import type { Provider } from "./Provider.ts"

/** The provider accounts that this installation has credentials for. Fixed while the process runs. */
export class ProviderRegistry extends Context.Service<
  ProviderRegistry,
  {
    /** Every provider that this program knows, whether registered or not, in a fixed order. */
    readonly known: ReadonlyArray<string>
    /** The account that money is moved with from now on; none where the provider has no address or credentials for that mode. */
    readonly find: (name: string, mode: Mode) => Option.Option<Provider>
    /** That one, and after it the account before it, where that is still set. They are two accounts, and neither knows what the other moved. */
    readonly accounts: (name: string, mode: Mode) => ReadonlyArray<Provider>
    /** The accounts that sent the records which keep none; empty where they are unknown. */
    readonly claimed: (name: string, mode: Mode) => ReadonlyArray<AccountFingerprint>
    /** By the secret last part of a callback's path. Its `callbacks` are those of all accounts of the name and mode. */
    readonly byRouteKey: (name: string, routeKey: string) => Option.Option<Provider>
    /** The secret last part of the path to register at this provider: `/webhooks/{name}/{route_key}`. */
    readonly routeKey: (name: string, mode: Mode) => string
    /** Those of its paths from before which are still taken: the newest one may not be registered at the provider yet. */
    readonly keptRouteKeys: (name: string, mode: Mode) => ReadonlyArray<string>
  }
>()("gateway/services/ports/ProviderRegistry") {}

/** The providers and modes with an account, in a fixed order. */
export const registeredAccounts = ({ find, known }: Pick<ProviderRegistry["Service"], "find" | "known">) =>
  known.flatMap((provider) =>
    Mode.literals.filter((mode) => Option.isSome(find(provider, mode))).map((mode) => ({ provider, mode }))
  )

type Accounts = Pick<ProviderRegistry["Service"], "accounts" | "claimed">

/** The account that a record was sent with: only that account knows the outcome. None where that account is not set here. */
export const sentWith = (
  { accounts, claimed }: Accounts,
  record: Pick<Transaction, "provider" | "mode" | "account" | "currency">
): Option.Option<Provider> => {
  const { mode, provider } = record
  return Option.fromUndefinedOr(accountOf(accounts(provider, mode), claimed(provider, mode), record))
}

/** The registry with each provider wrapped, once: every step of a request looks its provider up. */
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
