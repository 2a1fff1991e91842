import { createServer } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Metric } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import { Metrics } from "../../src/observability/Metrics.ts"

const routes = Layer.mergeAll(
  HttpRouter.add("GET", "/v1/payouts/:reference", HttpServerResponse.text("ok")),
  HttpRouter.add("POST", "/v1/payouts", Effect.die(new Error("broken"))),
  Metrics.requests
)

describe("Metrics", () => {
  it.live("counts requests by the route's template and the status, never by the path", () =>
    Effect.gen(function* () {
      const server = yield* Layer.build(NodeHttpServer.layer(() => createServer(), { host: "127.0.0.1", port: 0 }))
      yield* Layer.build(HttpRouter.serve(routes, { disableLogger: true })).pipe(Effect.provideContext(server))
      const address = yield* HttpServer.addressFormattedWith(Effect.succeed).pipe(Effect.provideContext(server))
      const ask = (path: string, method = "GET") => Effect.promise(() => fetch(`${address}${path}`, { method }))
      yield* ask("/v1/payouts/one")
      yield* ask("/v1/payouts/two")
      yield* ask("/nowhere")
      yield* ask("/v1/payouts", "POST")
      const lines = (yield* PrometheusMetrics.format()).split("\n").filter((line) => line.startsWith("http_requests_total"))
      expect(lines.sort()).toEqual([
        'http_requests_total{route="/v1/payouts",status="500"} 1',
        'http_requests_total{route="/v1/payouts/:reference",status="200"} 2',
        'http_requests_total{route="none",status="404"} 1'
      ])
    }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )
})
