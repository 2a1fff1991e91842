import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Layer, Option, Redacted } from "effect"
import { ProviderError } from "../../../src/domain/errors/Retriable.ts"
import type { MomoParty } from "../../../src/domain/Party.ts"
import { RouteTrail } from "../../../src/runtime/RouteTrail.ts"
import type { Provider } from "../../../src/services/ports/Provider.ts"
import { ProviderRegistry } from "../../../src/services/ports/ProviderRegistry.ts"
import { Circuits } from "../../../src/services/routing/Circuits.ts"
import { guardedProviders } from "../../../src/services/routing/GuardedProviders.ts"
import { fake, unexpected } from "../../fakes/Fake.ts"
import { facts } from "../../support/SampleFacts.ts"

const { Accepted, NotSent, Refused, Succeeded, Unknown } = facts(10_000n)
const payer: MomoParty = { _tag: "momo", msisdn: Redacted.make("+256772123456"), network: "MTN", country: "UG" }
/** The guard looks into no order: it only passes it on. */
const order = { an: "order" } as never

/** What every call of the provider ends with; each call's name and argument are kept. */
const givenProvider = (call: Effect.Effect<unknown, ProviderError>, offers: ReadonlyArray<keyof Provider> = everything) => {
  const calls: Array<readonly [name: string, argument: unknown]> = []
  const answer = (name: string) => (argument?: unknown) =>
    Effect.andThen(
      Effect.sync(() => void calls.push([name, argument])),
      call as Effect.Effect<never>
    )
  const operations = {
    payouts: { holder: answer("holder"), quote: answer("quote"), send: answer("send"), fetchStatus: answer("poll") },
    collections: { charge: answer("charge"), sendCode: answer("code"), fetchStatus: answer("poll") },
    exchange: { quote: answer("quote"), execute: answer("execute"), fetchStatus: answer("poll") },
    reference: {
      banks: answer("banks"),
      resolve: answer("resolve"),
      countries: answer("countries")(),
      balances: answer("balances")()
    }
  } as const
  const provider: Provider = {
    name: "eversend",
    mode: "test",
    fingerprints: () => ["one"],
    guarantees: {
      clientReference: "idempotent",
      lookup: "by_client_ref",
      callbackAuth: "none",
      quoteTtlMs: 1,
      notFoundGraceMs: 1
    },
    callbacks: { verify: (callback) => unexpected("callbacks.verify", [callback]) },
    ...Object.fromEntries(Object.entries(operations).filter(([name]) => offers.some((one) => one === name)))
  }
  return { calls, provider }
}
const everything = ["payouts", "collections", "exchange", "reference"] as const

/** The provider behind circuits that are closed, or open; what went through them, and how it was judged. */
const guarded = (provider: Provider, isOpen = false) => {
  const judged: Array<readonly [operation: string, verdict: string]> = []
  const circuits = fake(Circuits, {
    through: ({ mode, operation, provider: name }, { call, instead, verdict }) =>
      isOpen
        ? instead
        : Effect.flatMap(Effect.exit(call), (exit) => {
            judged.push([`${name} ${mode} ${operation}`, verdict(exit)])
            return exit
          })
  })
  const registry = Layer.succeed(ProviderRegistry, {
    known: ["eversend"],
    find: () => Option.some(provider),
    accounts: () => [provider],
    claimed: () => [],
    byRouteKey: () => Option.none(),
    routeKey: () => "",
    keptRouteKeys: () => []
  })
  const found = Effect.map(ProviderRegistry, ({ find }) => Option.getOrThrow(find("eversend", "test"))).pipe(
    Effect.provide(Layer.provide(guardedProviders, [Layer.provide(registry, Layer.empty), circuits]))
  )
  return { judged, found }
}

type Call = (provider: Provider) => Effect.Effect<unknown, ProviderError> | undefined
const reads: ReadonlyArray<readonly [name: string, operation: string, call: Call, argument: unknown]> = [
  ["quote", "quote", ({ payouts }) => payouts?.quote(order), order],
  ["holder", "holder", ({ payouts }) => payouts?.holder?.(payer), payer],
  ["quote", "exchange", ({ exchange }) => exchange?.quote(order), order],
  ["banks", "reads", ({ reference }) => reference?.banks?.("UG"), "UG"],
  ["resolve", "resolve", ({ reference }) => reference?.resolve?.(order), order],
  ["countries", "reads", ({ reference }) => reference?.countries, undefined],
  ["balances", "reads", ({ reference }) => reference?.balances, undefined]
]
const moves: typeof reads = [
  ["send", "send", ({ payouts }) => payouts?.send(order), order],
  ["charge", "charge", ({ collections }) => collections?.charge(order), order],
  ["execute", "exchange", ({ exchange }) => exchange?.execute(order), order]
]
const code: (typeof reads)[number] = ["code", "charge", ({ collections }) => collections?.sendCode?.(payer), payer]

/** How a call that ends so is judged, and what the caller is told. */
const through = Effect.fnUntraced(function* (call: Call, ending: Effect.Effect<unknown, ProviderError>, isOpen = false) {
  const { calls, provider } = givenProvider(ending)
  const { found, judged } = guarded(provider, isOpen)
  const told = yield* Effect.exit(call(yield* found) ?? Effect.die(new Error("it is not offered")))
  return { calls, judged, told }
})

describe("a circuit", () => {
  it.effect.each([...reads, ...moves, code])(
    "stands before %s as %s, and passes on what is asked and answered",
    ([name, operation, call, argument]) =>
      Effect.gen(function* () {
        const { calls, judged, told } = yield* through(call, Effect.succeed(Succeeded))
        expect(judged).toStrictEqual([[`eversend test ${operation}`, "answered"]])
        expect([calls, told]).toStrictEqual([[[name, argument]], Exit.succeed(Succeeded)])
      })
  )

  it.effect.each([...reads, code])("that is open answers %s as a provider that cannot be read", ([, , call]) =>
    Effect.gen(function* () {
      const { calls, told } = yield* through(call, Effect.succeed(Succeeded), true)
      expect([calls, told]).toStrictEqual([[], Exit.fail(new ProviderError({}))])
    })
  )

  it.effect.each(reads)(
    "that is open passes the provider over where a payout is priced, and nowhere else: %s as %s",
    ([, operation, call]) =>
      Effect.gen(function* () {
        const candidate = { provider: "eversend", verdict: "not_asked", attempt: null, why: "" } as const
        const trail = new Map([["eversend", candidate]])
        yield* Effect.provideService(through(call, Effect.succeed(Succeeded), true), RouteTrail, trail)
        const passedOver = { ...candidate, verdict: "circuit_open", why: "quotes" }
        expect([...trail.values()]).toStrictEqual([operation === "quote" ? passedOver : candidate])
      })
  )

  it.effect.each(moves)("that is open sends nothing of %s, and says so", ([, , call]) =>
    Effect.gen(function* () {
      const { calls, told } = yield* through(call, Effect.succeed(Succeeded), true)
      expect([calls, told]).toStrictEqual([[], Exit.succeed({ _tag: "NotSent", note: "circuit open" })])
    })
  )

  it.effect("stands before no poll", () =>
    Effect.gen(function* () {
      const { calls, provider } = givenProvider(Effect.succeed(Succeeded))
      const { found, judged } = guarded(provider, true)
      const { collections, exchange, payouts } = yield* found
      for (const one of [payouts, collections, exchange]) expect(yield* one?.fetchStatus(order) ?? Effect.void).toBe(Succeeded)
      expect([calls.map(([name]) => name), judged]).toStrictEqual([["poll", "poll", "poll"], []])
    })
  )
})

describe("what a provider does not offer", () => {
  it.effect.each(everything)("is not offered behind a circuit: %s", (missing) =>
    Effect.gen(function* () {
      const { provider } = givenProvider(
        Effect.succeed(Succeeded),
        everything.filter((name) => name !== missing)
      )
      expect(Object.keys(yield* guarded(provider).found).sort()).toStrictEqual(Object.keys(provider).sort())
    })
  )

  it.effect("is not offered behind a circuit: a code, or a read", () =>
    Effect.gen(function* () {
      const { provider } = givenProvider(Effect.succeed(Succeeded))
      const { sendCode: _, ...collections } = provider.collections ?? unexpected("collections", [])
      const found = yield* guarded({ ...provider, collections, reference: {} }).found
      expect(Object.keys(found.collections ?? {}).sort()).toStrictEqual(["charge", "fetchStatus"])
      expect(found.reference).toStrictEqual({})
    })
  )
})

describe("a call says of its provider", () => {
  const [[, , quote], [, , send]] = [reads[0] ?? code, moves[0] ?? code]
  const [, , sendCode] = code
  it.effect.each<readonly [string, Call, Effect.Effect<unknown, ProviderError>, string]>([
    ["a read that fails", quote, Effect.fail(new ProviderError({})), "failed"],
    ["a read that breaks", quote, Effect.die(new Error("broken")), "failed"],
    ["a read that nobody waits for any more", quote, Effect.interrupt, "answered"],
    ["a code that was sent", sendCode, Effect.succeed({ pinId: "1" }), "answered"],
    ["a code that may have been sent", sendCode, Effect.succeed("unknown"), "failed"],
    ["a code that was not sent", sendCode, Effect.fail(new ProviderError({})), "failed"],
    ["a payout that was taken", send, Effect.succeed(Accepted), "answered"],
    ["a payout that was refused", send, Effect.succeed(Refused), "answered"],
    ["a payout that never left", send, Effect.succeed(NotSent), "unreachable"],
    ["a payout without an answer", send, Effect.succeed(Unknown), "failed"],
    ["a payout without a connection", send, Effect.succeed({ ...Unknown, reason: "unavailable" }), "failed"],
    ["a payout with an unreadable answer", send, Effect.succeed({ ...Unknown, reason: "bad_response" }), "answered"],
    ["a payout that broke here", send, Effect.die(new Error("broken")), "answered"]
  ])("%s", ([, call, ending, verdict]) =>
    Effect.gen(function* () {
      const { judged } = yield* through(call, ending)
      expect(judged.map(([, said]) => said)).toStrictEqual([verdict])
    })
  )
})
