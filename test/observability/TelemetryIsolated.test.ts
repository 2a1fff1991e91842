import { createServer, type IncomingHttpHeaders } from "node:http"
import { describe, expect, it, vi } from "@effect/vitest"
import { Effect, Layer, Logger, Metric, References } from "effect"
import { Environment, settings } from "../../src/App.ts"
import { Telemetry } from "../../src/observability/Telemetry.ts"
import { patiently } from "../support/PatientClock.ts"

/** An OTLP/HTTP collector that keeps the bytes. */
const collector = Effect.acquireRelease(
  Effect.promise(async () => {
    const exports: Array<{
      readonly path: string
      readonly type: string
      readonly headers: IncomingHttpHeaders
      readonly bytes: Buffer
    }> = []
    const server = createServer(async (request, response) => {
      const chunks: Array<Buffer> = []
      for await (const chunk of request) chunks.push(Buffer.from(chunk))
      exports.push({
        path: request.url ?? "",
        type: request.headers["content-type"] ?? "",
        headers: request.headers,
        bytes: Buffer.concat(chunks)
      })
      if (request.url?.startsWith("/refused") === true) return void response.writeHead(400).end()
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

/** As a gateway with these variables has it. */
const telemetry = (variables: Readonly<Record<string, string>>) =>
  Layer.unwrap(
    Effect.map(settings, ({ telemetry }) => Telemetry.layer({ ...telemetry, serviceVersion: "1.0.0" })).pipe(
      Effect.provideService(Environment, { OTEL_SERVICE_NAME: "gateway-under-test", ...variables })
    )
  )

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

const counted = Metric.update(Metric.counter("gateway_counted_total", { incremental: true }), 1)

describe("Telemetry", () => {
  it.live("sends spans to an OTLP collector, flushed when the process stops", () =>
    Effect.gen(function* () {
      const { endpoint, exports } = yield* collector
      yield* program.pipe(Effect.provide(telemetry({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint })))
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
      yield* counting.pipe(Effect.provide(telemetry({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint })))
      const sent = exports.filter(({ path }) => path === "/v1/metrics")
      expect(sent.map(({ type }) => type)).toEqual(["application/x-protobuf"])
      const text = sent[0]?.bytes.toString("latin1")
      for (const expected of ["gateway-under-test", "gateway_counted_total", "some_code"]) expect(text).toContain(expected)
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.live("sends no attribute that is not listed, and no secret of a path", () =>
    Effect.gen(function* () {
      const { endpoint, exports } = yield* collector
      yield* program.pipe(Effect.provide(telemetry({ OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${endpoint}/custom` })))
      expect(exports.map(({ path }) => path)).toEqual(["/custom"])
      const text = exports[0]?.bytes.toString("latin1")
      expect(text).toContain("REFERENCE-1")
      expect(text).toContain("http.route")
      for (const secret of ["hidden-key", "hidden-token", "256700000001", "url.full"]) expect(text).not.toContain(secret)
    })
  )

  it.live("sends each signal with its own address and headers, and both with one resource, where the variables say so", () =>
    Effect.gen(function* () {
      const { endpoint, exports } = yield* collector
      const variables = {
        OTEL_EXPORTER_OTLP_ENDPOINT: `${endpoint}/all/`,
        OTEL_EXPORTER_OTLP_METRICS_ENDPOINT: `${endpoint}/numbers`,
        OTEL_EXPORTER_OTLP_HEADERS: "x-team=pay%20ments,x-both=all",
        OTEL_EXPORTER_OTLP_METRICS_HEADERS: "x-both=metrics",
        OTEL_SERVICE_NAME: "",
        OTEL_RESOURCE_ATTRIBUTES: "service.name=named-here,deployment.environment.name=st%C3%A4ging"
      }
      yield* Effect.provide(Effect.andThen(counted, program), telemetry(variables))
      const [spans] = exports.filter(({ path }) => path === "/all/v1/traces")
      const [numbers] = exports.filter(({ path }) => path === "/numbers")
      expect(spans?.headers).toMatchObject({ "x-team": "pay ments", "x-both": "all" })
      expect(numbers?.headers).toMatchObject({ "x-team": "pay ments", "x-both": "metrics" })
      const texts = [spans, numbers].map((sent) => sent?.bytes.toString("utf8") ?? "")
      const instances = texts.map((text) => /service\.instance\.id[^]{1,8}?([0-9a-f-]{36})/.exec(text)?.[1])
      for (const text of texts) for (const part of ["named-here", "stäging"]) expect(text).toContain(part)
      // One for a process, whatever it sends.
      expect(instances).toEqual([expect.any(String), instances[0]])
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.live("sends nothing where the variables disable it, all of it or one signal", () =>
    Effect.gen(function* () {
      const { endpoint, exports } = yield* collector
      const run = (variables: Readonly<Record<string, string>>) =>
        Effect.andThen(counted, program).pipe(
          Effect.provide(telemetry({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, ...variables })),
          Effect.map(() => exports.splice(0).map(({ path }) => path))
        )
      expect(yield* run({ OTEL_SDK_DISABLED: "true" })).toEqual([])
      expect(yield* run({ OTEL_TRACES_EXPORTER: "none" })).toEqual(["/v1/metrics"])
      expect(yield* run({ OTEL_METRICS_EXPORTER: "none" })).toEqual(["/v1/traces"])
      // The SDK reads it from the process.
      vi.stubEnv("OTEL_TRACES_SAMPLER", "always_off")
      expect(yield* run({})).toEqual(["/v1/metrics"])
      vi.unstubAllEnvs()
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )

  it.effect("is refused with variables that it does not follow", () =>
    Effect.gen(function* () {
      const variables = {
        OTEL_TRACES_EXPORTER: "console",
        OTEL_EXPORTER_OTLP_PROTOCOL: "grpc",
        OTEL_RESOURCE_ATTRIBUTES: "nothing",
        OTEL_EXPORTER_OTLP_HEADERS: "secret%zz=1"
      }
      const { message } = yield* Effect.flip(Effect.provideService(settings, Environment, variables))
      expect(
        message
          .split("\n")
          .map((line) => line.split(" ", 1)[0])
          .sort()
      ).toEqual(Object.keys(variables).sort())
      expect(message).not.toContain("secret%zz")
    })
  )

  it.live("writes what the SDK says of itself into the log, from OTEL_LOG_LEVEL on", () =>
    Effect.gen(function* () {
      const { endpoint } = yield* collector
      const lines: Array<unknown> = []
      const logger = Logger.make(({ fiber, logLevel, message }) => {
        lines.push([logLevel, message, fiber.getRef(References.CurrentLogAnnotations)])
      })
      const run = (variables: Readonly<Record<string, string>>) =>
        program.pipe(
          Effect.provide(telemetry({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_METRICS_EXPORTER: "none", ...variables })),
          Effect.provide(Logger.layer([logger])),
          Effect.map(() => lines.splice(0))
        )
      const refused = { OTEL_EXPORTER_OTLP_ENDPOINT: `${endpoint}/refused` }
      const error = ["Error", ["the OpenTelemetry SDK reports an error"], { note: expect.stringContaining("Bad Request") }]
      expect(yield* run({})).toEqual([])
      expect(yield* run(refused)).toEqual([error])
      expect(yield* run({ ...refused, OTEL_LOG_LEVEL: "none" })).toEqual([])
      const all = yield* run({ OTEL_LOG_LEVEL: "DEBUG" })
      expect(all).toContainEqual(["Info", ["the OpenTelemetry SDK reports"], { note: expect.any(String) }])
    })
  )

  it.live("is off without an endpoint", () =>
    Effect.gen(function* () {
      yield* program.pipe(Effect.provide(telemetry({})))
    })
  )

  it.live("does not delay the end of the process when the collector is gone", () =>
    Effect.gen(function* () {
      const { endpoint } = yield* Effect.scoped(collector)
      yield* program.pipe(Effect.provide(telemetry({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint })))
    }).pipe(Effect.timeout("10 seconds"), patiently)
  )
})
