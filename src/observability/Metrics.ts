import { Effect, Layer, Metric } from "effect"
import { labelledMetric } from "../runtime/LabelledMetric.ts"
import { WebhookOutbox } from "../services/ports/WebhookOutbox.ts"

const deliveries = labelledMetric((attributes: { readonly verdict: string }) =>
  Metric.counter("gateway_webhook_attempts_total", {
    description: "Webhook attempts, by what followed.",
    incremental: true,
    attributes
  })
)

/** Wraps any outbox, and counts its attempts. */
export const countedDeliveries = Layer.effect(
  WebhookOutbox,
  Effect.map(WebhookOutbox, (outbox) =>
    WebhookOutbox.of({
      ...outbox,
      recordAttempt: (attempt, verdict) =>
        Effect.andThen(outbox.recordAttempt(attempt, verdict), deliveries({ verdict: verdict._tag }, 1))
    })
  )
)
