import { Effect, Metric } from "effect"
import { NO_FAILURE } from "../../domain/FinalOutcome.ts"
import { PeriodCounts } from "../ports/PeriodCounts.ts"
import type { Provider } from "../ports/Provider.ts"
import { ProviderRegistry, registeredAccounts } from "../ports/ProviderRegistry.ts"

/** The kinds of callbacks: new, the same bytes again, or not signed by its provider. */
const arrivals = ["new", "repeated", "refused"] as const
type Arrival = (typeof arrivals)[number]

const callbacks = Metric.counter("gateway_callbacks_total", {
  description: "Callbacks of providers, by what they were: new, repeated, or refused because the provider did not sign them.",
  incremental: true
})

const forged = Metric.counter("gateway_callbacks_refused_total", {
  description: "Callbacks whose signature was not the provider's.",
  incremental: true
})

/** Counts the callbacks of each account, in this process's metrics and in the shared period counts. */
export const makeCallbackCounts = Effect.gen(function* () {
  const registry = yield* ProviderRegistry
  const periods = yield* PeriodCounts
  const accounts = registeredAccounts(registry)
  // Starts the counters at zero, because an alert does not notice the first increase of a counter that did not exist.
  for (const account of accounts) {
    for (const outcome of arrivals) yield* Metric.update(Metric.withAttributes(callbacks, { ...account, outcome }), 0)
    yield* Metric.update(Metric.withAttributes(forged, account), 0)
  }

  return Effect.fnUntraced(function* ({ mode, name: provider }: Pick<Provider, "mode" | "name">, outcome: Arrival) {
    yield* Metric.update(Metric.withAttributes(callbacks, { provider, mode, outcome }), 1)
    if (outcome === "refused") yield* Metric.update(Metric.withAttributes(forged, { provider, mode }), 1)
    yield* periods.add({ what: "callback", mode, provider, corridor: "", outcome, failure: NO_FAILURE })
  })
})
