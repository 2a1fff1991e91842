import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Context, Effect, Exit, Layer, Schema } from "effect"
import { HttpMiddleware, HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import type { StatusSnapshot } from "../services/ports/GatewayStatus.ts"
import type { Family } from "./Family.ts"
import { familiesText, gauges, pictures } from "./Gauges.ts"

// An import would read all that node:http exports, and with it a client of 16 MB that nobody uses.
const { createServer } = process.getBuiltinModule("node:http")

/** How long the database may take to answer before this node calls itself not ready. */
const READY_TIMEOUT_MS = 1_000
/** How long a scrape that is under way holds up the end of the process. */
const SHUTDOWN_MS = 1_000

export interface ManagementOptions {
  readonly host: string
  readonly port: number
  /** True once the process was told to stop. */
  readonly draining: Effect.Effect<boolean>
  /** A question to the database; what it answers does not matter. */
  readonly database: Effect.Effect<unknown, unknown>
  /** The state of the database's queues and records; read for scrapes, at most twice a second however many there are. */
  readonly standing: Effect.Effect<StatusSnapshot, unknown>
  /** Why nothing is asked of the database now, in one line; null where it can be. Told without asking it. */
  readonly standstill: Effect.Effect<string | null>
  /** What may keep this node from serving: each answers why it does, in one line, or null. */
  readonly obstacles: ReadonlyArray<Effect.Effect<string | null, unknown>>
  /** Those with an account here: each is reconciled daily. */
  readonly providers: ReadonlyArray<string>
  /** How this process itself fares. */
  readonly process: Effect.Effect<ReadonlyArray<Family>>
}

export class ManagementPortTaken extends Schema.TaggedError<ManagementPortTaken>()("management_port_taken", {
  host: Schema.String,
  port: Schema.Number
}) {
  override get message(): string {
    return `MANAGEMENT_PORT ${this.port} on ${this.host} cannot be listened on; it is taken, or not ours to take.`
  }
}

/** Where the management listener is, whatever port it was told to take. */
export class ManagementAddress extends Context.Service<ManagementAddress, { readonly host: string; readonly port: number }>()(
  "gateway/observability/ManagementAddress"
) {}

const layer = (options: ManagementOptions): Layer.Layer<ManagementAddress, ManagementPortTaken> => {
  const { host, port } = options
  const server = NodeHttpServer.layer(() => createServer(), { host, port, gracefulShutdownTimeout: SHUTDOWN_MS })
  const serving = Effect.gen(function* () {
    const { address } = yield* HttpServer.HttpServer
    const listening = { host, port: "port" in address ? address.port : port }
    const page = metrics(yield* pictures({ read: options.standing, standstill: options.standstill }), options)
    return Layer.merge(HttpServer.serve(answer(options, page)), Layer.succeed(ManagementAddress, listening))
  })
  return Layer.unwrap(serving).pipe(
    Layer.provide(server),
    // Nobody wants a trace of each scrape.
    Layer.provide(Layer.succeed(HttpMiddleware.TracerDisabledWhen, () => true)),
    Layer.catchTag("ServeError", () => Layer.effect(ManagementAddress, new ManagementPortTaken({ host, port })))
  )
}

/** `/livez`, `/readyz` and `/metrics` on a listener of their own, never public. */
export const Management = { layer }

const answer = (options: ManagementOptions, page: ReturnType<typeof metrics>) =>
  Effect.gen(function* () {
    const { method, url } = yield* HttpServerRequest.HttpServerRequest
    if (method !== "GET" && method !== "HEAD") return text(405, "method not allowed")
    switch (url.split("?", 1)[0]) {
      case "/livez":
        return text(200, "ok")
      case "/readyz":
        return yield* readiness(options)
      case "/metrics":
        return yield* page
      default:
        return text(404, "not found")
    }
  })

const readiness = Effect.fnUntraced(function* ({ database, draining, obstacles, standstill }: ManagementOptions) {
  if (yield* draining) return text(503, "draining")
  const why = yield* standstill
  if (why !== null) return text(503, why)
  const checked = yield* Effect.exit(Effect.timeout(Effect.andThen(database, Effect.all(obstacles)), READY_TIMEOUT_MS))
  if (Exit.isFailure(checked)) return text(503, "the database does not answer")
  const reasons = checked.value.filter((reason) => reason !== null)
  return reasons.length === 0 ? text(200, "ok") : text(503, reasons.join("\n"))
})

const metrics = Effect.fnUntraced(function* (
  picture: Effect.Effect<StatusSnapshot | null>,
  { process: own, providers }: ManagementOptions
) {
  const body = `${yield* PrometheusMetrics.format()}${familiesText([...(yield* own), ...gauges(yield* picture, providers)])}`
  return HttpServerResponse.text(body, { contentType: "text/plain; version=0.0.4; charset=utf-8", headers })
})

/** No cache keeps a copy, and no browser guesses the content type. */
const headers = { "cache-control": "no-store", "x-content-type-options": "nosniff" }

const text = (status: number, body: string) => HttpServerResponse.text(`${body}\n`, { status, headers })
