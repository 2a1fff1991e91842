import { Effect, Layer, Tracer } from "effect"
import { expect, it } from "vitest"
import { edge, port } from "../support/EdgeServer.ts"
import { send, signed } from "../support/RawHttp.ts"

it("gives each request one root span, named after its route's template", async () => {
  const spans: Array<Tracer.Span> = []
  const tracer = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      spans.push(span)
      return span
    }
  })
  const reference = "00000000000000000000000001"
  const story = Effect.gen(function* () {
    const taken = yield* Effect.provide(port, yield* Layer.build(edge().layer))
    const target = `/v1/payouts/${reference}`
    const traced = ["traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"] as const
    yield* Effect.promise(() => send(taken, { method: "GET", target, headers: [...signed("GET", target), traced] }))
    yield* Effect.promise(() => send(taken, { method: "GET", target: "/v2", headers: [["Host", "api.example:8443"]] }))
  })
  await Effect.runPromise(Effect.scoped(story).pipe(Effect.provideService(Tracer.Tracer, tracer)))
  const servers = spans.filter(({ kind }) => kind === "server")
  expect(servers.map(({ name, parent, traceId }) => [name, parent._tag, traceId === "0af7651916cd43dd8448eb211c80319c"])).toEqual(
    [
      ["GET /v1/payouts/{reference}", "None", false],
      ["GET", "None", false]
    ]
  )
  // The caller's trace is a link.
  expect(servers[0]?.links.map(({ span }) => [span.traceId, span.spanId])).toEqual([
    ["0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"]
  ])
  const [found, unknown] = servers.map(({ attributes }) => Object.fromEntries(attributes))
  expect(found).toMatchObject({
    "http.request.method": "GET",
    "http.route": "/v1/payouts/{reference}",
    "http.response.status_code": 200,
    "url.scheme": "http",
    "url.path": `/v1/payouts/${reference}`,
    "server.address": "api.gateway.example",
    "server.port": 80
  })
  expect(unknown).toMatchObject({
    "http.response.status_code": 404,
    "gateway.error_code": "not_found",
    "server.address": "api.example",
    "server.port": 8443
  })
  for (const absent of ["http.route", "error.type"]) expect(unknown).not.toHaveProperty([absent])
  expect(JSON.stringify(spans.map(({ attributes, name }) => [name, [...attributes]]))).not.toMatch(/ak_|v1=|[0-9a-f]{64}/)
})
