import { createServer, type Server, type Socket } from "node:net"
import { expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber, Redacted } from "effect"
import { TestClock } from "effect/testing"
import { describe } from "vitest"
import { bearerClient, deadlineAfter } from "../../src/providers/Client.ts"
import { openTransport, type ProviderCall } from "../../src/providers/Transport.ts"
import { answer, reset, silence, stub } from "./ProviderStub.ts"

const call = (url: string, change: Partial<ProviderCall> = {}): ProviderCall => ({
  operation: "payout",
  method: "POST",
  url,
  headers: { "content-type": "application/json" },
  body: "{}",
  timeoutMs: 10_000,
  ...change
})

const transport = openTransport("eversend")

/** A port that answers nobody: what it does with a connection is given. */
const listening = (connected: (socket: Socket) => void) =>
  Effect.acquireRelease(
    Effect.promise(async () => {
      const sockets = new Set<Socket>()
      const server: Server = createServer((socket) => {
        sockets.add(socket.on("error", () => undefined))
        connected(socket)
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      const address = server.address()
      return { server, sockets, port: typeof address === "object" && address !== null ? address.port : 0 }
    }),
    ({ server, sockets }) =>
      Effect.promise(() => {
        for (const socket of sockets) socket.destroy()
        return new Promise<void>((resolve) => server.close(() => resolve()))
      })
  )

it.effect("a call asks for an answer that nobody packed", () =>
  Effect.gen(function* () {
    const server = yield* stub({ "GET /balance": [answer(200, {})] })
    const client = bearerClient(server.baseUrl, Redacted.make("secret"), yield* transport)
    yield* client({ operation: "balance", method: "GET", path: "/balance" }, yield* deadlineAfter(10_000))
    expect(server.seen.map(({ headers }) => headers["accept-encoding"])).toStrictEqual(["identity"])
  })
)

describe("a call that provably never left", () => {
  const cases: ReadonlyArray<readonly [string, string, string]> = [
    ["a host that does not exist", "http://no-such-host.invalid/", "ENOTFOUND"],
    ["a port that refuses", "http://127.0.0.1:1/", "ECONNREFUSED"],
    ["an address that is none", "nonsense", "Error"]
  ]
  for (const [name, url, note] of cases) {
    it.effect(name, () =>
      Effect.gen(function* () {
        expect(yield* (yield* transport).call(call(url))).toEqual({ _tag: "NotSent", note })
      })
    )
  }

  it.effect("is one to a server that cannot speak TLS", () =>
    Effect.gen(function* () {
      const { port } = yield* listening((socket) => void socket.end("HTTP/1.1 400 Bad Request\r\n\r\n"))
      expect(yield* (yield* transport).call(call(`https://127.0.0.1:${port}/`))).toMatchObject({ _tag: "NotSent" })
    })
  )

  it.effect("is one that times out before TLS is established", () =>
    Effect.gen(function* () {
      const connected = yield* Deferred.make<void>()
      const { port } = yield* listening(() => Deferred.doneUnsafe(connected, Effect.void))
      const fiber = yield* Effect.forkChild((yield* transport).call(call(`https://127.0.0.1:${port}/`)))
      yield* Deferred.await(connected)
      yield* TestClock.adjust(10_000)
      expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "NotSent" })
    })
  )

  it.effect("is one without any time left", () =>
    Effect.gen(function* () {
      const server = yield* stub({ "POST /": [answer(200, {})] })
      expect(yield* (yield* transport).call(call(server.baseUrl, { timeoutMs: 0 }))).toMatchObject({ _tag: "NotSent" })
      expect(server.seen).toEqual([])
    })
  )
})

describe("a call that may have arrived is lost", () => {
  it.effect("when it uses an earlier connection that is reset now", () =>
    Effect.gen(function* () {
      const ports = new Set<number | undefined>()
      const server = yield* stub({
        "POST /": [
          (response, seen) => {
            const wasUsed = ports.has(seen.port)
            ports.add(seen.port)
            return (wasUsed ? reset : answer(200, {}))(response, seen)
          }
        ]
      })
      const opened = yield* transport
      const CALLS = 10
      const responses = []
      for (let made = 0; made < CALLS; made++) responses.push(yield* opened.call(call(server.baseUrl)))
      const answered = responses.filter(({ _tag }) => _tag === "Answered")
      expect(server.seen).toHaveLength(CALLS)
      expect(answered).toHaveLength(ports.size)
      expect(ports.size).toBeLessThan(CALLS)
      expect(responses.filter(({ _tag }) => _tag === "Lost")).toHaveLength(CALLS - ports.size)
    })
  )

  it.effect("and not repeated, whether the method is safe to repeat or not", () =>
    Effect.gen(function* () {
      const server = yield* stub({ "GET /": [reset] })
      expect(yield* (yield* transport).call(call(server.baseUrl, { method: "GET", body: null }))).toMatchObject({
        _tag: "Lost"
      })
      expect(server.seen).toHaveLength(1)
    })
  )

  it.effect("when it times out after it was written", () =>
    Effect.gen(function* () {
      const server = yield* stub({ "POST /": [silence] })
      const fiber = yield* Effect.forkChild((yield* transport).call(call(server.baseUrl)))
      yield* server.arrived("POST /")
      yield* TestClock.adjust(10_000)
      expect(yield* Fiber.join(fiber)).toEqual({ _tag: "Lost", reason: "timeout", note: "no answer in time" })
    })
  )

  it.effect("when the answer never ends", () =>
    Effect.gen(function* () {
      const server = yield* stub({ "POST /": [(response) => void response.writeHead(200).write("{")] })
      const fiber = yield* Effect.forkChild((yield* transport).call(call(server.baseUrl)))
      yield* server.arrived("POST /")
      yield* TestClock.adjust(10_000)
      expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "Lost", reason: "timeout" })
    })
  )
})

it.effect("except for a redirect, which is an answer and is not followed", () =>
  Effect.gen(function* () {
    const server = yield* stub({ "POST /": [(response) => response.writeHead(308, { location: "/other" }).end()] })
    expect(yield* (yield* transport).call(call(server.baseUrl))).toMatchObject({ _tag: "Answered", status: 308 })
    expect(server.seen).toHaveLength(1)
  })
)
