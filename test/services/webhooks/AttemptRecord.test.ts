import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Logger, Option, References, Tracer } from "effect"
import { TestClock } from "effect/testing"
import type { DueDelivery } from "../../../src/services/ports/WebhookOutbox.ts"
import { type EndpointResponse, type SignedDelivery, WebhookSender } from "../../../src/services/ports/WebhookSender.ts"
import { WebhookDispatcher } from "../../../src/services/webhooks/WebhookDispatcher.ts"
import { fake } from "../../fakes/Fake.ts"
import { fakePolicy } from "../../fakes/FakePolicy.ts"
import { fakeWebhookOutbox, type SettledAttempt } from "../../fakes/FakeWebhooks.ts"
import { delivery, newReference, newSecret } from "../../support/WebhookReceiver.ts"

const NOW = 1_795_000_000_000
const TOOK_MS = 250
const url = "https://tenant.example/hook"
const traceparent = `00-${"1".repeat(32)}-${"2".repeat(16)}-01`

/** One attempt whose endpoint takes a quarter of a second for its answer: what was posted, recorded, logged and traced. */
const attempted = Effect.fnUntraced(function* (due: DueDelivery, answer: Partial<EndpointResponse>) {
  const posted: Array<SignedDelivery> = []
  const settled: Array<SettledAttempt> = []
  const logged: Array<readonly unknown[]> = []
  const spans: Array<Tracer.Span> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    }
  })
  const response = { status: null, excerpt: "", retryAfter: null, problem: null, ...answer }
  const sender = fake(WebhookSender, {
    post: (one) =>
      Effect.as(
        Effect.delay(
          Effect.sync(() => posted.push(one)),
          TOOK_MS
        ),
        response
      )
  })
  const ports = Layer.mergeAll(sender, fakeWebhookOutbox([due], settled), fakePolicy({ webhookScheduleMs: [0, 5_000] }))
  const logger = Logger.make(({ fiber, message }) => {
    logged.push([message, fiber.getRef(References.CurrentLogAnnotations)].flat())
  })
  yield* TestClock.setTime(NOW)
  const round = Effect.flatMap(WebhookDispatcher, (dispatcher) => dispatcher.round).pipe(
    Effect.provide(Layer.merge(Layer.provide(WebhookDispatcher.layer, ports), Logger.layer([logger]))),
    Effect.provideService(Tracer.Tracer, tracer)
  )
  yield* Effect.all([round, TestClock.adjust(TOOK_MS)], { concurrency: "unbounded" })
  const span = spans.find(({ name }) => name === "WebhookDispatcher.attempt")
  return { posted, settled, logged, span }
})

const namesOf = ({ eventId, eventType, id }: DueDelivery) => ({
  app_id: "acme",
  mode: "test",
  endpoint: "default",
  delivery_id: id,
  event_id: eventId,
  event_type: eventType
})

describe("an attempt at a delivery", () => {
  it.effect.each([
    [199, "Again"],
    [200, "Delivered"],
    [299, "Delivered"],
    [300, "Again"],
    [410, "Gone"],
    [null, "Again"]
  ] as const)("that is answered %s is recorded as %s, with its time and how long it took", ([status, verdict]) =>
    Effect.gen(function* () {
      const due = delivery(url, newSecret())
      const { settled } = yield* attempted(due, { status, excerpt: "words" })
      expect(settled.map(({ attempt }) => attempt)).toStrictEqual([
        { delivery: due, at: NOW, durationMs: TOOK_MS, status, excerpt: "words" }
      ])
      expect(settled.map((one) => one.verdict._tag)).toStrictEqual([verdict])
    })
  )

  it.effect("names the program that sends it, and the type of its body", () =>
    Effect.gen(function* () {
      const { posted } = yield* attempted(delivery(url, newSecret()), { status: 200 })
      expect(posted[0]?.headers).toMatchObject({ "content-type": "application/json", "user-agent": "payment-gateway-webhooks/1" })
    })
  )

  it.effect("is in the log where it failed, without the endpoint's own words, and is not where the event was taken", () =>
    Effect.gen(function* () {
      const due = delivery(url, newSecret())
      const line = "a webhook delivery attempt failed"
      expect((yield* attempted(due, { status: 204 })).logged).toStrictEqual([])
      const refused = yield* attempted(due, { status: 500, excerpt: "a secret of theirs" })
      expect(refused.logged).toStrictEqual([[line, { ...namesOf(due), status: 500 }]])
      const unreached = yield* attempted(due, { status: null, excerpt: "told", problem: "ECONNREFUSED" })
      expect(unreached.logged).toStrictEqual([[line, { ...namesOf(due), note: "ECONNREFUSED" }]])
    })
  )

  it.effect("has a span that says of which delivery it is and how it ended, in the trace in which the event was made", () =>
    Effect.gen(function* () {
      const reference = newReference()
      const due = delivery(url, newSecret(), { reference, traceparent })
      const { span } = yield* attempted(due, { status: 200 })
      expect(Object.fromEntries(span?.attributes ?? [])).toStrictEqual({ ...namesOf(due), reference, verdict: "Delivered" })
      expect(span?.parent).toMatchObject({ value: { _tag: "ExternalSpan", traceId: "1".repeat(32), spanId: "2".repeat(16) } })
      const of = yield* attempted(delivery(url, newSecret(), { reference: null, traceparent: null }), { status: 200 })
      expect([Option.isSome(of.span?.parent ?? Option.none()), of.span?.attributes.has("reference")]).toStrictEqual([
        false,
        false
      ])
    })
  )
})
