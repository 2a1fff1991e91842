import { Effect, Redacted, type Scope } from "effect"
import { httpUrl, isLoopback, list, type Reader, type Rule, text, wholeNumber } from "../ConfigRules.ts"
import type { Currency } from "../domain/Currency.ts"
import type { Mode } from "../domain/Ids.ts"
import type { Adapter } from "../services/ports/Provider.ts"
import type { RateLimit } from "../services/ports/RateLimits.ts"
import type { ContractFees } from "./ContractFees.ts"
import { missingFees, type PricedPlaces, type ProviderContract } from "./FeeSchedule.ts"
import { type Pace, PaceOf } from "./Pace.ts"
import { paceOf } from "./PaceSettings.ts"

/** The numbers of the callback paths: the one to register at the provider, then older ones that are still accepted. */
type CallbackPaths = readonly [number, ...ReadonlyArray<number>]

/** The number of an account's first path. */
export const FIRST_PATH = 1
/** The number is only a name: the path contains a key that cannot be guessed. */
const LAST_PATH = 9_999
/** The current path and the one to move away from; a third when a second move began early. */
const PATHS_AT_MOST = 3

const callbackPaths: Rule<CallbackPaths> = {
  meaning: `a comma list of at most ${PATHS_AT_MOST} different numbers from ${FIRST_PATH} to ${LAST_PATH}, the newest path first`,
  of: (value) => {
    const [first, ...kept] = list(wholeNumber(FIRST_PATH, LAST_PATH)).of(value) ?? []
    if (first === undefined || kept.length >= PATHS_AT_MOST || new Set([first, ...kept]).size <= kept.length) return undefined
    return [first, ...kept]
  }
}

/** A provider's base URL, and the time limit for an operation including the calls before it. */
export interface Reach {
  readonly baseUrl: string
  readonly timeoutMs: number
}

/** Reads an account's settings by the last part of their names. Null when absent, or invalid, which is reported. */
export interface AccountReader extends Reach {
  readonly mode: Mode
  /** `<PROVIDER>_<MODE>_<PART>`; for the previous account `<PROVIDER>_<MODE>_PREVIOUS_<PART>`. */
  readonly own: <A>(part: string, rule: Rule<A>) => A | null
  /** `<PROVIDER>_<PART>`: the same for both modes. */
  readonly shared: <A>(part: string, rule: Rule<A>) => A | null
}

/** The settings that an account requires; null when any of them is null. */
export const whole = <Parts extends object>(parts: Parts) => (isWhole(parts) ? parts : null)
const isWhole = <Parts extends object>(parts: Parts): parts is Parts & { readonly [P in keyof Parts]: NonNullable<Parts[P]> } =>
  Object.values(parts).every((part: unknown) => part !== null)

/** The names of a provider's settings. */
interface SettingNames {
  /** As in corridor rows and callback paths; in capitals it is the prefix of its settings. */
  readonly name: string
  /** The settings that an account requires. In a mode where none is set, the provider is not registered. */
  readonly credentials: ReadonlyArray<string>
  /** The pace of an account for which none is set. */
  readonly pace: RateLimit
}

/** The identity of an account at its provider. `within`: the part of the provider in which `own` is unique. */
interface AccountIdentity {
  readonly within: string
  /** A value that stays the same when a secret is rotated, if the settings have one; otherwise the secret itself. */
  readonly own: Redacted.Redacted
}

/** Everything about one provider. The program reaches its settings and its adapter only through this. */
export interface ProviderModule<Account> extends SettingNames {
  /** Null when a setting is missing. */
  readonly account: (reader: AccountReader) => Account | null
  /** The contract fees; absent when the provider's responses name every fee. */
  readonly contract?: { readonly places: PricedPlaces; readonly fees: (account: Account) => ContractFees }
  /** The identity of the account that moves money in this currency; null when there is none. */
  readonly identity: (account: Account, currency: Currency) => AccountIdentity | null
  readonly open: (account: Account, mode: Mode) => Effect.Effect<Adapter, never, Scope.Scope>
}

/** Our accounts at one provider, independent of the form of their settings. */
export interface ProviderAccounts {
  readonly name: string
  readonly open: Effect.Effect<ReadonlyArray<OpenedAccount>, never, Scope.Scope>
  /** Null when the provider's responses name every fee. */
  readonly contract: ProviderContract | null
}

/** The current account, which moves money, or the previous one, which is only polled about its own transactions. */
type AccountTurn = "current" | "previous"

export interface OpenedAccount {
  readonly adapter: Adapter
  readonly turn: AccountTurn
  readonly callbackPaths: CallbackPaths
  /** The account's identities for movements in a currency; the one that its operator chose is first. */
  readonly names: (currency: Currency) => ReadonlyArray<Redacted.Redacted>
}

interface ProviderAccountInMode<Account> {
  readonly mode: Mode
  readonly turn: AccountTurn
  readonly account: Account
  /** `<PROVIDER>_<MODE>_ACCOUNT`: the operator's name for the account; null when not set. */
  readonly title: string | null
  /** `<PROVIDER>_<MODE>_CALLBACK_PATHS`. */
  readonly callbackPaths: CallbackPaths
  /** `<PROVIDER>_<MODE>_PACE` and its parts; null when unlimited. */
  readonly pace: Pace | null
}

export interface KnownProvider {
  readonly name: string
  /** Undefined when nothing is set. */
  readonly configured: (read: Reader, mistakes: Array<string>, bounds: ConnectionRules) => ProviderAccounts | undefined
}

/** The same, with the type of its accounts. */
export interface KnownProviderOf<Account> extends KnownProvider {
  /** Accounts that do not come from settings; null in a mode without one. */
  readonly with: (of: (mode: Mode) => Account | null) => ProviderAccounts
  /** The accounts of a value that `configured` or `with` returned; empty for another provider's. */
  readonly accountsOf: (accounts: ProviderAccounts) => ReadonlyArray<ProviderAccountInMode<Account>>
}

interface ConnectionRules {
  readonly timeoutMs: number
  /** With a real database a loopback address is a mistake, unless it is intended. */
  readonly refuseLoopback: boolean
  /** When tenants' webhooks may go to this machine, no real provider may be used. */
  readonly refuseRemote: boolean
}

const modes: ReadonlyArray<Mode> = ["live", "test"]

export const knownProvider = <Account>(module: ProviderModule<Account>): KnownProviderOf<Account> => {
  const behind = new WeakMap<ProviderAccounts, ReadonlyArray<ProviderAccountInMode<Account>>>()
  const made = (all: ReadonlyArray<ProviderAccountInMode<Account>>): ProviderAccounts => {
    const [[first], { contract }] = [all, module]
    const accounts = {
      name: module.name,
      contract: contract === undefined || first === undefined ? null : { ...contract, fees: contract.fees(first.account) },
      open: Effect.forEach(all, (one) =>
        Effect.map(Effect.provideService(module.open(one.account, one.mode), PaceOf, pacedAs(module.name, one)), (adapter) => ({
          adapter,
          turn: one.turn,
          callbackPaths: one.callbackPaths,
          names: (currency: Currency) => namesOf(module, one, currency)
        }))
      )
    }
    behind.set(accounts, all)
    return accounts
  }
  return {
    name: module.name,
    configured: (read, mistakes, bounds) => {
      const baseUrl = baseUrlOf(module, read, mistakes, bounds)
      // Read even without an address, so that every mistake is reported at once.
      const reach = { baseUrl: baseUrl ?? "", timeoutMs: bounds.timeoutMs }
      const accounts = made(modes.flatMap((mode) => accountsIn(module, mode, reach, { read, mistakes })))
      return baseUrl === null ? undefined : accounts
    },
    with: (of) =>
      made(
        modes.flatMap((mode) => {
          const account = of(mode)
          return account === null
            ? []
            : [{ mode, turn: "current", account, title: null, callbackPaths: [FIRST_PATH], pace: null }]
        })
      ),
    accountsOf: (accounts) => behind.get(accounts) ?? []
  }
}

const settingName = (module: Pick<SettingNames, "name">, ...parts: ReadonlyArray<string>): string =>
  [module.name, ...parts].join("_").toUpperCase()

/** Null when the provider is not registered. */
const baseUrlOf = <Account>(module: ProviderModule<Account>, read: Reader, mistakes: Array<string>, bounds: ConnectionRules) => {
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
  for (const part of missingFees(module.contract?.places, (one) => read.has(settingName(module, one))))
    mistakes.push(`${settingName(module, part)} is required together with ${name}`)
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

const PREVIOUS = "PREVIOUS"
const CALLBACK_PATHS = "CALLBACK_PATHS"

/** The current account of a mode, and the previous one if it is still set. */
const accountsIn = <Account>(
  module: ProviderModule<Account>,
  mode: Mode,
  reach: Reach,
  settings: { readonly read: Reader; readonly mistakes: Array<string> }
): ReadonlyArray<ProviderAccountInMode<Account>> => {
  const current = accountIn(module, [mode], reach, settings)
  const previous = accountIn(module, [mode, PREVIOUS], reach, settings)
  const [first = ""] = module.credentials
  if (previous !== null && !settings.read.has(settingName(module, mode, first)))
    settings.mistakes.push(`${settingName(module, mode, PREVIOUS, first)} stands beside another account: set that, or unset it`)
  const paths = settingName(module, mode, PREVIOUS, CALLBACK_PATHS)
  if (settings.read.has(paths))
    settings.mistakes.push(`${paths} has no effect: both accounts have the paths of ${settingName(module, mode, CALLBACK_PATHS)}`)
  return [
    ...(current === null ? [] : [{ ...current, mode, turn: "current" as const }]),
    ...(previous === null ? [] : [{ ...previous, mode, turn: "previous" as const }])
  ]
}

/** `place`: the part of the setting names between the provider's name and the last part. */
const accountIn = <Account>(
  module: ProviderModule<Account>,
  place: readonly [mode: Mode, ...ReadonlyArray<string>],
  reach: Reach,
  { mistakes, read }: { readonly read: Reader; readonly mistakes: Array<string> }
): Pick<ProviderAccountInMode<Account>, "account" | "title" | "callbackPaths" | "pace"> | null => {
  const own: AccountReader["own"] = (part, rule) => read.optional(settingName(module, ...place, part), rule)
  const names = module.credentials.map((part) => settingName(module, ...place, part))
  const missing = names.filter((name) => !read.has(name))
  if (missing.length === names.length) return null
  for (const name of missing)
    mistakes.push(`${name} is required together with the other ${settingName(module, ...place)} credentials`)
  const shared: AccountReader["shared"] = (part, rule) => read.optional(settingName(module, part), rule)
  const account = module.account({ ...reach, mode: place[0], own, shared })
  if (account === null) return null
  return {
    account,
    title: own("ACCOUNT", text),
    callbackPaths: own(CALLBACK_PATHS, callbackPaths) ?? [FIRST_PATH],
    pace: paceOf(module, reach, { own, settings: settingName(module, ...place), mistakes })
  }
}

const pacedAs = (provider: string, { mode, pace, turn }: Pick<ProviderAccountInMode<unknown>, "mode" | "pace" | "turn">) =>
  pace === null ? null : { provider, mode, turn, pace }

const namesOf = <Account>(
  module: ProviderModule<Account>,
  { account, title }: ProviderAccountInMode<Account>,
  currency: Currency
): ReadonlyArray<Redacted.Redacted> => {
  const identity = module.identity(account, currency)
  if (identity === null) return []
  const { own, within } = identity
  return [
    ...(title === null ? [] : [Redacted.make(`${within} account ${title}`)]),
    Redacted.make(`${within} own ${Redacted.value(own)}`)
  ]
}
