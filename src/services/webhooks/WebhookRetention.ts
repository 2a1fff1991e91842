import { Effect, Ref } from "effect"
import type { Instant } from "../../domain/Instant.ts"
import { type DeliveryCursor, WebhookDeliveries } from "../ports/WebhookDeliveries.ts"
import { EVENTS_KEPT_MS } from "./WebhookRecovery.ts"

/** Events live a day longer than they can be recovered, so that none goes away under a recovery. */
export const EVENTS_REMOVED_AFTER_MS = EVENTS_KEPT_MS + 24 * 3_600_000
/** Events that one statement looks at, and statements of one round. */
const STEP = 1_000
const STEPS = 10

/**
 * Removes old events that can no longer be requested: their deliveries all arrived, or they had none. The effect that it makes does a
 * bounded part of that, goes on where it ended before, and answers how many events were removed.
 */
export const makeEventRetention = Effect.gen(function* () {
  const deliveries = yield* WebhookDeliveries
  // Parked deliveries stay for good. A round goes on behind them, and does not look at them again and again.
  const reached = yield* Ref.make<DeliveryCursor | null>(null)

  return Effect.fn("WebhookRetention.round")(function* (now: Instant) {
    let removed = 0
    for (let step = 0; step < STEPS; step++) {
      const done = yield* deliveries.purge(now - EVENTS_REMOVED_AFTER_MS, yield* Ref.get(reached), STEP)
      removed += done.removed
      yield* Ref.set(reached, done.next)
      if (done.next === null) return removed
    }
    return removed
  })
})
