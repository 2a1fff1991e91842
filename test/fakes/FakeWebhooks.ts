import { Effect } from "effect"
import {
  type AttemptOutcome,
  type DueDelivery,
  type FinishedAttempt,
  WebhookOutbox
} from "../../src/services/ports/WebhookOutbox.ts"
import { type EndpointResponse, type SignedDelivery, WebhookSender } from "../../src/services/ports/WebhookSender.ts"
import { fake } from "./Fake.ts"

export interface SettledAttempt {
  readonly attempt: FinishedAttempt
  readonly verdict: AttemptOutcome
}

/** WebhookOutbox that hands out each of these deliveries once, whatever their time, and adds what came of its attempts to `settled`. */
export const fakeWebhookOutbox = (due: ReadonlyArray<DueDelivery> = [], settled: Array<SettledAttempt> = []) => {
  const waiting = [...due]
  return fake(WebhookOutbox, {
    claimDue: (_now, limit) => Effect.sync(() => waiting.splice(0, limit)),
    recordAttempt: (attempt, verdict) => Effect.sync(() => void settled.push({ attempt, verdict }))
  })
}

/** WebhookSender whose endpoints all give this answer; what was posted is added to `posted`. */
export const fakeWebhookSender = (
  answer: EndpointResponse = { status: 200, excerpt: "", retryAfter: null, problem: null },
  posted: Array<SignedDelivery> = []
) => fake(WebhookSender, { post: (delivery) => Effect.sync(() => void posted.push(delivery)).pipe(Effect.as(answer)) })
