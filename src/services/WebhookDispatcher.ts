import { createHmac } from "node:crypto"
import { Clock, Context, Effect, Layer, Random, Redacted } from "effect"
import { nextAttempt } from "../domain/DeliverySchedule.ts"
import type { Instant } from "../domain/Instant.ts"
import { type WebhookMessage, webhookHeaders, webhookKey, webhookText } from "../domain/StandardWebhook.ts"
import { Policy } from "./ports/Policy.ts"
import { linked } from "./ports/TraceLinks.ts"
import { type DueDelivery, type Endpoint, type Verdict, WebhookOutbox } from "./ports/WebhookOutbox.ts"
import { type EndpointAnswer, WebhookSender } from "./ports/WebhookSender.ts"
import { CONNECTIONS_PER_ENDPOINT } from "./TenantConnection.ts"
import { makeWorker } from "./Worker.ts"

/** Deliveries under way at once, over all endpoints. */
const SLOTS = 128
/** Longer than an attempt can take, so that no other node makes the same one meanwhile. */
const LEASE_MS = 60_000
/** How often due deliveries are looked for when nobody says that there are some. */
const IDLE_MS = 250
/** The status by which an endpoint says that it wants nothing any more. */
const GONE = 410
const USER_AGENT = "payment-gateway-webhooks/1"

/** Sends events to tenants, at least once each, until one is taken or the schedule is over. */
export class WebhookDispatcher extends Context.Service<
  WebhookDispatcher,
  {
    /** Makes every attempt that is due now, waits for their ends, and answers how many. */
    readonly round: Effect.Effect<number>
    /** Delivers for ever. */
    readonly run: Effect.Effect<never>
    /** Says that something may be due. */
    readonly nudge: Effect.Effect<void>
  }
>()("gateway/services/WebhookDispatcher") {
  static readonly layer = Layer.effect(
    WebhookDispatcher,
    Effect.gen(function* () {
      const outbox = yield* WebhookOutbox
      const sender = yield* WebhookSender
      const { webhookScheduleMs } = yield* Policy

      const claim = Effect.fnUntraced(function* (free: number) {
        return yield* outbox.claimDue(yield* Clock.currentTimeMillis, free, CONNECTIONS_PER_ENDPOINT, LEASE_MS)
      })

      const settle = Effect.fnUntraced(function* (delivery: DueDelivery, at: Instant, answer: EndpointAnswer) {
        const endedAt = yield* Clock.currentTimeMillis
        const { excerpt, retryAfter, status } = answer
        const failed = { at: endedAt, attempts: delivery.attempts + 1, retryAfter, dice: yield* Random.next }
        const verdict = isTaken(answer) ? delivered : status === GONE ? gone : followUp(nextAttempt(webhookScheduleMs, failed))
        yield* outbox.settle({ delivery, at, durationMs: endedAt - at, status, excerpt }, verdict)
        // Not the endpoint's own words: they are kept with the attempt, and do not belong into a log.
        const reason = status === null ? excerpt : `status ${status}`
        if (verdict._tag !== "Delivered") yield* Effect.logWarning(`a webhook was not taken: ${reason}`)
        yield* Effect.annotateCurrentSpan({ status: status ?? 0, verdict: verdict._tag })
      })

      const attempt = Effect.fn("WebhookDispatcher.attempt")(
        function* (delivery: DueDelivery) {
          const at = yield* Clock.currentTimeMillis
          yield* linked([delivery.traceparent ?? null])
          // What the endpoint answered is accounted for, also when the process is told to stop at that moment.
          yield* Effect.uninterruptibleMask((restore) =>
            restore(sender.post(signed(delivery, at))).pipe(Effect.flatMap((answer) => settle(delivery, at, answer)))
          )
        },
        (effect, { endpoint, eventId, eventType, id }) => {
          const names = { app_id: endpoint.appId, mode: endpoint.mode, delivery_id: id, event_id: eventId, event_type: eventType }
          return Effect.andThen(Effect.annotateCurrentSpan(names), effect).pipe(
            Effect.annotateLogs(names),
            Effect.annotateSpans(names)
          )
        }
      )

      return yield* makeWorker({ name: "WebhookDispatcher", slots: SLOTS, idleMs: IDLE_MS, claim, work: attempt })
    })
  )
}

const delivered: Verdict = { _tag: "Delivered" }
const gone: Verdict = { _tag: "Gone" }
const followUp = (at: Instant | null): Verdict => (at === null ? { _tag: "Parked" } : { _tag: "Again", at })

const isTaken = ({ status }: EndpointAnswer): boolean => status !== null && status >= 200 && status < 300

const signed = (delivery: DueDelivery, at: Instant) => {
  const { body, endpoint, eventId } = delivery
  const message = { id: eventId, at, body }
  const signatures = secretsOf(endpoint).map((secret) => signature(message, secret))
  const headers = { "content-type": "application/json", "user-agent": USER_AGENT, ...webhookHeaders(message, signatures) }
  return { url: endpoint.url, headers, body }
}

const secretsOf = ({ previousSecret, secret }: Endpoint): ReadonlyArray<Redacted.Redacted> =>
  previousSecret === undefined ? [secret] : [secret, previousSecret]

const signature = (message: WebhookMessage, secret: Redacted.Redacted): string =>
  createHmac("sha256", Buffer.from(webhookKey(Redacted.value(secret)), "base64"))
    .update(webhookText(message))
    .digest("base64")
