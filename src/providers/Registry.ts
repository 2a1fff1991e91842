import { timingSafeEqual } from "node:crypto"
import { Effect, Layer, Option, Redacted } from "effect"
import { type Mode, referenceFrom } from "../domain/Ids.ts"
import { ProviderRegistry } from "../services/ports/ProviderRegistry.ts"
import { Vault } from "../services/ports/Vault.ts"
import { eversendProvider } from "./eversend/Settings.ts"
import { flutterwaveProvider } from "./flutterwave/Settings.ts"
import { mtnProvider } from "./mtn/Settings.ts"
import type { KnownProvider, ProviderAccounts } from "./ProviderModule.ts"
import { pawapayProvider } from "./pawapay/Settings.ts"
import { paystackProvider } from "./paystack/Settings.ts"

/** Every provider that this program knows. A provider is one line here. */
export const knownProviders: ReadonlyArray<KnownProvider> = [
  eversendProvider,
  pawapayProvider,
  flutterwaveProvider,
  paystackProvider,
  mtnProvider
]

export const providerRegistry = (
  accounts: ReadonlyArray<Pick<ProviderAccounts, "open">>
): Layer.Layer<ProviderRegistry, never, Vault> =>
  Layer.effect(
    ProviderRegistry,
    Effect.gen(function* () {
      const vault = yield* Vault
      const providers = (yield* Effect.forEach(accounts, ({ open }) => open)).flat()
      const routeKey = (name: string, mode: Mode) => referenceFrom(vault.hash("route_key", Redacted.make(`${name}:${mode}`)))
      const routes = providers.map((provider) => ({ provider, key: Buffer.from(routeKey(provider.name, provider.mode)) }))
      return {
        known: knownProviders.map(({ name }) => name),
        find: (name, mode) => Option.fromUndefinedOr(providers.find((one) => one.name === name && one.mode === mode)),
        byRouteKey: (name, given) => {
          const key = Buffer.from(given)
          // All of a provider's are compared, each in the same time, so that the time tells nothing about a key.
          const fitting = routes.filter(({ key: own, provider }) => isSame(own, key) && provider.name === name)
          return Option.fromUndefinedOr(fitting[0]?.provider)
        },
        routeKey
      }
    })
  )

const isSame = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)
