import { createHmac } from "node:crypto"
import { expect, it } from "@effect/vitest"
import { Effect, Layer, Option, Redacted } from "effect"
import { reader, type Variables } from "../../src/ConfigRules.ts"
import type { Currency } from "../../src/domain/Currency.ts"
import type { Mode } from "../../src/domain/Ids.ts"
import { eversendProvider } from "../../src/providers/eversend/Settings.ts"
import type { KnownProvider } from "../../src/providers/ProviderModule.ts"
import { knownProviders, providerRegistry } from "../../src/providers/Registry.ts"
import type { RawCallback } from "../../src/services/ports/Provider.ts"
import { ProviderRegistry, sentWith } from "../../src/services/ports/ProviderRegistry.ts"
import { fakeAccountClaims } from "../fakes/FakePorts.ts"
import { fakeVault } from "../fakes/FakeVault.ts"
import { settings } from "./eversend/Orders.ts"

const own = { ...settings("http://127.0.0.1:1"), webhookSecret: Redacted.make("s") }
const claims = fakeAccountClaims()
const registered = (modes: ReadonlyArray<Mode>) =>
  providerRegistry([eversendProvider.with((mode) => (modes.includes(mode) ? own : null))]).pipe(
    Layer.provide([fakeVault, fakeAccountClaims()])
  )
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

const bounds = { timeoutMs: 1_000, refuseLoopback: false, refuseRemote: false }
const mistakesIn = (known: KnownProvider, variables: Variables) => {
  const mistakes: Array<string> = []
  known.configured(reader(variables, mistakes), mistakes, bounds)
  return mistakes
}

/** A registry by these settings, beside what the processes before it have claimed. */
const registryBy = (variables: Variables, before = claims) => {
  const mistakes: Array<string> = []
  const read = reader(variables, mistakes)
  const accounts = knownProviders.flatMap((known) => known.configured(read, mistakes, bounds) ?? [])
  expect(mistakes).toEqual([])
  return Effect.map(Layer.build(providerRegistry(accounts).pipe(Layer.provide([fakeVault, before]))), (context) =>
    Effect.runSync(Effect.provideContext(ProviderRegistry, context))
  )
}

const token = (sub: string, serial: string): string =>
  ["{}", JSON.stringify({ sub, jti: serial }), serial].map((part) => Buffer.from(part).toString("base64url")).join(".")

interface Case {
  readonly name: string
  readonly shared: Variables
  readonly currency: Currency
  readonly first: Variables
  /** The same account with new secrets. */
  readonly rotated: Variables
  readonly another: Variables
}

const secretFor = (part: string) => (value: string) => ({ [part]: value })
const paystackKey = secretFor("SECRET_KEY")
const flutterwaveKey = (value: string) => ({ SECRET_KEY: value, WEBHOOK_SECRET_HASH: "hash" })
const mtnUser = (user: string, key: string) => ({
  USER_ID: `UG:${user},GH:gh-user`,
  API_KEY: `UG:${key},GH:${key}`,
  COLLECTION_KEY: `UG:${key},GH:${key}`,
  DISBURSEMENT_KEY: `UG:${key},GH:${key}`
})
const waveKey = (value: string) => ({ API_KEY: `CI:${value},SN:wave_sn_prod_key`, WEBHOOK_SECRET: "CI:one,SN:two" })
const eversendClient = (client: string, secret: string) => ({ CLIENT_ID: client, CLIENT_SECRET: secret, WEBHOOK_SECRET: secret })

const cases: ReadonlyArray<Case> = [
  {
    name: "eversend",
    shared: { EVERSEND_BASE_URL: "https://api.eversend.co/v1" },
    currency: "UGX",
    first: eversendClient("one", "a"),
    rotated: eversendClient("one", "b"),
    another: eversendClient("two", "a")
  },
  {
    name: "pawapay",
    shared: { PAWAPAY_BASE_URL: "https://api.pawapay.io/v2", PAWAPAY_PAYOUT_FEES: "UGX:momo:1000", PAWAPAY_COLLECTION_FEE: "1%" },
    currency: "UGX",
    first: { API_TOKEN: token("17", "a") },
    rotated: { API_TOKEN: token("17", "b") },
    another: { API_TOKEN: token("18", "a") }
  },
  {
    name: "flutterwave",
    shared: { FLUTTERWAVE_BASE_URL: "https://api.flutterwave.com/v3" },
    currency: "UGX",
    first: { ...flutterwaveKey("FLWSECK-a"), ACCOUNT: "9001" },
    rotated: { ...flutterwaveKey("FLWSECK-b"), ACCOUNT: "9001" },
    another: { ...flutterwaveKey("FLWSECK_TEST-c"), ACCOUNT: "9001" }
  },
  {
    name: "paystack",
    shared: { PAYSTACK_BASE_URL: "https://api.paystack.co", PAYSTACK_PAYOUT_FEES: "GHS:momo:100" },
    currency: "GHS",
    first: { ...paystackKey("sk_live_a"), ACCOUNT: "519035" },
    rotated: { ...paystackKey("sk_live_b"), ACCOUNT: "519035" },
    another: { ...paystackKey("sk_test_a"), ACCOUNT: "519035" }
  },
  {
    name: "mtn",
    shared: { MTN_BASE_URL: "https://proxy.momoapi.mtn.com", MTN_PAYOUT_FEES: "UGX:momo:1000", MTN_COLLECTION_FEE: "1%" },
    currency: "UGX",
    first: mtnUser("ug-user", "a"),
    rotated: mtnUser("ug-user", "b"),
    another: mtnUser("another-user", "a")
  },
  {
    name: "wave",
    shared: { WAVE_BASE_URL: "https://api.wave.com", WAVE_PAYOUT_FEES: "XOF:momo:1%", WAVE_COLLECTION_FEE: "1%" },
    currency: "XOF",
    first: { ...waveKey("wave_ci_prod_a"), ACCOUNT: "shop" },
    rotated: { ...waveKey("wave_ci_prod_b"), ACCOUNT: "shop" },
    another: waveKey("wave_ci_prod_c")
  }
]

const named = (name: string, parts: Variables, turn = ""): Variables =>
  Object.fromEntries(Object.entries(parts).map(([part, value]) => [`${name.toUpperCase()}_LIVE_${turn}${part}`, value]))

it.effect.each(cases)("an account at $name keeps its fingerprint while its secrets are rotated, and no other has it", (one) =>
  Effect.gen(function* () {
    const { another, currency, first, name, rotated, shared } = one
    const by = (parts: Variables, previous: Variables = {}) =>
      Effect.map(registryBy({ ...shared, ...named(name, parts), ...named(name, previous, "PREVIOUS_") }), (registry) =>
        registry.accounts(name, "live")
      )
    const print = ([account]: Effect.Success<ReturnType<typeof by>>) => account?.fingerprints(currency)[0]
    const own = print(yield* by(first))
    expect(own).toMatch(/^[0-9a-f]{16}$/)
    expect(print(yield* by(rotated))).toBe(own)
    expect(print(yield* by(another))).not.toBe(own)
    // Two accounts where they are two, and one where only the secret is another.
    expect((yield* by(another, first)).map(({ fingerprints }) => fingerprints(currency).includes(own ?? ""))).toEqual([
      false,
      true
    ])
    expect((yield* by(rotated, first)).map(({ fingerprints }) => fingerprints(currency).includes(own ?? ""))).toEqual([true])
  }).pipe(Effect.scoped)
)

it.effect("a key that names no account is the same account's where the operator says so of both", () =>
  Effect.gen(function* () {
    const shared = { PAYSTACK_BASE_URL: "https://api.paystack.co", PAYSTACK_PAYOUT_FEES: "GHS:momo:100" }
    const before = yield* registryBy({ ...shared, PAYSTACK_LIVE_SECRET_KEY: "sk_live_a" })
    const record = { provider: "paystack", mode: "live", currency: "GHS" } as const
    const [account = ""] = before.accounts("paystack", "live").flatMap(({ fingerprints }) => fingerprints("GHS"))
    const rotated = { ...shared, PAYSTACK_LIVE_SECRET_KEY: "sk_live_b", PAYSTACK_LIVE_PREVIOUS_SECRET_KEY: "sk_live_a" }
    const sides = Effect.map((registry: ProviderRegistry["Service"]) => [
      registry.accounts("paystack", "live").length,
      Option.getOrUndefined(sentWith(registry, { ...record, account })) === registry.accounts("paystack", "live")[0]
    ])
    expect(yield* sides(registryBy(rotated))).toEqual([2, false])
    const title = { PAYSTACK_LIVE_ACCOUNT: "519035", PAYSTACK_LIVE_PREVIOUS_ACCOUNT: "519035" }
    expect(yield* sides(registryBy({ ...rotated, ...title }))).toEqual([1, true])
  }).pipe(Effect.scoped)
)

const secretsOf = {
  eversend: {
    EVERSEND_BASE_URL: "https://eversend.example",
    EVERSEND_LIVE_CLIENT_ID: "client",
    EVERSEND_LIVE_CLIENT_SECRET: "s",
    EVERSEND_LIVE_WEBHOOK_SECRET: "new",
    EVERSEND_LIVE_PREVIOUS_CLIENT_ID: "client",
    EVERSEND_LIVE_PREVIOUS_CLIENT_SECRET: "s",
    EVERSEND_LIVE_PREVIOUS_WEBHOOK_SECRET: "old"
  },
  flutterwave: {
    FLUTTERWAVE_BASE_URL: "https://flutterwave.example/v3",
    FLUTTERWAVE_LIVE_SECRET_KEY: "FLWSECK-1",
    FLUTTERWAVE_LIVE_WEBHOOK_SECRET_HASH: "new",
    FLUTTERWAVE_LIVE_PREVIOUS_SECRET_KEY: "FLWSECK-1",
    FLUTTERWAVE_LIVE_PREVIOUS_WEBHOOK_SECRET_HASH: "old"
  }
}

it.effect(
  "callbacks of two secrets are taken at a time where an account stands as its own previous one, and it is one account",
  () =>
    Effect.gen(function* () {
      const body = Buffer.from("{}")
      const headersOf = {
        eversend: (secret: string) => ({ "x-eversend-signature": createHmac("sha512", secret).update(body).digest("hex") }),
        flutterwave: (secret: string) => ({ "verif-hash": secret })
      }
      for (const name of ["eversend", "flutterwave"] as const) {
        const registry = yield* registryBy(secretsOf[name])
        expect(registry.accounts(name, "live")).toHaveLength(1)
        const { callbacks } = Option.getOrThrow(registry.find(name, "live"))
        const isTaken = (secret: string) =>
          Option.isSome(callbacks.verify({ method: "POST", path: "/", headers: headersOf[name](secret), body }))
        expect([name, ...["new", "old", "older"].map(isTaken)]).toEqual([name, true, true, false])
      }
    }).pipe(Effect.scoped)
)

it.effect("MTN's accounts are told apart by country: what is swapped in one is not swapped in another", () =>
  Effect.gen(function* () {
    const { first, shared } = Option.getOrThrow(Option.fromUndefinedOr(cases.find(({ name }) => name === "mtn")))
    const registry = yield* registryBy({
      ...shared,
      ...named("mtn", mtnUser("another-user", "b")),
      ...named("mtn", first, "PREVIOUS_")
    })
    const [current, previous] = registry.accounts("mtn", "live")
    expect(
      [current?.fingerprints("UGX"), current?.fingerprints("GHS"), current?.fingerprints("NGN")].map((all) => all?.length)
    ).toEqual([1, 2, 0])
    expect([previous?.fingerprints("UGX"), previous?.fingerprints("GHS")].map((all) => all?.length)).toEqual([1, 0])
  }).pipe(Effect.scoped)
)

const old = { provider: "eversend", mode: "live", currency: "UGX" } as const
it.effect("a record from before accounts were kept was sent with the account that was claimed first, whatever is set later", () =>
  Effect.gen(function* () {
    const before = Layer.succeedContext(yield* Layer.build(fakeAccountClaims()))
    const shared = { EVERSEND_BASE_URL: "https://api.eversend.co/v1" }
    const asked = (registry: ProviderRegistry["Service"]) =>
      registry.accounts("eversend", "live").indexOf(Option.getOrUndefined(sentWith(registry, old)) as never)
    expect(asked(yield* registryBy({ ...shared, ...named("eversend", eversendClient("one", "a")) }, before))).toBe(0)
    const swapped = { ...shared, ...named("eversend", eversendClient("two", "a")) }
    expect(asked(yield* registryBy(swapped, before))).toBe(-1)
    const kept = named("eversend", eversendClient("one", "a"), "PREVIOUS_")
    expect(asked(yield* registryBy({ ...swapped, ...kept }, before))).toBe(1)
  }).pipe(Effect.scoped)
)

it.effect("where the first process has two accounts, nobody answers for a record from before: either may have sent it", () =>
  Effect.gen(function* () {
    const before = Layer.succeedContext(yield* Layer.build(fakeAccountClaims()))
    const current = { EVERSEND_BASE_URL: "https://api.eversend.co/v1", ...named("eversend", eversendClient("two", "a")) }
    const first = yield* registryBy({ ...current, ...named("eversend", eversendClient("one", "a"), "PREVIOUS_") }, before)
    expect(sentWith(first, old)).toEqual(Option.none())
    expect(first.claimed("eversend", "live").join()).toMatch(/^[0-9a-f]{16} or [0-9a-f]{16}$/)
    expect(sentWith(yield* registryBy(current, before), old)).toEqual(Option.none())
  }).pipe(Effect.scoped)
)

it.effect("callbacks of both accounts come to one path, each signed with its own secret", () =>
  Effect.gen(function* () {
    const shared = { FLUTTERWAVE_BASE_URL: "https://api.flutterwave.com/v3" }
    const current = { SECRET_KEY: "FLWSECK-b", WEBHOOK_SECRET_HASH: "new" }
    const previous = { SECRET_KEY: "FLWSECK-a", WEBHOOK_SECRET_HASH: "old" }
    const registry = yield* registryBy({
      ...shared,
      ...named("flutterwave", current),
      ...named("flutterwave", previous, "PREVIOUS_")
    })
    const account = Option.getOrThrow(registry.byRouteKey("flutterwave", registry.routeKey("flutterwave", "live")))
    const isGenuine = (hash: string) => {
      const callback: RawCallback = { method: "POST", path: "/", headers: { "verif-hash": hash }, body: Buffer.from("{}") }
      return Option.isSome(account.callbacks.verify(callback))
    }
    expect(["new", "old", "forged"].map(isGenuine)).toEqual([true, true, false])
  }).pipe(Effect.scoped)
)

it("the account before needs one beside it, and all of its own parts", () => {
  const shared = { EVERSEND_BASE_URL: "https://api.eversend.co/v1" }
  const current = named("eversend", eversendClient("two", "a"))
  const before = named("eversend", eversendClient("one", "a"), "PREVIOUS_")
  expect(mistakesIn(eversendProvider, { ...shared, ...current, ...before })).toEqual([])
  expect(mistakesIn(eversendProvider, { ...shared, ...before })).toContain(
    "EVERSEND_LIVE_PREVIOUS_CLIENT_ID stands beside another account: set that, or unset it"
  )
  expect(mistakesIn(eversendProvider, { ...shared, ...current, EVERSEND_LIVE_PREVIOUS_CLIENT_ID: "one" })).toContain(
    "EVERSEND_LIVE_PREVIOUS_CLIENT_SECRET is required together with the other EVERSEND_LIVE_PREVIOUS credentials"
  )
})
