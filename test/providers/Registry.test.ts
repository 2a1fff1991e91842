import { expect, it } from "@effect/vitest"
import { Effect, Layer, Option } from "effect"
import type { Mode } from "../../src/domain/Ids.ts"
import { eversend } from "../../src/providers/eversend/Adapter.ts"
import { providerRegistry } from "../../src/providers/Registry.ts"
import { ProviderRegistry } from "../../src/services/ports/ProviderRegistry.ts"
import { fakeVault } from "../fakes/FakeVault.ts"
import { settings } from "./eversend/Orders.ts"

const own = settings("http://127.0.0.1:1")
const registered = (modes: ReadonlyArray<Mode>) =>
  providerRegistry([{ open: Effect.forEach(modes, (mode) => eversend(own, mode)) }]).pipe(Layer.provide(fakeVault))
const both = registered(["live", "test"])
const onlyTest = registered(["test"])

const modeOf = Option.map((provider: { readonly mode: Mode }) => provider.mode)

it.effect("finds a provider by name and mode, and by the secret part of its callback path", () =>
  Effect.gen(function* () {
    const registry = yield* ProviderRegistry
    const [live, test] = [registry.routeKey("eversend", "live"), registry.routeKey("eversend", "test")]
    expect(live).toMatch(/^[0-9ABCDEFGHJKMNPQRSTVWXYZ]{26}$/)
    expect(live).not.toBe(test)
    expect(modeOf(registry.find("eversend", "live"))).toEqual(Option.some("live"))
    expect(modeOf(registry.byRouteKey("eversend", live))).toEqual(Option.some("live"))
    expect(modeOf(registry.byRouteKey("eversend", test))).toEqual(Option.some("test"))
    for (const wrong of ["", "é", live.slice(1), `${live}0`, live.toLowerCase()]) {
      expect(registry.byRouteKey("eversend", wrong)).toEqual(Option.none())
    }
    expect(registry.byRouteKey("another", live)).toEqual(Option.none())
  }).pipe(Effect.provide(both))
)

it.effect("knows providers without credentials, and does not find them", () =>
  Effect.gen(function* () {
    const registry = yield* ProviderRegistry
    expect(registry.known).toContain("eversend")
    expect(registry.find("eversend", "live")).toEqual(Option.none())
    expect(registry.byRouteKey("eversend", registry.routeKey("eversend", "live"))).toEqual(Option.none())
    expect(modeOf(registry.find("eversend", "test"))).toEqual(Option.some("test"))
  }).pipe(Effect.provide(onlyTest))
)
