import { createServer } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Exit, Layer, Option, Schema } from "effect"
import { HttpMiddleware, HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import { PrometheusMetrics } from "effect/observability"
import type { Picture } from "../services/ports/Standing.ts"
import { eventLoop } from "./EventLoop.ts"
import { databaseText, gaugesText } from "./Gauges.ts"

/** How long the database may take to answer before this node calls itself not ready. */
const READY_TIMEOUT_MS = 1_000
/** How long a scrape that is under way holds up the end of the process. */
const SHUTDOWN_MS = 1_000
/** Scrapes that come sooner see the same picture. */
const PICTURE_KEPT_MS = 500
/** How long a picture may take; a scrape waits longer than a probe. */
const PICTURE_TIMEOUT_MS = 5_000

export interface ManagementOptions {
  readonly host: string
  readonly port: number
  /** True from the moment at which the process was told to stop. */
  readonly draining: Effect.Effect<boolean>
  /** A question to the database; what it answers does not matter. */
  readonly database: Effect.Effect<unknown, unknown>
  /** How things stand; asked by scrapes, at most once in a while however many there are. */
  readonly standing: Effect.Effect<Picture, unknown>
}

export class ManagementPortTaken extends Schema.TaggedError<ManagementPortTaken>()("management_port_taken", {
  host: Schema.String,
  port: Schema.Number
}) {
  override get message(): string {
    return `MANAGEMENT_PORT ${this.port} on ${this.host} cannot be listened on; it is taken, or not ours to take.`
  }
}

const layer = (options: ManagementOptions): Layer.Layer<never, ManagementPortTaken> => {
  const { host, port } = options
  const server = NodeHttpServer.layer(() => createServer(), { host, port, gracefulShutdownTimeout: SHUTDOWN_MS })
  const serving = Effect.gen(function* () {
    // What broke is not kept: the next scrape asks again.
    const standing = yield* Effect.cachedWithTTL(bounded(options.standing, PICTURE_TIMEOUT_MS), (exit) =>
      Exit.isSuccess(exit) && Option.isSome(exit.value) ? PICTURE_KEPT_MS : 0
    )
    return HttpServer.serve(answer(options, metrics(standing, yield* eventLoop)))
  })
  return Layer.unwrap(serving).pipe(
    Layer.provide(server),
    // Nobody wants a trace of each scrape.
    Layer.provide(Layer.succeed(HttpMiddleware.TracerDisabledWhen, () => true)),
    Layer.catchTag("ServeError", () => Layer.effectDiscard(new ManagementPortTaken({ host, port })))
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

const readiness = Effect.fnUntraced(function* ({ database, draining }: ManagementOptions) {
  if (yield* draining) return text(503, "draining")
  const asked = yield* bounded(database, READY_TIMEOUT_MS)
  return Option.isSome(asked) ? text(200, "ok") : text(503, "the database does not answer")
})

const metrics = Effect.fnUntraced(function* (standing: Effect.Effect<Option.Option<Picture>>, lag: Effect.Effect<string>) {
  const picture = yield* standing
  const body = [
    yield* PrometheusMetrics.format(),
    yield* lag,
    databaseText(Option.isSome(picture)),
    Option.match(picture, { onNone: () => "", onSome: gaugesText })
  ]
  return HttpServerResponse.text(body.join(""), { contentType: "text/plain; version=0.0.4; charset=utf-8" })
})

/** None when it failed, broke or took too long: a management answer is about that, and never an error itself. */
const bounded = <A>(question: Effect.Effect<A, unknown>, timeoutMs: number): Effect.Effect<Option.Option<A>> =>
  Effect.exit(Effect.timeout(question, timeoutMs)).pipe(
    Effect.map((exit) => (Exit.isSuccess(exit) ? Option.some(exit.value) : Option.none()))
  )

const text = (status: number, body: string) => HttpServerResponse.text(`${body}\n`, { status })
