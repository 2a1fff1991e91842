import { timingSafeEqual } from "node:crypto"
import { Effect, Layer, Option, Redacted } from "effect"
import { Currency } from "../domain/Currency.ts"
import { Mode, referenceFrom } from "../domain/Ids.ts"
import type { MinorUnits } from "../domain/Money.ts"
import type { AccountFingerprint } from "../domain/ProviderAccount.ts"
import { AccountClaims } from "../services/ports/AccountClaims.ts"
import type { Callbacks, Provider } from "../services/ports/Provider.ts"
import { ProviderRegistry } from "../services/ports/ProviderRegistry.ts"
import { Vault } from "../services/ports/Vault.ts"
import { airtelProvider } from "./airtel/Settings.ts"
import { feeBy, feeEntryFor, type PricedPayment } from "./ContractFees.ts"
import { darajaProvider } from "./daraja/Settings.ts"
import { eversendProvider } from "./eversend/Settings.ts"
import { flutterwaveProvider } from "./flutterwave/Settings.ts"
import { mtnProvider } from "./mtn/Settings.ts"
import { FIRST_PATH, type KnownProvider, type OpenedAccount, type ProviderAccounts } from "./ProviderModule.ts"
import { pawapayProvider } from "./pawapay/Settings.ts"
import { paystackProvider } from "./paystack/Settings.ts"
import { waveProvider } from "./wave/Settings.ts"

/** Every provider that this program supports, one line each. */
export const knownProviders: ReadonlyArray<KnownProvider> = [
  eversendProvider,
  pawapayProvider,
  flutterwaveProvider,
  paystackProvider,
  mtnProvider,
  airtelProvider,
  darajaProvider,
  waveProvider
]

/** A payment's price by each provider's contract, with the entry that determines it. A null currency: the country's. */
export const contractPrices = (
  accounts: ReadonlyArray<Pick<ProviderAccounts, "name" | "contract">>,
  payment: Omit<PricedPayment, "currency">,
  currency: Currency | null
): ReadonlyArray<ContractPrice> =>
  accounts.flatMap(({ contract, name: provider }) => {
    const places = (contract?.places[payment.direction] ?? []).filter(
      (one) => one.country === payment.country && one.method === payment.method && (currency ?? one.currency) === one.currency
    )
    return [...new Set(places.map((one) => one.currency))].map((own) => {
      const entry = feeEntryFor(contract?.fees ?? [], { ...payment, currency: own })
      const fee = entry === undefined ? null : feeBy(entry, payment.amount)
      return { provider, entry: entry?.name ?? null, currency: own, amount_minor: payment.amount, fee_minor: fee }
    })
  })

/** Both are null when no entry applies: the provider then refuses such a payment. */
interface ContractPrice {
  readonly provider: string
  readonly entry: string | null
  readonly currency: Currency
  readonly amount_minor: MinorUnits
  readonly fee_minor: MinorUnits | null
}

export const providerRegistry = (
  accounts: ReadonlyArray<Pick<ProviderAccounts, "open">>
): Layer.Layer<ProviderRegistry, never, Vault | AccountClaims> =>
  Layer.effect(
    ProviderRegistry,
    Effect.gen(function* () {
      const vault = yield* Vault
      const claims = yield* AccountClaims
      const opened = (yield* Effect.forEach(accounts, ({ open }) => open)).flat()
      const routeKeyOf = (name: string, mode: Mode, number: number) => {
        const path = number === FIRST_PATH ? `${name}:${mode}` : `${name}:${mode}:${number}`
        return referenceFrom(vault.hash("route_key", Redacted.make(path)))
      }
      const places = yield* Effect.forEach(placesOf(opened), ({ mode, name }) => {
        const own = opened.filter(({ adapter }) => adapter.name === name && adapter.mode === mode)
        const set = setAccounts(own, (text) => vault.hash("provider_account", Redacted.make(`${name} ${mode} ${text}`)))
        const known = ofDoubt(set.map(namesOf))
        const claimed = known.length === 0 ? Effect.succeed([]) : claims.claim(name, mode, known)
        const numbers = own.find(({ turn }) => turn === "current")?.callbackPaths ?? []
        const keys = numbers.map((number) => routeKeyOf(name, mode, number))
        return Effect.map(claimed, (before) => ({ name, mode, set, claimed: before, keys }))
      })
      const placeOf = (name: string, mode: Mode) => places.find((one) => one.name === name && one.mode === mode)
      return {
        known: knownProviders.map(({ name }) => name),
        find: (name, mode) => Option.fromUndefinedOr(placeOf(name, mode)?.set[0]),
        accounts: (name, mode) => placeOf(name, mode)?.set ?? [],
        claimed: (name, mode) => placeOf(name, mode)?.claimed ?? [],
        byRouteKey: (name, given) => {
          const key = Buffer.from(given)
          // All keys of a provider are compared in constant time, so that timing reveals nothing about a key.
          const fitting = places.filter(
            (place) => place.keys.filter((one) => isSame(Buffer.from(one), key)).length > 0 && place.name === name
          )
          return Option.fromUndefinedOr(fitting[0]?.set[0])
        },
        routeKey: (name, mode) => placeOf(name, mode)?.keys[0] ?? routeKeyOf(name, mode, FIRST_PATH),
        keptRouteKeys: (name, mode) => placeOf(name, mode)?.keys.slice(1) ?? []
      }
    })
  )

const namesOf = ({ fingerprints }: Provider): ReadonlyArray<AccountFingerprint> => [
  ...new Set(Currency.literals.flatMap((currency) => fingerprints(currency)))
]

/**
 * The account that the first process claims for earlier records. With two accounts the sender is unknown. The process then
 * claims a combined name that neither account has, so that "not found" from one of them proves nothing about the other.
 */
const ofDoubt = (accounts: ReadonlyArray<ReadonlyArray<AccountFingerprint>>): ReadonlyArray<AccountFingerprint> =>
  accounts.length > 1 ? [accounts.map((names) => names.join(" or ")).join(" or ")] : accounts.flat()

const isSame = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)

/** The provider and mode of every account, without duplicates. */
const placesOf = (opened: ReadonlyArray<OpenedAccount>): ReadonlyArray<{ readonly name: string; readonly mode: Mode }> =>
  [...new Set(opened.map(({ adapter }) => adapter.name))].flatMap((name) =>
    Mode.literals
      .filter((mode) => opened.some(({ adapter }) => adapter.name === name && adapter.mode === mode))
      .map((mode) => ({ name, mode }))
  )

const SHOWN_DIGITS = 16

/**
 * The current account of one provider and mode, and the previous one if it is a different account. If both have an identity in
 * common, they are one account whose secret was changed: only the current settings are used, under all of its names.
 */
const setAccounts = (opened: ReadonlyArray<OpenedAccount>, hash: (name: string) => Uint8Array): ReadonlyArray<Provider> => {
  const fingerprintsOf = ({ names }: OpenedAccount) => {
    const all = new Map(
      Currency.literals.map((currency): [Currency, ReadonlyArray<AccountFingerprint>] => [
        currency,
        names(currency).map((name) =>
          Buffer.from(hash(Redacted.value(name)))
            .toString("hex")
            .slice(0, SHOWN_DIGITS)
        )
      ])
    )
    return (currency: Currency): ReadonlyArray<AccountFingerprint> => all.get(currency) ?? []
  }
  const current = opened.find(({ turn }) => turn === "current")
  const previous = opened.find(({ turn }) => turn === "previous")
  if (current === undefined) return []
  const own = fingerprintsOf(current)
  if (previous === undefined) return [{ ...current.adapter, fingerprints: own }]
  const before = fingerprintsOf(previous)
  const isOne = (currency: Currency) => own(currency).some((name) => before(currency).includes(name))
  const callbacks = ofEither(current.adapter.callbacks, previous.adapter.callbacks)
  const fingerprints = (currency: Currency) => [...own(currency), ...(isOne(currency) ? before(currency) : [])]
  const others = Currency.literals.filter((currency) => before(currency).length > 0 && !isOne(currency))
  return [
    { ...current.adapter, callbacks, fingerprints },
    ...(others.length === 0
      ? []
      : [{ ...previous.adapter, callbacks, fingerprints: (one: Currency) => (others.includes(one) ? before(one) : []) }])
  ]
}

/** Both accounts call the same path, each with its own secret. */
const ofEither = (one: Callbacks, other: Callbacks): Callbacks => ({
  ...one,
  verify: (callback) => Option.orElse(one.verify(callback), () => other.verify(callback)),
  keep: (callback) => (Option.isSome(one.verify(callback)) ? one : other).keep?.(callback) ?? Effect.void,
  refreshKeys: Effect.all([one.refreshKeys ?? Effect.void, other.refreshKeys ?? Effect.void], { discard: true })
})
