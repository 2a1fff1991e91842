import { timingSafeEqual } from "node:crypto"
import { Effect, Layer, Option, Redacted, type Scope } from "effect"
import { type Mode, referenceFrom } from "../domain/Ids.ts"
import type { Provider } from "../services/ports/Provider.ts"
import { ProviderRegistry } from "../services/ports/ProviderRegistry.ts"
import { Vault } from "../services/ports/Vault.ts"
import { eversend } from "./eversend/Adapter.ts"
import type { EversendSettings } from "./eversend/Client.ts"

/** What a provider is reached with in each mode; absent where the installation has no address or credentials for it. */
export type PerMode<Settings> = { readonly [M in Mode]?: Settings | undefined }

export interface ProviderSettings {
  readonly eversend: PerMode<EversendSettings>
}

/** A provider is one line here. */
const entries = (settings: ProviderSettings): ReadonlyArray<Entry> => [entry("eversend", settings.eversend, eversend)]

interface Entry {
  readonly name: string
  readonly open: Effect.Effect<ReadonlyArray<Provider>, never, Scope.Scope>
}

const modes: ReadonlyArray<Mode> = ["live", "test"]

export const providerRegistry = (settings: ProviderSettings): Layer.Layer<ProviderRegistry, never, Vault> =>
  Layer.effect(
    ProviderRegistry,
    Effect.gen(function* () {
      const vault = yield* Vault
      const known = entries(settings)
      const providers = (yield* Effect.forEach(known, ({ open }) => open)).flat()
      const routeKey = (name: string, mode: Mode) => referenceFrom(vault.hash("route_key", Redacted.make(`${name}:${mode}`)))
      const routes = providers.map((provider) => ({ provider, key: Buffer.from(routeKey(provider.name, provider.mode)) }))
      return {
        known: known.map(({ name }) => name),
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

const entry = <Settings>(
  name: string,
  settings: PerMode<Settings>,
  open: (settings: Settings, mode: Mode) => Effect.Effect<Provider, never, Scope.Scope>
): Entry => ({
  name,
  open: Effect.forEach(
    modes.flatMap((mode) => {
      const own = settings[mode]
      return own === undefined ? [] : [open(own, mode)]
    }),
    (provider) => provider
  )
})

const isSame = (a: Buffer, b: Buffer): boolean => a.length === b.length && timingSafeEqual(a, b)
