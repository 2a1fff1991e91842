import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Context, Effect, Layer, Schema } from "effect"
import { HttpMiddleware, HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import { answerStrangeRequests, neverKept } from "../runtime/StrangeRequests.ts"
import { makeReadiness, type Readiness, type ReadinessSources } from "./Readiness.ts"

// An import would load everything that node:http exports, including an unused client of 16 MB.
const { createServer } = process.getBuiltinModule("node:http")

/** How long a scrape in progress may delay the end of the process. */
const SHUTDOWN_MS = 1_000

interface ListenAddress {
  readonly host: string
  /** 0 for any free port. */
  readonly port: number
}

class ManagementPortTaken extends Schema.TaggedError<ManagementPortTaken>()("management_port_taken", {
  host: Schema.String,
  port: Schema.Number
}) {
  override get message(): string {
    return `MANAGEMENT_PORT ${this.port} on ${this.host} cannot be listened on; it is taken, or not ours to take.`
  }
}

interface ManagementListener extends ListenAddress {
  /** How long an idle connection is kept open: load balancers and scrapers reuse it. */
  readonly keepAliveMs: number
}

/** The address of the management listener, with the actual port, whatever port its settings name. */
export class ManagementAddress extends Context.Service<ManagementAddress, ListenAddress>()(
  "gateway/observability/ManagementAddress"
) {}

/** `/livez`, `/readyz` and `/metrics` on a separate listener, which is never public. */
export const Management = {
  layer: (options: ManagementListener & ReadinessSources): Layer.Layer<ManagementAddress, ManagementPortTaken> =>
    Layer.unwrap(Effect.map(makeReadiness(options), (standing) => listen(options, standing)))
}

const listen = (
  { host, keepAliveMs, port }: ManagementListener,
  standing: Readiness
): Layer.Layer<ManagementAddress, ManagementPortTaken> => {
  const server = NodeHttpServer.layer(
    () => answerStrangeRequests(createServer({ requireHostHeader: false, keepAliveTimeout: keepAliveMs })),
    { host, port, gracefulShutdownTimeout: SHUTDOWN_MS }
  )
  const serving = Effect.gen(function* () {
    const { address } = yield* HttpServer.HttpServer
    const listening = { host, port: "port" in address ? address.port : port }
    return Layer.merge(HttpServer.serve(answer(standing, ownNames(host))), Layer.succeed(ManagementAddress, listening))
  })
  return Layer.unwrap(serving).pipe(
    Layer.provide(server),
    // A scrape makes no trace.
    Layer.provide(Layer.succeed(HttpMiddleware.TracerDisabledWhen, () => true)),
    Layer.catchTag("ServeError", () => Layer.effect(ManagementAddress, new ManagementPortTaken({ host, port })))
  )
}

const LOOPBACK = ["127.0.0.1", "localhost", "[::1]"]

/**
 * The host names accepted by a listener on loopback: otherwise a page in a browser on this machine could reach it under a name
 * of its own (DNS rebinding). A listener for other machines has names that only their network knows.
 */
const ownNames = (host: string): ReadonlySet<string> | null => {
  const own = host.includes(":") ? `[${host}]` : host
  return LOOPBACK.includes(own) ? new Set(LOOPBACK) : null
}

const answer = ({ metrics, obstacles }: Readiness, names: ReadonlySet<string> | null) =>
  Effect.gen(function* () {
    const { headers: sent, method, url } = yield* HttpServerRequest.HttpServerRequest
    const name = (sent["host"] ?? "").toLowerCase().replace(/:\d+$/, "")
    if (names !== null && !names.has(name)) return text(421, "this is not the address of the management port")
    if (method !== "GET" && method !== "HEAD") return text(405, "method not allowed")
    switch (url.split("?", 1)[0]) {
      case "/livez":
        return text(200, "ok")
      case "/readyz": {
        const found = yield* obstacles
        return found.length === 0 ? text(200, "ok") : text(503, found.map((one) => one.text).join("\n"))
      }
      case "/metrics":
        return HttpServerResponse.text(yield* metrics, { contentType: EXPOSITION, headers: neverKept })
      default:
        return text(404, "not found")
    }
  })

const EXPOSITION = "text/plain; version=0.0.4; charset=utf-8"

const text = (status: number, body: string) => HttpServerResponse.text(`${body}\n`, { status, headers: neverKept })
