import { connect } from "node:net"
import { Deferred, Effect, Fiber, Layer, Tracer } from "effect"
import { describe, expect, it } from "vitest"
import { type EdgeClient, onEdge } from "../../support/EdgeClient.ts"
import { edge, port } from "../../support/EdgeServer.ts"
import { send, signed } from "../../support/RawHttp.ts"
import { payout as given } from "../../support/SampleTransactions.ts"

const parsed = (answer: { text: string }) => JSON.parse(answer.text)
const body = {
  amount_minor: 1000,
  currency: "UGX",
  country: "UG",
  method: "momo",
  destination: { type: "momo", msisdn: "256772123456", network: "MTN", country: "UG" }
}
const pay = ({ signed }: EdgeClient, key = "k", changes: object = {}) =>
  signed("POST", "/v1/payouts", [["Idempotency-Key", key]], JSON.stringify({ ...body, ...changes }))

describe("a request that moves money", () => {
  const slow = () => {
    const gate = Deferred.makeUnsafe<void>()
    const ended: Array<string> = []
    const started = Deferred.makeUnsafe<void>()
    const createPayout = () =>
      Deferred.succeed(started, undefined).pipe(
        Effect.andThen(Deferred.await(gate)),
        Effect.tap(() => Effect.sync(() => ended.push("done"))),
        Effect.onInterrupt(() => Effect.sync(() => ended.push("interrupted"))),
        Effect.as(given())
      )
    return { gate, ended, started, createPayout }
  }

  const written = (headers: ReadonlyArray<readonly [string, string]>, text: string) =>
    `POST /v1/payouts HTTP/1.1\r\n${[...headers, ["Content-Length", String(text.length)]].map((header) => header.join(": ")).join("\r\n")}\r\n\r\n${text}`

  it("continues when its client disconnects, and when the server stops", async () => {
    const { createPayout, ended, gate, started } = slow()
    const { layer } = edge({ createPayout })
    const text = JSON.stringify(body)
    const story = Effect.gen(function* () {
      const server = yield* Effect.forkChild(
        Effect.scoped(
          Effect.gen(function* () {
            const taken = yield* Effect.provide(port, yield* Layer.build(layer))
            const socket = connect(taken, "127.0.0.1")
            socket.on("error", () => {})
            socket.write(written([...signed("POST", "/v1/payouts", text), ["Idempotency-Key", "k"]], text))
            yield* Deferred.await(started)
            socket.destroy()
            return yield* Effect.never
          })
        )
      )
      yield* Deferred.await(started)
      const stopping = yield* Effect.forkChild(Fiber.interrupt(server))
      yield* Effect.yieldNow
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(stopping)
    })
    await Effect.runPromise(story)
    expect(ended).toEqual(["done"])
  })

  it("still ends with its own answer after its client disconnected or the server began to stop", async () => {
    const { createPayout, gate, started } = slow()
    const { layer } = edge({ createPayout })
    const text = JSON.stringify(body)
    const spans: Array<Tracer.Span> = []
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
    const story = Effect.gen(function* () {
      const taken = yield* Effect.provide(port, yield* Layer.build(layer))
      const gone = Deferred.makeUnsafe<void>()
      const socket = connect(taken, "127.0.0.1")
      socket.on("close", () => Effect.runSync(Deferred.succeed(gone, undefined)))
      socket.write(written([...signed("POST", "/v1/payouts", text), ["Idempotency-Key", "k"]], text))
      yield* Deferred.await(started)
      socket.destroy()
      yield* Deferred.await(gone)
      // The server has heard of it once it answers somebody who came later.
      yield* Effect.promise(() => send(taken, { method: "GET", target: "/health", headers: [["Host", "a"]] }))
      yield* Deferred.succeed(gate, undefined)
    })
    await Effect.runPromise(Effect.scoped(story).pipe(Effect.provideService(Tracer.Tracer, tracer)))
    const payouts = spans.filter(({ name }) => name === "POST /v1/payouts")
    expect(payouts.map(({ attributes }) => attributes.get("http.response.status_code"))).toEqual([201])
  })

  it("is answered before its lease ends, and continues", async () => {
    const { createPayout, ended, gate } = slow()
    await onEdge(
      async (client) => {
        const answer = await pay(client)
        expect([answer.status, parsed(answer).error.code, parsed(answer).error.ambiguous]).toEqual([500, "internal_error", true])
        expect(ended).toEqual([])
        Effect.runSync(Deferred.succeed(gate, undefined))
      },
      { createPayout, leaseMs: 5_050 }
    )()
    expect(ended).toEqual(["done"])
  })

  it("that is under way is answered while the server stops", async () => {
    const { createPayout, gate, started } = slow()
    const { layer } = edge({ createPayout })
    const text = JSON.stringify(body)
    const story = Effect.gen(function* () {
      const answered = Deferred.makeUnsafe<number>()
      const server = yield* Effect.forkChild(
        Effect.scoped(
          Effect.gen(function* () {
            const taken = yield* Effect.provide(port, yield* Layer.build(layer))
            const ask = {
              method: "POST",
              target: "/v1/payouts",
              headers: [...signed("POST", "/v1/payouts", text), ["Idempotency-Key", "k"] as const],
              body: text
            }
            send(taken, ask).then(({ status }) => Effect.runSync(Deferred.succeed(answered, status)))
            return yield* Effect.never
          })
        )
      )
      yield* Deferred.await(started)
      const stopping = yield* Effect.forkChild(Fiber.interrupt(server))
      yield* Effect.yieldNow
      yield* Deferred.succeed(gate, undefined)
      expect(yield* Deferred.await(answered)).toBe(201)
      yield* Fiber.join(stopping)
    })
    await Effect.runPromise(story)
  })
})
