import { expect, it } from "@effect/vitest"
import { Effect, Layer, Metric, Option, Redacted } from "effect"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import { ProviderError } from "../../src/domain/errors/Retriable.ts"
import { observedProviders } from "../../src/observability/ProviderCalls.ts"
import { tellTurnedAway, withTurn } from "../../src/runtime/CallTurn.ts"
import type { Provider } from "../../src/services/ports/Provider.ts"
import { ProviderRegistry } from "../../src/services/ports/ProviderRegistry.ts"
import { fakePolicy } from "../fakes/FakePolicy.ts"
import { readExposition, sampled, samplesOf } from "../support/Exposition.ts"
import { givenTelemetry } from "../support/Telemetry.ts"

const fails = Effect.fail(new ProviderError({}))

const provider: Provider = {
  name: "counted",
  mode: "live",
  fingerprints: () => ["one"],
  guarantees: { clientReference: "none", lookup: "none", callbackAuth: "none", quoteTtlMs: 0, notFoundGraceMs: 0 },
  callbacks: { verify: () => Option.none() },
  payouts: {
    // Of three calls one is not answered, and one is turned away.
    holder: ({ msisdn }) => {
      const number = Redacted.value(msisdn)
      if (number === "nobody's") return Effect.succeed("inactive")
      return number === "busy" ? Effect.andThen(tellTurnedAway({ retryAfterMs: 1, intervalMs: 1 }), fails) : fails
    },
    quote: () => fails,
    send: () => Effect.succeed({ _tag: "NotSent", note: "no free connection in time" }),
    fetchStatus: () => Effect.succeed({ _tag: "StillPending", providerReference: null, note: "" })
  },
  reference: { resolve: () => Effect.succeed("unresolvable"), countries: fails }
}

const registry = Layer.succeed(ProviderRegistry, {
  known: ["counted", "absent"],
  find: (name, mode) => (name === "counted" && mode === "live" ? Option.some(provider) : Option.none()),
  accounts: () => [provider],
  claimed: () => [],
  byRouteKey: () => Option.none(),
  routeKey: () => "",
  keptRouteKeys: () => []
})

it.effect("counts a call as failed where nothing came of it, also one that was not sent; a refusal is an answer", () =>
  Effect.gen(function* () {
    const { payouts, reference } = Option.getOrThrow((yield* ProviderRegistry).find("counted", "live"))
    yield* Effect.exit(payouts?.quote({} as never) ?? Effect.void)
    yield* payouts?.send({} as never) ?? Effect.void
    yield* payouts?.fetchStatus({} as never) ?? Effect.void
    yield* reference?.resolve?.({} as never) ?? Effect.void
    const holder = (number: string) =>
      payouts?.holder?.({ _tag: "momo", msisdn: Redacted.make(number), network: "MTN", country: "UG" }) ?? Effect.void
    for (const number of ["nobody's", "unread", "busy"]) yield* withTurn(holder(number), false)
    // What is turned away is busy, and has not failed.
    yield* withTurn(
      Effect.andThen(tellTurnedAway({ retryAfterMs: 1, intervalMs: 1 }), payouts?.send({} as never) ?? Effect.void),
      true
    )
    yield* Effect.exit(reference?.countries ?? Effect.void)
    const page = readExposition(yield* PrometheusMetrics.format())
    const account = { provider: "counted", mode: "live" }
    const failed = (call: string) => sampled(page, "gateway_provider_calls_failed_total", { ...account, call })
    expect(["quote", "send", "ask_payout", "resolve", "countries"].map(failed)).toEqual([1, 1, 0, 0, 1])
    const ended = (call: string, outcome: string) => sampled(page, "gateway_provider_calls_total", { ...account, call, outcome })
    expect([ended("quote", "provider_error"), ended("send", "NotSent"), ended("resolve", "Answered")]).toEqual([1, 1, 1])
    expect(ended("send", "TurnedAway")).toBe(1)
    expect([ended("holder", "Answered"), ended("holder", "provider_error"), ended("holder", "TurnedAway")]).toEqual([1, 1, 1])
    expect(failed("holder")).toBe(1)
    expect(
      samplesOf(page, "gateway_provider_calls_failed_total").filter(({ labels }) => labels["provider"] === "absent")
    ).toEqual([])
    const bounds = samplesOf(page, "gateway_provider_call_duration_seconds_bucket")
      .filter(({ labels }) => labels["call"] === "quote")
      .map(({ labels }) => labels["le"])
    expect(bounds.slice(-5)).toEqual(["13.5", "15", "16.5", "30", "+Inf"])
  }).pipe(
    Effect.provide(observedProviders.pipe(Layer.provide([registry, fakePolicy()]))),
    Effect.provideService(Metric.MetricRegistry, new Map())
  )
)

it.effect("a call is a line of the log and a span, with the payment, how it ended, and in which words", () =>
  Effect.gen(function* () {
    const { lines, layer, spans } = givenTelemetry()
    const { payouts } = Option.getOrThrow((yield* ProviderRegistry).find("counted", "live"))
    const order = { reference: "00000000000000000000000001" } as never
    const calls = Effect.all([payouts?.send(order) ?? Effect.void, Effect.exit(payouts?.quote(order) ?? Effect.void)])
    yield* Effect.provide(calls, layer)
    const account = { provider: "counted", mode: "live", duration_ms: 0 }
    const note = "no free connection in time"
    expect(lines).toEqual([
      [
        "Info",
        "provider call",
        { ...account, operation: "send", fact: "NotSent", note, reference: "00000000000000000000000001" }
      ],
      ["Info", "provider call", { ...account, operation: "quote", fact: "provider_error" }]
    ])
    expect(yield* spans).toEqual([
      ["provider send", { provider: "counted", "gateway.outcome": "NotSent", note }],
      ["provider quote", { provider: "counted", "gateway.outcome": "provider_error" }]
    ])
  }).pipe(
    Effect.provide(observedProviders.pipe(Layer.provide([registry, fakePolicy()]))),
    Effect.provideService(Metric.MetricRegistry, new Map())
  )
)
