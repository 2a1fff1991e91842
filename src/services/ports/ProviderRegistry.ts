import { Context, Option } from "effect"
import type { Mode } from "../../domain/Ids.ts"
import type { Provider } from "./Provider.ts"

/** The provider accounts that this installation has credentials for. Fixed while the process runs. */
export class ProviderRegistry extends Context.Service<
  ProviderRegistry,
  {
    /** Every provider that this program knows, whether registered or not, in a fixed order. */
    readonly known: ReadonlyArray<string>
    /** None where the provider has no address or credentials for that mode. */
    readonly find: (name: string, mode: Mode) => Option.Option<Provider>
    /** By the secret last part of a callback's path. */
    readonly byRouteKey: (name: string, routeKey: string) => Option.Option<Provider>
    /** The secret last part of the path that this provider is to be told: `/webhooks/{name}/{route_key}`. */
    readonly routeKey: (name: string, mode: Mode) => string
  }
>()("gateway/services/ports/ProviderRegistry") {}

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
  return ProviderRegistry.of({ ...registry, find: (name, mode) => Option.map(registry.find(name, mode), once) })
}
