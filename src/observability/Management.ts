import { createServer } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Exit, Layer, Option, Schema } from "effect"
import { HttpMiddleware, HttpServer, HttpServerRequest, HttpServerResponse } from "effect/http"
import { PrometheusMetrics } from "effect/observability"

/** How long the database may take to answer before this node calls itself not ready. */
const READY_TIMEOUT_MS = 1_000
/** How long a scrape that is under way holds up the end of the process. */
const SHUTDOWN_MS = 1_000

export interface ManagementOptions {
  readonly host: string
  readonly port: number
  /** True from the moment at which the process was told to stop. */
  readonly draining: Effect.Effect<boolean>
  /** A question to the database; what it answers does not matter. */
  readonly database: Effect.Effect<unknown, unknown>
  /** How many transactions are open, by kind; asked on each scrape. */
  readonly openTransactions: Effect.Effect<Readonly<Record<string, number>>, unknown>
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
  return HttpServer.serve(answer(options)).pipe(
    Layer.provide(server),
    // Nobody wants a trace of each scrape.
    Layer.provide(Layer.succeed(HttpMiddleware.TracerDisabledWhen, () => true)),
    Layer.catchTag("ServeError", () => Layer.effectDiscard(new ManagementPortTaken({ host, port })))
  )
}

/** `/livez`, `/readyz` and `/metrics` on a listener of their own, never public. */
export const Management = { layer }

const answer = (options: ManagementOptions) =>
  Effect.gen(function* () {
    const { method, url } = yield* HttpServerRequest.HttpServerRequest
    if (method !== "GET" && method !== "HEAD") return text(405, "method not allowed")
    switch (url.split("?", 1)[0]) {
      case "/livez":
        return text(200, "ok")
      case "/readyz":
        return yield* readiness(options)
      case "/metrics":
        return yield* metrics(options)
      default:
        return text(404, "not found")
    }
  })

const readiness = Effect.fnUntraced(function* ({ database, draining }: ManagementOptions) {
  if (yield* draining) return text(503, "draining")
  const asked = yield* bounded(database)
  return Option.isSome(asked) ? text(200, "ok") : text(503, "the database does not answer")
})

const metrics = Effect.fnUntraced(function* ({ openTransactions }: ManagementOptions) {
  const open = yield* bounded(openTransactions)
  const body = (yield* PrometheusMetrics.format()) + Option.match(open, { onNone: () => "", onSome: openText })
  return HttpServerResponse.text(body, { contentType: "text/plain; version=0.0.4; charset=utf-8" })
})

/** None when it failed, broke or took too long: a management answer is about that, and never an error itself. */
const bounded = <A>(question: Effect.Effect<A, unknown>): Effect.Effect<Option.Option<A>> =>
  Effect.exit(Effect.timeout(question, READY_TIMEOUT_MS)).pipe(
    Effect.map((exit) => (Exit.isSuccess(exit) ? Option.some(exit.value) : Option.none()))
  )

/** A gauge that cannot be read is left out, because an old number would be a lie. */
const openText = (open: Readonly<Record<string, number>>): string =>
  ["# HELP open_transactions Transactions without a final status.", "# TYPE open_transactions gauge"]
    .concat(Object.entries(open).map(([kind, count]) => `open_transactions{kind="${kind}"} ${count}`))
    .map((line) => `${line}\n`)
    .join("")

const text = (status: number, body: string) => HttpServerResponse.text(`${body}\n`, { status })
