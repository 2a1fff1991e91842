import { createServer } from "node:http"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { Telemetry } from "../../src/observability/Telemetry.ts"

/** An OTLP/HTTP collector that keeps the bytes. */
const collector = Effect.acquireRelease(
  Effect.promise(async () => {
    const exports: Array<{ readonly path: string; readonly type: string; readonly bytes: Buffer }> = []
    const server = createServer(async (request, response) => {
      const chunks: Array<Buffer> = []
      for await (const chunk of request) chunks.push(Buffer.from(chunk))
      exports.push({ path: request.url ?? "", type: request.headers["content-type"] ?? "", bytes: Buffer.concat(chunks) })
      response.writeHead(200, { "content-type": "application/x-protobuf" }).end()
    })
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
    const address = server.address()
    return { endpoint: `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`, exports, server }
  }),
  ({ server }) =>
    Effect.promise(
      () =>
        new Promise<void>((closed) => {
          server.close(() => closed())
          server.closeAllConnections()
        })
    )
)

const options = { endpoint: undefined, tracesEndpoint: undefined, serviceName: "gateway-under-test", serviceVersion: "1.0.0" }

const program = Effect.fail(new Error("POST /webhooks/eversend/hidden-route broke")).pipe(
  Effect.withSpan("inner.step", { attributes: { "gateway.reference": "REFERENCE-1", msisdn: "256700000001" } }),
  Effect.withSpan("POST", {
    kind: "server",
    attributes: {
      "http.route": "/webhooks/:provider/:route_key",
      "url.path": "/webhooks/eversend/hidden-route",
      "url.full": "http://host/webhooks/eversend/hidden-route?token=hidden-token",
      "http.request.header.x-api-key": "hidden-key"
    }
  }),
  Effect.exit
)

describe("Telemetry", () => {
  it.live("sends spans to an OTLP collector, flushed when the process stops", () =>
    Effect.gen(function* () {
      const { endpoint, exports } = yield* collector
      yield* program.pipe(Effect.provide(Telemetry.layer({ ...options, endpoint })))
      const sent = exports.filter(({ path }) => path === "/v1/traces")
      expect(sent.map(({ type }) => type)).toEqual(["application/x-protobuf"])
      const text = sent[0]?.bytes.toString("latin1")
      for (const expected of [
        "inner.step",
        "POST",
        "gateway-under-test",
        "REFERENCE-1",
        "/webhooks/:provider/:route_key broke"
      ]) {
        expect(text).toContain(expected)
      }
    })
  )

  it.live("sends counters, too", () =>
    Effect.gen(function* () {
      const { endpoint, exports } = yield* collector
      const counter = Metric.counter("gateway_counted_total", { description: "Counted here.", incremental: true })
      const counting = Metric.update(Metric.withAttributes(counter, { code: "some_code" }), 3)
      yield* counting.pipe(Effect.provide(Telemetry.layer({ ...options, endpoint })))
      const sent = exports.filter(({ path }) => path === "/v1/metrics")
      expect(sent.map(({ type }) => type)).toEqual(["application/x-protobuf"])
      const text = sent[0]?.bytes.toString("latin1")
      for (const expected of ["gateway-under-test", "gateway_counted_total", "some_code"]) expect(text).toContain(expected)
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.live("sends no attribute that is not listed, and no secret of a path", () =>
    Effect.gen(function* () {
      const { endpoint, exports } = yield* collector
      yield* program.pipe(Effect.provide(Telemetry.layer({ ...options, tracesEndpoint: `${endpoint}/custom` })))
      expect(exports.map(({ path }) => path)).toEqual(["/custom"])
      const text = exports[0]?.bytes.toString("latin1")
      expect(text).toContain("REFERENCE-1")
      expect(text).toContain("http.route")
      for (const secret of ["hidden-key", "hidden-token", "256700000001", "url.full"]) expect(text).not.toContain(secret)
    })
  )

  it.live("is off without an endpoint", () =>
    Effect.gen(function* () {
      yield* program.pipe(Effect.provide(Telemetry.layer(options)))
    })
  )

  it.live("does not delay the end of the process when the collector is gone", () =>
    Effect.gen(function* () {
      const { endpoint } = yield* Effect.scoped(collector)
      yield* program.pipe(Effect.provide(Telemetry.layer({ ...options, endpoint })))
    }).pipe(Effect.timeout("10 seconds"))
  )
})
