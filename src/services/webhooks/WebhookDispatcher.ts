import { createHmac, createSecretKey, type KeyObject } from "node:crypto"
import { Clock, Context, Effect, Random, Redacted } from "effect"
import type { Instant } from "../../domain/Instant.ts"
import { maskedText } from "../../domain/Masking.ts"
import { type WebhookMessage, webhookHeaders, webhookHmacKey, webhookSigningText } from "../../domain/StandardWebhook.ts"
import { nextAttempt } from "../../domain/WebhookRetrySchedule.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { annotateTraced, inSomeSpan, inTraceOf, whereTraced } from "../../runtime/Tracing.ts"
import { makeWorker } from "../../runtime/Worker.ts"
import { Policy } from "../ports/Policy.ts"
import { type AttemptOutcome, type DueDelivery, type SigningEndpoint, WebhookOutbox } from "../ports/WebhookOutbox.ts"
import { type EndpointResponse, WebhookSender } from "../ports/WebhookSender.ts"
import { CONNECTIONS_PER_ENDPOINT } from "./EndpointConnection.ts"

/** Concurrent deliveries over all endpoints. */
const SLOTS = 256
/** Longer than an attempt can take, so that no other node makes the same one meanwhile. */
const LEASE_MS = 60_000
/** How often due deliveries are claimed without a nudge. */
const IDLE_MS = 250
const ATTEMPT = "WebhookDispatcher.attempt"
/** The status with which an endpoint says that it is gone for good. */
const GONE = 410
const USER_AGENT = "payment-gateway-webhooks/1"

/** Delivers events to tenants at least once, retrying until one is accepted or the retry schedule is exhausted. */
export class WebhookDispatcher extends Context.Service<
  WebhookDispatcher,
  {
    /** Makes every attempt that is due now, waits for all of them, and returns how many. */
    readonly round: Effect.Effect<number>
    readonly run: Effect.Effect<never>
    /** Signals that a delivery may be due. */
    readonly nudge: Effect.Effect<void>
  }
>()("gateway/services/WebhookDispatcher") {
  static readonly layer = layerOf(WebhookDispatcher)(function* () {
    const outbox = yield* WebhookOutbox
    const sender = yield* WebhookSender
    const { webhookScheduleMs } = yield* Policy

    const claim = Effect.fnUntraced(function* (free: number) {
      return yield* outbox.claimDue(yield* Clock.currentTimeMillis, free, CONNECTIONS_PER_ENDPOINT, LEASE_MS)
    })

    const record = (delivery: DueDelivery, at: Instant, answer: EndpointResponse) =>
      Effect.flatMap(Clock.currentTimeMillis, (endedAt) => {
        const { status } = answer
        // An endpoint's own words, such as its error page, may quote a customer's number.
        const attempt = { delivery, at, durationMs: endedAt - at, status, excerpt: maskedText(answer.excerpt) }
        const verdict = isSuccess(answer) ? isDelivered : status === GONE ? isGone : postponed(delivery, endedAt, answer)
        return Effect.flatMap(verdict, (verdict) => Effect.as(outbox.recordAttempt(attempt, verdict), { answer, verdict }))
      })

    const postponed = (delivery: DueDelivery, at: Instant, { retryAfter }: EndpointResponse) =>
      Effect.map(Random.next, (random) =>
        followUp(nextAttempt(webhookScheduleMs, { at, attempts: delivery.attempts + 1, retryAfter, random }))
      )

    const sent = (delivery: DueDelivery) =>
      Effect.flatMap(Clock.currentTimeMillis, (at) =>
        // Uninterruptible, so that the endpoint's response is recorded even when the process is stopping.
        Effect.uninterruptibleMask((restore) =>
          Effect.flatMap(restore(sender.post(signed(delivery, at))), (answer) => record(delivery, at, answer))
        )
      )

    const attempt = (delivery: DueDelivery): Effect.Effect<void> =>
      inItsSpan(delivery)(Effect.flatMap(sent(delivery), (end) => report(delivery, end)))

    return yield* makeWorker({ name: "WebhookDispatcher", slots: SLOTS, idleMs: IDLE_MS, claim, work: attempt })
  })
}

interface Ended {
  readonly answer: EndpointResponse
  readonly verdict: AttemptOutcome
}

const isDelivered = Effect.succeed<AttemptOutcome>({ _tag: "Delivered" })
const isGone = Effect.succeed<AttemptOutcome>({ _tag: "Gone" })
const followUp = (at: Instant | null): AttemptOutcome => (at === null ? { _tag: "Parked" } : { _tag: "Again", at })

const isSuccess = ({ status }: EndpointResponse): boolean => status !== null && status >= 200 && status < 300

/** The attributes that identify a delivery in spans and log lines. */
const namesOf = ({ endpoint, eventId, eventType, id, reference }: DueDelivery) => ({
  app_id: endpoint.appId,
  mode: endpoint.mode,
  endpoint: endpoint.name,
  delivery_id: id,
  event_id: eventId,
  event_type: eventType,
  ...(reference === undefined || reference === null ? {} : { reference })
})

const inItsSpan = (delivery: DueDelivery) =>
  whereTraced((effect: Effect.Effect<void>) =>
    Effect.annotateSpans(inTraceOf(ATTEMPT, delivery.traceparent)(effect), namesOf(delivery))
  )

/** An accepted event appears only in the span. */
const report = (delivery: DueDelivery, { answer, verdict }: Ended): Effect.Effect<void> =>
  Effect.andThen(
    annotateTraced(() => ({ verdict: verdict._tag })),
    verdict._tag === "Delivered" ? Effect.void : warn(delivery, answer)
  )

const warn = (delivery: DueDelivery, { problem, status }: EndpointResponse): Effect.Effect<void> => {
  // Without the endpoint's own words: they are stored with the attempt and do not belong in a log.
  const why = status === null ? { note: problem } : { status }
  const warning = Effect.annotateLogs(Effect.logWarning("a webhook delivery attempt failed"), why)
  return inSomeSpan(ATTEMPT, delivery.traceparent)(Effect.annotateLogs(warning, namesOf(delivery)))
}

const signed = (delivery: DueDelivery, at: Instant) => {
  const { body, endpoint, eventId } = delivery
  const message = { id: eventId, at, body }
  const signatures = secretsOf(endpoint).map((secret) => signature(message, secret))
  const headers = { "content-type": "application/json", "user-agent": USER_AGENT, ...webhookHeaders(message, signatures) }
  return { url: endpoint.url, headers, body }
}

const secretsOf = ({ previousSecret, secret }: SigningEndpoint): ReadonlyArray<Redacted.Redacted> =>
  previousSecret === undefined ? [secret] : [secret, previousSecret]

const signature = (message: WebhookMessage, secret: Redacted.Redacted): string =>
  createHmac("sha256", keyOf(secret)).update(webhookSigningText(message)).digest("base64")

/** The outbox passes the same secret object for one endpoint's deliveries as long as the secret does not change. */
const keys = new WeakMap<Redacted.Redacted, KeyObject>()
const keyOf = (secret: Redacted.Redacted): KeyObject => {
  const key = keys.get(secret) ?? createSecretKey(webhookHmacKey(Redacted.value(secret)), "base64")
  keys.set(secret, key)
  return key
}
