import { createServer, type Socket } from "node:net"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import type * as Undici from "@effect/platform-node/Undici"
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer } from "effect"
import { vi } from "vitest"
import { NOT_REACHED } from "../../../src/domain/Delivery.ts"
import { WebhookSender } from "../../../src/services/ports/WebhookSender.ts"
import {
  CONNECTIONS_PER_ENDPOINT,
  EndpointConnection,
  endpointConnection
} from "../../../src/services/webhooks/EndpointConnection.ts"
import { fakePolicy } from "../../fakes/FakePolicy.ts"
import { patiently } from "../../support/PatientClock.ts"
import { eventually } from "../../support/SignedClient.ts"
import { receiver } from "../../support/WebhookReceiver.ts"

const WHOLE_MS = 1_500

/** How long connecting may take, of each connector that was made. */
const connecting = vi.hoisted(() => new Array<unknown>())

vi.mock("@effect/platform-node/Undici", async (original) => {
  const undici = await original<typeof Undici>()
  const buildConnector = (options: Undici.buildConnector.BuildOptions) => {
    connecting.push(options.timeout)
    return undici.buildConnector(options)
  }
  return { ...undici, buildConnector }
})

const posted = (url: string, connectMs = WHOLE_MS, wholeMs = WHOLE_MS) =>
  Effect.flatMap(WebhookSender, ({ post }) => post({ url, headers: {}, body: "{}" })).pipe(
    Effect.provide(Layer.provide(endpointConnection({ nameMs: connectMs, connectMs, wholeMs }), fakePolicy({}))),
    patiently
  )

const PIECES = 400
setFlagsFromString("--expose-gc")
const collectGarbage = runInNewContext("gc")
/** The bytes of all buffers that are still in use. */
const kept = (): number => {
  collectGarbage()
  return process.memoryUsage().arrayBuffers
}

/** Takes connections and says nothing. */
const mute = Effect.acquireRelease(
  Effect.promise(async () => {
    const sockets = new Array<Socket>()
    const server = createServer((socket) => void sockets.push(socket))
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
    const address = server.address()
    return { server, sockets, url: `https://127.0.0.1:${typeof address === "object" ? address?.port : ""}/` }
  }),
  ({ server, sockets }) =>
    Effect.sync(() => {
      for (const socket of sockets) socket.destroy()
      server.close()
    })
)

describe("TenantConnection", () => {
  it.live("accepts a status that came in time, whatever becomes of the rest of the answer", () =>
    Effect.gen(function* () {
      const { received, url } = yield* receiver(
        (response) => void response.writeHead(202, { "retry-after": "7" }).write("so far")
      )
      expect(yield* posted(url)).toEqual({ status: 202, excerpt: "so far", retryAfter: "7", problem: null })
      const { url: other } = yield* receiver((response) => response.writeHead(204, { "content-length": "5" }).flushHeaders())
      expect(yield* posted(other)).toEqual({ status: 204, excerpt: "", retryAfter: null, problem: null })
      expect(received).toHaveLength(1)
    })
  )

  it.live("keeps the bytes of an answer alone, and nothing that arrived between them", () =>
    Effect.gen(function* () {
      const { sockets, url } = yield* mute
      const before = kept()
      const post = yield* Effect.forkChild(posted(url.replace("https:", "http:"), WHOLE_MS, 30_000))
      yield* eventually(
        Effect.sync(() => sockets.length),
        (count) => count === 1
      )
      const [socket] = sockets
      if (socket === undefined) throw new Error("nobody connected")
      socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      const piece = `1;between=${"x".repeat(60_000)}\r\ny\r\n`
      for (let sent = 0; sent < PIECES; sent++)
        yield* Effect.promise(() => new Promise<void>((resolve) => socket.write(piece, () => setImmediate(resolve))))
      // The last pieces may still be on their way.
      yield* eventually(
        Effect.sync(() => kept() - before),
        (bytes) => bytes < (PIECES * piece.length) / 4
      )
      socket.end("0\r\n\r\n")
      expect(yield* Fiber.join(post)).toMatchObject({ status: 200, excerpt: "y".repeat(PIECES) })
    }).pipe(Effect.scoped)
  )

  it.live("ignores interim responses before the final one", () =>
    Effect.gen(function* () {
      const { url } = yield* receiver((response) => {
        response.writeProcessing()
        response.writeEarlyHints({ link: "</style.css>; rel=preload", "retry-after": "7" })
        response.writeHead(503).end("busy")
      })
      expect(yield* posted(url)).toEqual({ status: 503, excerpt: "busy", retryAfter: null, problem: null })
    })
  )

  it.live("lets no endpoint wait for slow ones on the same host", () =>
    Effect.gen(function* () {
      const SLOW = 4 * CONNECTIONS_PER_ENDPOINT
      const waiting: Array<() => void> = []
      const { url } = yield* receiver((response, { path }) => {
        if (path === "/hook") return void waiting.push(() => response.end("late"))
        response.end("at once")
        for (const answer of waiting) answer()
      })
      const bounds = { nameMs: 5_000, connectMs: 5_000, wholeMs: 10_000 }
      const connection = Layer.provide(endpointConnection(bounds), fakePolicy({}))
      const sender = Context.get(yield* patiently(Layer.build(connection)), WebhookSender)
      const send = (to: string) => Effect.map(sender.post({ url: to, headers: {}, body: "{}" }), ({ excerpt }) => excerpt)
      const slow = Effect.forEach(Array(SLOW).fill(url), send, { concurrency: "unbounded" })
      const ending = yield* Effect.forkChild(slow)
      const arrived = Effect.sync(() => waiting.length)
      yield* eventually(arrived, (count) => count === SLOW)
      expect(yield* send(new URL("/other", url).href)).toBe("at once")
      expect(yield* Fiber.join(ending)).toEqual(Array(SLOW).fill("late"))
    })
  )

  it.live("reports that an endpoint was too slow when it sent no status", () =>
    Effect.gen(function* () {
      const { url } = yield* receiver(() => {})
      expect(yield* posted(url)).toMatchObject({ status: null, excerpt: `no answer within ${WHOLE_MS} ms` })
    })
  )

  it.live("gives up an endpoint that does not finish connecting, long before the end of the attempt", () =>
    Effect.gen(function* () {
      const { url } = yield* mute
      expect(yield* posted(url, 100, 20_000)).toMatchObject({
        status: null,
        excerpt: NOT_REACHED,
        problem: expect.stringMatching(/^Connect Timeout/)
      })
    })
  )

  it.effect("allows 5 s for connecting, by http and by https", () =>
    Effect.gen(function* () {
      connecting.length = 0
      yield* Layer.build(Layer.provide(EndpointConnection, fakePolicy({})))
      expect(connecting).toEqual([5_000, 5_000])
    })
  )
})
