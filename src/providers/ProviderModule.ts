import { Effect, type Scope } from "effect"
import { httpUrl, isLoopback, type Reader, type Rule } from "../ConfigRules.ts"
import type { Mode } from "../domain/Ids.ts"
import type { Provider } from "../services/ports/Provider.ts"

/** Where a provider is reached, and how long one call may take, whatever it needs before it. */
export interface Reach {
  readonly baseUrl: string
  readonly timeoutMs: number
}

/** One account's settings, read by the ends of their names. Null where a setting is absent or wrong, which is noted as a mistake. */
export interface AccountReader extends Reach {
  /** `<PROVIDER>_<MODE>_<PART>` */
  readonly own: <A>(part: string, rule: Rule<A>) => A | null
  /** `<PROVIDER>_<PART>`: the same for both modes. */
  readonly shared: <A>(part: string, rule: Rule<A>) => A | null
}

/** What a provider's settings are called. */
interface SettingNames {
  /** As corridor rows and the addresses of callbacks spell it; in capitals the beginning of its settings. */
  readonly name: string
  /** The parts that an account cannot do without; in a mode where none is set the provider is not registered. */
  readonly credentials: ReadonlyArray<string>
  /** Settings for both modes that a real account cannot do without. */
  readonly shared: ReadonlyArray<string>
}

/** All that one provider brings along: its settings and its adapter are found through this and nowhere else. */
export interface ProviderModule<Account> extends SettingNames {
  /** Null where a part is missing. */
  readonly account: (reader: AccountReader) => Account | null
  readonly open: (account: Account, mode: Mode) => Effect.Effect<Provider, never, Scope.Scope>
}

/** Our accounts at one provider, whatever their settings look like. */
export interface ProviderAccounts {
  readonly name: string
  readonly open: Effect.Effect<ReadonlyArray<Provider>, never, Scope.Scope>
}

export interface ProviderAccountInMode<Account> {
  readonly mode: Mode
  readonly account: Account
}

export interface KnownProvider {
  readonly name: string
  /** Undefined where nothing is set. */
  readonly configured: (read: Reader, mistakes: Array<string>, bounds: ConnectionRules) => ProviderAccounts | undefined
}

/** The same, for whoever knows what its accounts look like. */
export interface KnownProviderOf<Account> extends KnownProvider {
  /** Accounts that come from elsewhere; null in a mode without one. */
  readonly with: (of: (mode: Mode) => Account | null) => ProviderAccounts
  /** What is behind the answers of `configured` and `with`; empty for those of another provider. */
  readonly accountsOf: (accounts: ProviderAccounts) => ReadonlyArray<ProviderAccountInMode<Account>>
}

interface ConnectionRules {
  readonly timeoutMs: number
  /** Beside a real database an address of this machine is a mistake, unless it is meant. */
  readonly refuseLoopback: boolean
  /** Where tenants' webhooks may go to this machine, no real provider may be paid with. */
  readonly refuseRemote: boolean
}

const modes: ReadonlyArray<Mode> = ["live", "test"]

export const knownProvider = <Account>(module: ProviderModule<Account>): KnownProviderOf<Account> => {
  const behind = new WeakMap<ProviderAccounts, ReadonlyArray<ProviderAccountInMode<Account>>>()
  const withAccounts = (of: (mode: Mode) => Account | null): ProviderAccounts => {
    const all = modes.flatMap((mode) => {
      const account = of(mode)
      return account === null ? [] : [{ mode, account }]
    })
    const accounts = {
      name: module.name,
      open: Effect.forEach(all, ({ account, mode }) => module.open(account, mode))
    }
    behind.set(accounts, all)
    return accounts
  }
  return {
    name: module.name,
    configured: (read, mistakes, bounds) => {
      const baseUrl = baseUrlOf(module, read, mistakes, bounds)
      // Read without an address too, so that every mistake is told at once.
      const reach = { baseUrl: baseUrl ?? "", timeoutMs: bounds.timeoutMs }
      const accounts = withAccounts((mode) => accountIn(module, mode, reach, { read, mistakes }))
      return baseUrl === null ? undefined : accounts
    },
    with: withAccounts,
    accountsOf: (accounts) => behind.get(accounts) ?? []
  }
}

const settingName = (module: Pick<SettingNames, "name">, ...parts: ReadonlyArray<string>): string =>
  [module.name, ...parts].join("_").toUpperCase()

/** Null where the provider is not registered. */
const baseUrlOf = (module: SettingNames, read: Reader, mistakes: Array<string>, bounds: ConnectionRules) => {
  const name = settingName(module, "BASE_URL")
  const baseUrl = read.optional(name, httpUrl)
  const isNamed = (mode: Mode) => module.credentials.some((part) => read.has(settingName(module, mode, part)))
  if (!read.has(name)) {
    if (modes.some(isNamed)) mistakes.push(`${name} is required together with the account's credentials`)
    return null
  }
  if (!modes.some(isNamed)) {
    const [first = ""] = module.credentials
    const either = modes.map((mode) => settingName(module, mode, first)).join(" or ")
    mistakes.push(`${either} is required together with ${name}`)
  }
  for (const part of module.shared.filter((one) => !read.has(settingName(module, one)))) {
    mistakes.push(`${settingName(module, part)} is required together with ${name}`)
  }
  if (baseUrl !== null) mistakes.push(...placeMistakes(name, baseUrl, bounds))
  return baseUrl
}

const placeMistakes = (
  name: string,
  baseUrl: string,
  { refuseLoopback, refuseRemote }: ConnectionRules
): ReadonlyArray<string> => {
  if (isLoopback(baseUrl))
    return refuseLoopback ? [`${name} is a loopback address beside DATABASE_URL: set ALLOW_SIMULATOR=true if that is meant`] : []
  return [
    ...(baseUrl.startsWith("https:") ? [] : [`${name} sends credentials and money in plain text: give it an https address`]),
    ...(refuseRemote ? [`WEBHOOK_ALLOW_LOOPBACK is for development and stands beside ${name}, a real provider: unset it`] : [])
  ]
}

const accountIn = <Account>(
  module: ProviderModule<Account>,
  mode: Mode,
  reach: Reach,
  { mistakes, read }: { readonly read: Reader; readonly mistakes: Array<string> }
): Account | null => {
  const names = module.credentials.map((part) => settingName(module, mode, part))
  const missing = names.filter((name) => !read.has(name))
  if (missing.length === names.length) return null
  for (const name of missing)
    mistakes.push(`${name} is required together with the other ${settingName(module, mode)} credentials`)
  return module.account({
    ...reach,
    own: (part, rule) => read.optional(settingName(module, mode, part), rule),
    shared: (part, rule) => read.optional(settingName(module, part), rule)
  })
}
