import { describe, expect, it } from "@effect/vitest"
import { Clock, Deferred, Effect, Fiber, Layer } from "effect"
import { TestClock } from "effect/testing"
import { Webhook } from "standardwebhooks"
import { CUT_OFF, NOT_LISTENING, NOT_REACHED } from "../../../src/domain/Delivery.ts"
import { WebhookOutbox } from "../../../src/services/ports/WebhookOutbox.ts"
import { EndpointConnection } from "../../../src/services/webhooks/EndpointConnection.ts"
import { WebhookDispatcher } from "../../../src/services/webhooks/WebhookDispatcher.ts"
import { fakePolicy } from "../../fakes/FakePolicy.ts"
import { nameServer } from "../../support/NameServer.ts"
import { delivery, dispatched, newSecret, type Received, receiver } from "../../support/WebhookReceiver.ts"

const verified = (secret: string, { body, headers }: Received) =>
  new Webhook(secret).verify(body, {
    "webhook-id": String(headers["webhook-id"]),
    "webhook-timestamp": String(headers["webhook-timestamp"]),
    "webhook-signature": String(headers["webhook-signature"])
  })

describe("WebhookDispatcher", () => {
  it.live("delivers the stored bytes so that an independent implementation of Standard Webhooks verifies them", () =>
    Effect.gen(function* () {
      const { received, url } = yield* receiver((response) => response.writeHead(204).end())
      const secret = newSecret()
      const due = delivery(url, secret)
      const [settled] = yield* dispatched([due]).pipe(Effect.withSpan("a request of ours"))
      const [one] = received
      expect(one?.body).toBe(due.body)
      expect(one?.headers["webhook-id"]).toBe(due.eventId)
      expect(one?.headers["content-type"]).toBe("application/json")
      expect(() => one && verified(secret, one)).not.toThrow()
      expect(() => one && verified(newSecret(), one)).toThrow()
      expect(settled?.verdict).toEqual({ _tag: "Delivered" })
      expect(settled?.attempt.status).toBe(204)
    })
  )

  it.live("sends a tenant no trace headers", () =>
    Effect.gen(function* () {
      const { received, url } = yield* receiver((response) => response.end())
      yield* dispatched([delivery(url, newSecret())]).pipe(Effect.withSpan("a request of ours"))
      expect(Object.keys(received[0]?.headers ?? {}).sort()).toEqual(
        [
          "connection",
          "content-length",
          "content-type",
          "host",
          "user-agent",
          "webhook-id",
          "webhook-signature",
          "webhook-timestamp"
        ].sort()
      )
    })
  )

  it.live("signs with both secrets while one is rotated", () =>
    Effect.gen(function* () {
      const { received, url } = yield* receiver((response) => response.end())
      const [secret, previousSecret] = [newSecret(), newSecret()]
      yield* dispatched([delivery(url, secret, { previousSecret })])
      const [one] = received
      expect(String(one?.headers["webhook-signature"])).toMatch(/^v1,\S{44} v1,\S{44}$/)
      expect(() => one && verified(secret, one)).not.toThrow()
      expect(() => one && verified(previousSecret, one)).not.toThrow()
    })
  )

  it.effect("follows no redirect and tries again later", () =>
    Effect.gen(function* () {
      const { received, url } = yield* receiver((response) => response.writeHead(307, { location: "/elsewhere" }).end())
      const [settled] = yield* dispatched([delivery(url, newSecret())])
      expect(received.map(({ path }) => path)).toEqual(["/hook"])
      expect(settled?.attempt.status).toBe(307)
      expect(settled?.verdict._tag).toBe("Again")
    })
  )

  it.effect("treats every 2xx as delivered, and nothing else", () =>
    Effect.gen(function* () {
      const { url } = yield* receiver((response, { path }) => response.writeHead(Number(path.slice(1))).end())
      const statuses = [200, 201, 202, 206, 226, 299, 300, 304, 400, 404, 409, 425, 429, 500, 599]
      const settled = yield* dispatched(statuses.map((status) => delivery(new URL(`/${status}`, url).href, newSecret())))
      const verdicts = new Map(settled.map(({ attempt, verdict }) => [attempt.status, verdict._tag]))
      expect(verdicts).toEqual(new Map(statuses.map((status) => [status, status < 300 ? "Delivered" : "Again"])))
    })
  )

  it.effect("signs the time of the attempt, and spreads retries by a fifth of the delay", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(7_000_999)
      const { received, url } = yield* receiver((response) => response.writeHead(500).end())
      const settled = yield* dispatched(Array.from({ length: 20 }, () => delivery(url, newSecret())))
      expect(new Set(received.map(({ headers }) => headers["webhook-timestamp"]))).toEqual(new Set(["7000"]))
      const delays = settled.flatMap(({ verdict }) => (verdict._tag === "Again" ? [verdict.at - 7_000_999] : []))
      expect(delays).toHaveLength(20)
      expect(delays.every((delay) => delay >= 4_000 && delay <= 6_000)).toBe(true)
      expect(new Set(delays).size).toBeGreaterThan(10)
    })
  )

  it.effect("claims at most 8 deliveries at once for one endpoint, with a lease longer than an attempt", () =>
    Effect.gen(function* () {
      const wishes: Array<{ readonly perEndpoint: number; readonly leaseMs: number }> = []
      const outbox = Layer.succeed(WebhookOutbox, {
        claimDue: (_now, _limit, perEndpoint, leaseMs) =>
          Effect.sync(() => void wishes.push({ perEndpoint, leaseMs })).pipe(Effect.as([])),
        recordAttempt: () => Effect.void
      })
      const layer = Layer.provide(WebhookDispatcher.layer, [EndpointConnection, outbox]).pipe(Layer.provide(fakePolicy({})))
      yield* Effect.provide(
        Effect.flatMap(WebhookDispatcher, ({ round }) => round),
        layer
      )
      expect(wishes).toEqual([{ perEndpoint: 8, leaseMs: 60_000 }])
    })
  )

  it.effect("follows Retry-After up to twice the planned delay", () =>
    Effect.gen(function* () {
      const { url } = yield* receiver((response) => response.writeHead(503, { "retry-after": "86400" }).end("busy"))
      const now = yield* Clock.currentTimeMillis
      const [settled] = yield* dispatched([delivery(url, newSecret())])
      expect(settled?.verdict).toEqual({ _tag: "Again", at: now + 10_000 })
      expect(settled?.attempt.excerpt).toBe("busy")
    })
  )

  it.effect("parks a delivery that was refused until the end of the schedule", () =>
    Effect.gen(function* () {
      const { url } = yield* receiver((response) => response.writeHead(500).end())
      const [settled] = yield* dispatched([delivery(url, newSecret(), { attempts: 1 })])
      expect(settled?.verdict).toEqual({ _tag: "Parked" })
    })
  )

  it.effect("keeps the first 4 KiB of an answer, as text that a database can hold", () =>
    Effect.gen(function* () {
      const { url } = yield* receiver((response) => response.end(`\u0000${"x".repeat(1_000_000)}`))
      const [settled] = yield* dispatched([delivery(url, newSecret())])
      expect(settled?.attempt.excerpt).toBe(`\uFFFD${"x".repeat(4095)}`)
      expect(settled?.verdict).toEqual({ _tag: "Delivered" })
    })
  )

  it.effect("keeps of a number or an e-mail address in an answer its end alone", () =>
    Effect.gen(function* () {
      const page = "No customer +256 772 123456, ada@shop.example, in line 1207 at 2026-01-31T12:00:00Z"
      const { url } = yield* receiver((response) => response.writeHead(500).end(page))
      const [settled] = yield* dispatched([delivery(url, newSecret())])
      expect(settled?.attempt.excerpt).toBe("No customer ••••3456, ••••a, in line 1207 at 2026-01-31T12:00:00Z")
    })
  )

  it.effect("gives up an endpoint that does not answer within 15 s", () =>
    Effect.gen(function* () {
      const asked = yield* Deferred.make<void>()
      const { url } = yield* receiver(() => Effect.runSync(Deferred.succeed(asked, undefined)))
      const round = yield* Effect.forkChild(dispatched([delivery(url, newSecret())]))
      yield* Deferred.await(asked)
      yield* TestClock.adjust(15_000)
      const [settled] = yield* Fiber.join(round)
      expect(settled?.attempt).toMatchObject({ status: null, durationMs: 15_000, excerpt: "no answer within 15000 ms" })
    })
  )

  it.effect("says of a loopback address that no program listens there", () =>
    Effect.gen(function* () {
      const { url } = yield* Effect.scoped(receiver(() => {}))
      const refused = [url, url.replace("http:", "https:"), url.replace("127.0.0.1", "localhost")]
      const settled = yield* dispatched(refused.map((one) => delivery(one, newSecret())))
      expect(settled.map(({ attempt: { excerpt, status } }) => [status, excerpt])).toEqual(
        refused.map(() => [null, NOT_LISTENING])
      )
    })
  )

  it.effect("keeps one sentence for every endpoint that could not be reached, without its name, address or certificate", () =>
    Effect.gen(function* () {
      const plain = yield* receiver((response) => response.end())
      const names = yield* nameServer((name) =>
        name === "inside.example" ? ["10.1.2.3"] : name === "silent.example" ? null : []
      )
      const unreachable = [
        plain.url.replace("http:", "https:"),
        "https://inside.example/hook",
        "https://absent.example/hook",
        "https://10.1.2.3/hook",
        "http://shop.example/hook"
      ]
      const settled = yield* dispatched(
        unreachable.map((url) => delivery(url, newSecret())),
        {},
        [names.address]
      )
      expect(settled.map(({ attempt: { excerpt, status } }) => [status, excerpt])).toEqual(
        unreachable.map(() => [null, NOT_REACHED])
      )
    })
  )

  it.effect("keeps a sentence of its own for an endpoint that ended the connection once it had the request", () =>
    Effect.gen(function* () {
      const { received, url } = yield* receiver((response) => void response.destroy())
      const [settled] = yield* dispatched([delivery(url, newSecret())])
      expect(received).toHaveLength(1)
      expect(settled?.attempt).toMatchObject({ status: null, excerpt: CUT_OFF })
    })
  )

  it.effect("does not reach this machine where that is not allowed, however the address is written", () =>
    Effect.gen(function* () {
      const { received, url } = yield* receiver((response) => response.end())
      const { port } = new URL(url)
      const hosts = ["127.0.0.1", "0x7f000001", "2130706433", "127.1", "[::ffff:127.0.0.1]", "[::1]", "localhost", "0.0.0.0"]
      const settled = yield* dispatched(
        hosts.flatMap((host) => ["http", "https"].map((scheme) => delivery(`${scheme}://${host}:${port}/`, newSecret()))),
        { webhookAllowLoopback: false }
      )
      expect(settled.map(({ attempt }) => attempt.status)).toEqual(Array(hosts.length * 2).fill(null))
      expect(received).toEqual([])
    })
  )

  it.effect("refuses a name that resolves to a private address, also beside a public one", () =>
    Effect.gen(function* () {
      const names = yield* nameServer(() => ["93.184.215.14", "169.254.169.254"])
      const [settled] = yield* dispatched([delivery("https://tenant.example/hook", newSecret())], {}, [names.address])
      expect(settled?.attempt).toMatchObject({ status: null, excerpt: NOT_REACHED })
    })
  )
})
