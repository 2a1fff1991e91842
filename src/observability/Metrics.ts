import { Clock, Effect, Layer, Metric } from "effect"
import { labelledMetric } from "../runtime/LabelledMetric.ts"
import type { PayoutOperations, Provider } from "../services/ports/Provider.ts"
import { decorateProviders, ProviderRegistry } from "../services/ports/ProviderRegistry.ts"
import { WebhookOutbox } from "../services/ports/WebhookOutbox.ts"
import { annotations } from "./Attributes.ts"

// Labels are tags and providers' names: bounded sets, and nothing that belongs to a tenant or a person.

const providerCalls = labelledMetric(
  (attributes: { readonly provider: string; readonly call: string; readonly outcome: string }) =>
    Metric.counter("gateway_provider_calls_total", {
      description: "Calls to providers, by how they ended.",
      incremental: true,
      attributes
    })
)
const providerSeconds = labelledMetric((attributes: { readonly provider: string; readonly call: string }) =>
  Metric.histogram("gateway_provider_call_duration_seconds", {
    description: "How long calls to providers took.",
    boundaries: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 30],
    attributes
  })
)
const deliveries = labelledMetric((attributes: { readonly verdict: string }) =>
  Metric.counter("gateway_webhook_attempts_total", {
    description: "Webhook attempts, by what followed.",
    incremental: true,
    attributes
  })
)

/** Counts what providers answer, around whatever registry is provided. */
const providersLayer = Layer.effect(
  ProviderRegistry,
  Effect.gen(function* () {
    const registry = yield* ProviderRegistry
    // A counter that is not there yet grows from nothing, which no alert sees.
    for (const provider of registry.known)
      for (const call of moneyCalls) yield* providerCalls({ provider, call, outcome: "Unknown" }, 0)
    return decorateProviders(registry, countCalls)
  })
)

/** Counts attempts, around whatever outbox is provided. */
const deliveriesLayer = Layer.effect(
  WebhookOutbox,
  Effect.map(WebhookOutbox, (outbox) =>
    WebhookOutbox.of({
      ...outbox,
      recordAttempt: (attempt, verdict) =>
        Effect.andThen(outbox.recordAttempt(attempt, verdict), deliveries({ verdict: verdict._tag }, 1))
    })
  )
)

/** What `/metrics` shows of calls. Each wraps what it counts; App puts them around it. */
export const Metrics = { providers: providersLayer, deliveries: deliveriesLayer }

const moneyCalls = ["send", "charge", "exchange", "ask_payout", "ask_collection", "ask_exchange"] as const

const countCalls = (provider: Provider): Provider => {
  const ended = (call: string) => (outcome: string) => providerCalls({ provider: provider.name, call, outcome }, 1)
  const tagged = <Order, Fact extends { readonly _tag: string }>(call: string, ask: (order: Order) => Effect.Effect<Fact>) => {
    const end = ended(call)
    return (order: Order) =>
      Effect.tap(timeCall(ask(order), provider.name, call), ({ _tag }) =>
        Effect.andThen(end(_tag), Effect.annotateCurrentSpan(annotations({ "gateway.outcome": _tag })))
      )
  }
  const { collections, exchange, payouts } = provider
  return {
    ...provider,
    ...(payouts === undefined
      ? {}
      : {
          payouts: {
            quote: countQuote((order) => timeCall(payouts.quote(order), provider.name, "quote"), ended("quote")),
            send: tagged("send", payouts.send),
            fetchStatus: tagged("ask_payout", payouts.fetchStatus)
          }
        }),
    ...(exchange === undefined
      ? {}
      : {
          exchange: {
            ...exchange,
            execute: tagged("exchange", exchange.execute),
            fetchStatus: tagged("ask_exchange", exchange.fetchStatus)
          }
        }),
    ...(collections === undefined
      ? {}
      : {
          collections: {
            ...collections,
            charge: tagged("charge", collections.charge),
            fetchStatus: tagged("ask_collection", collections.fetchStatus)
          }
        })
  }
}

const MS_PER_SECOND = 1000

const timeCall = <A, E>(calling: Effect.Effect<A, E>, provider: string, call: string): Effect.Effect<A, E> =>
  Effect.flatMap(Clock.currentTimeMillis, (startedAt) =>
    Effect.ensuring(
      calling,
      Effect.flatMap(Clock.currentTimeMillis, (endedAt) =>
        providerSeconds({ provider, call }, (endedAt - startedAt) / MS_PER_SECOND)
      )
    )
  )

const countQuote =
  (quote: PayoutOperations["quote"], end: (outcome: string) => Effect.Effect<void>): PayoutOperations["quote"] =>
  (order) =>
    quote(order).pipe(
      Effect.tap((answer) => end("_tag" in answer ? answer._tag : "Quoted")),
      Effect.tapError((error) => end(error._tag))
    )
