import { Effect, Layer, Metric, Tracer } from "effect"
import { describe, expect, it } from "vitest"
import { ProviderError } from "../../../src/domain/errors/Retriable.ts"
import { beginCandidates, noteNotSent, noteUsed, passOver } from "../../../src/runtime/RouteTrail.ts"
import { edge, port } from "../../support/EdgeServer.ts"
import { send, signed } from "../../support/RawHttp.ts"
import { payout } from "../../support/SampleTransactions.ts"

const { reference } = payout()
const body = JSON.stringify({
  amount_minor: 1000,
  currency: "UGX",
  country: "UG",
  method: "momo",
  destination: { type: "momo", msisdn: "256772123456", network: "MTN", country: "UG" }
})

const counted = Effect.map(Metric.snapshot, (metrics) =>
  metrics
    .filter(({ id }) => id === "gateway_route_candidates_total")
    .map(({ attributes, state }) => [attributes?.["provider"], attributes?.["verdict"], "count" in state ? state.count : null])
)

describe("a request that moves money", () => {
  it("says in its log line and in its span which providers its payment could go to, also where none took it; a read says nothing", async () => {
    const spans: Array<Tracer.NativeSpan> = []
    const tracer = Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        spans.push(span)
        return span
      }
    })
    let isFirst = true
    const { behind, layer } = edge({
      prints: true,
      createPayout: Effect.fnUntraced(function* () {
        yield* beginCandidates(["trail-a", "trail-b", "trail-c", "trail-d"])
        yield* passOver("trail-b", "circuit_open")
        if (!isFirst) return yield* new ProviderError({})
        isFirst = false
        yield* noteNotSent("trail-a", 1, "ECONNREFUSED")
        yield* noteUsed("trail-c", 2)
        return payout()
      })
    })
    const story = Effect.gen(function* () {
      const taken = yield* Effect.provide(port, yield* Layer.build(layer))
      const pay = (key: string) =>
        send(taken, {
          method: "POST",
          target: "/v1/payouts",
          headers: [...signed("POST", "/v1/payouts", body), ["Idempotency-Key", key]],
          body
        })
      const target = `/v1/payouts/${reference}`
      yield* Effect.promise(async () => {
        await pay("one")
        await pay("two")
        await send(taken, { method: "GET", target, headers: signed("GET", target) })
      })
      return yield* counted
    })
    const counts = await Effect.runPromise(
      Effect.scoped(story).pipe(
        Effect.provideService(Tracer.Tracer, tracer),
        Effect.provideService(Metric.MetricRegistry, new Map())
      )
    )

    const said = [
      "trail-a not_sent #1 (ECONNREFUSED); trail-b circuit_open; trail-c used #2; trail-d not_asked",
      "trail-a not_asked; trail-b circuit_open; trail-c not_asked; trail-d not_asked",
      undefined
    ]
    const lines = behind.logs.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line))
    expect(lines.filter(({ message }) => message === "request").map(({ annotations }) => annotations.candidates)).toEqual(said)
    const servers = spans.filter(({ kind }) => kind === "server")
    expect(servers.map(({ attributes }) => attributes.get("gateway.candidates"))).toEqual(said)
    expect(counts).toEqual([
      ["trail-a", "not_sent", 1],
      ["trail-b", "circuit_open", 2],
      ["trail-c", "used", 1]
    ])
  })
})
