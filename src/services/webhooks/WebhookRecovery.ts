import { Effect } from "effect"
import type { Instant } from "../../domain/Instant.ts"
import { RandomSource } from "../ports/RandomSource.ts"
import { type DeliveryCursor, type RecoveryStep, WebhookDeliveries } from "../ports/WebhookDeliveries.ts"

/** How long events are stored and can be recovered. */
export const EVENTS_KEPT_MS = 30 * 24 * 3_600_000
const STEP = 1_000
/** The maximum number of steps of one recovery. The rest needs another request. */
const STEPS = 100
/** The most deliveries due to an endpoint after a recovery. An endpoint that is too slow for them needs another recovery. */
const DUE_AT_MOST = 10_000

export interface Recovered {
  readonly deliveries: number
  /** Where the next recovery must begin when this one reached its limit; null when everything is due. */
  readonly resumeAt: Instant | null
}

interface Wish extends Omit<RecoveryStep, "from" | "ids" | "dueAtMost"> {
  readonly since: Instant
}

/** Sends a tenant's events to one endpoint again, oldest first. `stepped` runs after each step. */
export const makeRecovery = Effect.fnUntraced(function* (stepped: Effect.Effect<void>) {
  const outgoing = yield* WebhookDeliveries
  const randomSource = yield* RandomSource

  return Effect.fn("WebhookRecovery")(function* ({ since, ...wish }: Wish): Effect.fn.Return<Recovered> {
    let from: DeliveryCursor = { at: since, id: "" }
    let deliveries = 0
    for (let step = 0; step < STEPS; step++) {
      const ids = yield* Effect.replicateEffect(randomSource.reference, STEP)
      const done = yield* outgoing.recover({ ...wish, from, ids, dueAtMost: DUE_AT_MOST })
      deliveries += done.made
      yield* stepped
      if (done.next === null) return { deliveries, resumeAt: null }
      if (done.next === "later") break
      from = done.next
    }
    return { deliveries, resumeAt: from.at }
  })
})
