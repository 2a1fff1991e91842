import { expect, it } from "@effect/vitest"
import { Context, Effect, Layer, Option } from "effect"
import { reader, type Variables } from "../../src/ConfigRules.ts"
import { eversendProvider } from "../../src/providers/eversend/Settings.ts"
import { providerRegistry } from "../../src/providers/Registry.ts"
import { ProviderRegistry } from "../../src/services/ports/ProviderRegistry.ts"
import { fakeAccountClaims } from "../fakes/FakePorts.ts"
import { fakeVault } from "../fakes/FakeVault.ts"

const account = Object.fromEntries([
  ["EVERSEND_BASE_URL", "https://api.eversend.co/v1"],
  ...["LIVE", "TEST"].flatMap((mode) =>
    ["CLIENT_ID", "CLIENT_SECRET", "WEBHOOK_SECRET"].map((part) => [`EVERSEND_${mode}_${part}`, mode])
  )
])

const configured = (variables: Variables) => {
  const mistakes: Array<string> = []
  const bounds = { timeoutMs: 1_000, refuseLoopback: false, refuseRemote: false }
  return { accounts: eversendProvider.configured(reader(variables, mistakes), mistakes, bounds), mistakes }
}

const withPaths = (paths: string | null) => {
  const { accounts, mistakes } = configured(paths === null ? account : { ...account, EVERSEND_LIVE_CALLBACK_PATHS: paths })
  expect(mistakes).toEqual([])
  const registry = providerRegistry(accounts === undefined ? [] : [accounts])
  const context = Layer.build(registry.pipe(Layer.provide([fakeVault, fakeAccountClaims()])))
  return Effect.map(context, (built) => Context.get(built, ProviderRegistry))
}

it.effect("takes callbacks by a new path and by those before it, until one of them is retired", () =>
  Effect.gen(function* () {
    const [first, rolled, retired] = [yield* withPaths(null), yield* withPaths("2,1"), yield* withPaths("2")]
    const key = (registry: typeof first) => registry.routeKey("eversend", "live")
    expect(key(yield* withPaths("1"))).toBe(key(first))
    expect(key(rolled)).toMatch(/^[0-9ABCDEFGHJKMNPQRSTVWXYZ]{26}$/)
    expect([key(rolled) === key(first), key(rolled) === key(retired)]).toEqual([false, true])
    expect([first, rolled, retired].map((one) => one.keptRouteKeys("eversend", "live"))).toEqual([[], [key(first)], []])
    const taken = (registry: typeof first) =>
      [key(first), key(rolled)].map((one) => Option.getOrNull(registry.byRouteKey("eversend", one))?.mode ?? null)
    expect([first, rolled, retired].map(taken)).toEqual([
      ["live", null],
      ["live", "live"],
      [null, "live"]
    ])
    // The other mode's path stays what it is.
    expect(rolled.routeKey("eversend", "test")).toBe(first.routeKey("eversend", "test"))
  }).pipe(Effect.scoped)
)

it("refuses paths of the account before: both have those of the place", () => {
  expect(configured({ ...account, EVERSEND_LIVE_PREVIOUS_CALLBACK_PATHS: "2" }).mistakes).toEqual([
    "EVERSEND_LIVE_PREVIOUS_CALLBACK_PATHS has no effect: both accounts have the paths of EVERSEND_LIVE_CALLBACK_PATHS"
  ])
})

it("refuses numbers of paths that could not be told apart", () => {
  for (const wrong of ["0", "1,1", "2,", "1,2,3,4", "new"])
    expect(configured({ ...account, EVERSEND_LIVE_CALLBACK_PATHS: wrong }).mistakes).toEqual([
      expect.stringMatching(/^EVERSEND_LIVE_CALLBACK_PATHS must be a comma list of at most 3 different numbers/)
    ])
})
