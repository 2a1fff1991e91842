import { createServer } from "node:net"
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { NOT_REACHED } from "../../../src/domain/Delivery.ts"
import { WebhookSender } from "../../../src/services/ports/WebhookSender.ts"
import { endpointConnection } from "../../../src/services/webhooks/EndpointConnection.ts"
import { fakePolicy } from "../../fakes/FakePolicy.ts"
import { nameServer } from "../../support/NameServer.ts"
import { patiently } from "../../support/PatientClock.ts"
import { eventually } from "../../support/SignedClient.ts"
import { receiver } from "../../support/WebhookReceiver.ts"

const LONG_MS = 20_000
const SHORT_MS = 300

const senderOn = (nameServers: ReadonlyArray<string>, nameMs: number, webhookAllowLoopback = true) =>
  Effect.map(
    patiently(
      Layer.build(
        Layer.fresh(endpointConnection({ nameMs, connectMs: LONG_MS, wholeMs: LONG_MS }, nameServers)).pipe(
          Layer.provide(fakePolicy({ webhookAllowLoopback }))
        )
      )
    ),
    (context) => {
      const sender = Context.get(context, WebhookSender)
      return (url: string) => sender.post({ url, headers: {}, body: "{}" })
    }
  )

const silent = () => null

describe("the host names of tenants' endpoints", () => {
  it.live("time out with a message when no name server answers", () =>
    Effect.gen(function* () {
      const { address, asked } = yield* nameServer(silent)
      const post = yield* senderOn([address], SHORT_MS)
      expect(yield* post("https://dead.example/")).toEqual({
        status: null,
        excerpt: NOT_REACHED,
        retryAfter: null,
        problem: `dead.example was not resolved within ${SHORT_MS} ms`
      })
      expect(new Set(asked)).toEqual(new Set(["A dead.example", "AAAA dead.example"]))
    })
  )

  it.live("are resolved once, however many deliveries wait for one", () =>
    Effect.gen(function* () {
      const { address, asked } = yield* nameServer(silent)
      const post = yield* senderOn([address], SHORT_MS)
      const urls = ["https://one.example/", "https://two.example:8443/x"].flatMap((url) => Array<string>(20).fill(url))
      const answers = yield* Effect.forEach(urls, post, { concurrency: "unbounded" })
      expect(new Set(answers.map(({ problem }) => problem?.split(" ", 1)[0]))).toEqual(new Set(["one.example", "two.example"]))
      expect(asked.length).toBeLessThan(20)
    })
  )

  it.live("do not wait for one another", () =>
    Effect.gen(function* () {
      const { address, asked } = yield* nameServer((name) => (name.startsWith("dead") ? null : []))
      const post = yield* senderOn([address], LONG_MS)
      const dead = Array.from({ length: 100 }, (_, at) => `https://dead${at}.example/`)
      const waiting = yield* Effect.forkChild(Effect.forEach(dead, post, { concurrency: "unbounded" }))
      yield* eventually(
        Effect.sync(() => asked.length),
        (count) => count >= 2 * dead.length
      )
      expect((yield* post("https://living.example/")).problem).toBe("living.example has no address")
      expect(waiting.pollUnsafe()).toBeUndefined()
      yield* Fiber.interrupt(waiting)
    })
  )

  it.live("do not delay the end of the process", () =>
    Effect.gen(function* () {
      const { address, asked } = yield* nameServer(silent)
      const answer = yield* Effect.scoped(
        Effect.gen(function* () {
          const post = yield* senderOn([address], LONG_MS)
          const waiting = yield* Effect.forkDetach(post("https://dead.example/"))
          yield* eventually(
            Effect.sync(() => asked.length),
            (count) => count > 0
          )
          return waiting
        })
      ).pipe(Effect.flatMap(Fiber.join))
      expect(answer.status).toBeNull()
    })
  )

  it.live("are dialled at their addresses, each of which is checked", () =>
    Effect.gen(function* () {
      const dialled = yield* dials
      const { address } = yield* nameServer((name) => (name === "both.example" ? ["93.184.215.14", "10.0.0.1"] : ["127.0.0.1"]))
      const allowed = yield* senderOn([address], LONG_MS)
      expect((yield* allowed(`https://shop.example:${dialled.port}/`)).status).toBeNull()
      expect(dialled.count()).toBe(1)
      const guarded = yield* senderOn([address], LONG_MS, false)
      expect((yield* guarded(`https://shop.example:${dialled.port}/`)).problem).toBe("127.0.0.1 is not a public address")
      expect((yield* guarded(`https://both.example:${dialled.port}/`)).problem).toBe("10.0.0.1 is not a public address")
      expect(dialled.count()).toBe(1)
    })
  )

  it.live("can be this machine's own in development, without a name server", () =>
    Effect.gen(function* () {
      const { address, asked } = yield* nameServer(silent)
      const { received, url } = yield* receiver((response) => response.writeHead(204).end())
      const post = yield* senderOn([address], LONG_MS)
      const { port } = new URL(url)
      for (const host of ["localhost", "LOCALHOST", "a.localhost"]) {
        expect([host, (yield* post(`http://${host}:${port}/hook`)).status]).toEqual([host, 204])
      }
      expect(received).toHaveLength(3)
      expect(asked).toEqual([])
    })
  )
})

/** Ends every connection at once. */
const dials = Effect.acquireRelease(
  Effect.promise(async () => {
    let count = 0
    const server = createServer((socket) => {
      count++
      socket.destroy()
    })
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
    const address = server.address()
    return { server, port: typeof address === "object" ? address?.port : 0, count: () => count }
  }),
  ({ server }) => Effect.sync(() => server.close())
)
