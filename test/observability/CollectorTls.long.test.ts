import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { createServer } from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { expect, it } from "@effect/vitest"
import { Effect, Layer, Metric } from "effect"
import { authority, rightful } from "../../lab/receivers/Certificates.ts"
import { Environment, settings } from "../../src/Config.ts"
import { Telemetry } from "../../src/observability/Telemetry.ts"

/** A collector that shows a certificate of the tests' own authority, and lets nobody in who shows none of it. */
const collector = Effect.acquireRelease(
  Effect.promise(async () => {
    const paths: Array<string> = []
    const server = createServer(
      { ...rightful, ca: authority, requestCert: true, rejectUnauthorized: true },
      (request, response) => {
        paths.push(request.url ?? "")
        request.resume()
        response.writeHead(200, { "content-type": "application/x-protobuf" }).end()
      }
    )
    await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
    const address = server.address()
    return { endpoint: `https://127.0.0.1:${typeof address === "object" ? address?.port : ""}`, paths, server }
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

/** The files that settings name. */
const files = Effect.acquireRelease(
  Effect.sync(() => {
    const folder = mkdtempSync(join(tmpdir(), "gateway-collector-"))
    const named = (name: string, text: string) => {
      writeFileSync(join(folder, name), text)
      return join(folder, name)
    }
    return {
      folder,
      authority: named("authority.pem", authority),
      certificate: named("certificate.pem", rightful.cert),
      key: named("key.pem", rightful.key)
    }
  }),
  ({ folder }) => Effect.sync(() => rmSync(folder, { recursive: true }))
)

const sending = (variables: Readonly<Record<string, string>>) =>
  Metric.update(Metric.counter("gateway_counted_total", { incremental: true }), 1).pipe(
    Effect.withSpan("step"),
    Effect.provide(
      Layer.unwrap(
        Effect.map(settings, ({ telemetry }) => Telemetry.layer({ ...telemetry, serviceVersion: "1.0.0" })).pipe(
          Effect.provideService(Environment, variables)
        )
      )
    ),
    Effect.provideService(Metric.MetricRegistry, new Map())
  )

it.live(
  "a collector is believed by the authority that is named, and is shown the gateway's own certificate, for both signals",
  () =>
    Effect.gen(function* () {
      const { endpoint, paths } = yield* collector
      const { authority, certificate, key } = yield* files
      const [both, shown] = [
        { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_LOG_LEVEL: "none", OTEL_EXPORTER_OTLP_CERTIFICATE: authority },
        { OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: certificate, OTEL_EXPORTER_OTLP_CLIENT_KEY: key }
      ]
      yield* sending({ ...both, ...shown })
      expect(paths.splice(0).sort()).toEqual(["/v1/metrics", "/v1/traces"])
      yield* sending({ ...both, ...shown, OTEL_EXPORTER_OTLP_CERTIFICATE: "" })
      yield* sending(both)
      expect(paths).toEqual([])
      const { OTEL_EXPORTER_OTLP_CERTIFICATE: own, ...rest } = both
      yield* sending({ ...rest, ...shown, OTEL_EXPORTER_OTLP_TRACES_CERTIFICATE: own })
      expect(paths).toEqual(["/v1/traces"])
    })
)

it.effect("a file that cannot be read is refused at the start, by the name of its setting", () =>
  Effect.gen(function* () {
    const variables = {
      OTEL_EXPORTER_OTLP_ENDPOINT: "https://collector.example",
      OTEL_EXPORTER_OTLP_CLIENT_KEY: "/nowhere/key.pem"
    }
    const { message } = yield* Effect.flip(Effect.provideService(settings, Environment, variables))
    expect(message).toBe('OTEL_EXPORTER_OTLP_CLIENT_KEY must be a file that can be read, not "/nowhere/key.pem"')
  })
)
