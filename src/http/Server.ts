import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer, Metric, Schema } from "effect"
import { HttpMiddleware, HttpServer } from "effect/http"
import { labelledMetric } from "../runtime/LabelledMetric.ts"
import { makeTimer } from "../runtime/Timer.ts"
import { SignedRequest } from "./api/SignedRequest.ts"
import { type ConnectionSlots, makeConnections, type NoSlot } from "./edge/ConnectionLimit.ts"
import { makeEdge } from "./edge/Edge.ts"
import { makeEndpoints } from "./edge/Endpoints.ts"
import { createServer, makeHttpServer } from "./edge/NodeListener.ts"
import type { RateSettings } from "./edge/RequestRate.ts"
import { startErrorCounters } from "./edge/RequestTelemetry.ts"
import { BalancesHandlers, FloatHandlers } from "./handlers/Balances.ts"
import { BeneficiariesHandlers } from "./handlers/Beneficiaries.ts"
import { CallbacksHandlers } from "./handlers/Callbacks.ts"
import { CollectionsHandlers, RefundsHandlers } from "./handlers/Collections.ts"
import { DescriptionHandlers, DocsAssetsHandlers } from "./handlers/Description.ts"
import { FxHandlers } from "./handlers/Fx.ts"
import { ManualHandlers } from "./handlers/Manual.ts"
import { PayoutsHandlers } from "./handlers/Payouts.ts"
import { CapabilitiesHandlers, ReferenceHandlers } from "./handlers/Reference.ts"
import { HealthHandlers } from "./handlers/System.ts"
import { TransactionsHandlers } from "./handlers/Transactions.ts"
import { WebhooksHandlers } from "./handlers/Webhooks.ts"
import { Idempotent } from "./idempotency/Idempotent.ts"

/** How long requests in flight may take to end once the server stops. */
const DRAIN = "10 seconds"

/** Where the server listens, and its limits. */
export interface ServerSettings extends RateSettings {
  readonly connectionSlots: ConnectionSlots
  /** How long connections that are idle stay open for one more request once the server stops. */
  readonly keepAliveDrainMs: number
  /** How long a connection is kept between two requests. */
  readonly keepAliveMs: number
  readonly host: string
  /** 0 for any free port. */
  readonly port: number
}

/** The address cannot be listened on, usually because another process has the port. */
export class ListenFailed extends Schema.TaggedError<ListenFailed>()("ListenFailed", {
  host: Schema.String,
  port: Schema.Number,
  reason: Schema.String
}) {
  override get message(): string {
    return `cannot listen on ${this.host}:${this.port} (${this.reason}); set HOST or PORT to a free address`
  }
}

const Handlers = Layer.mergeAll(
  CollectionsHandlers,
  PayoutsHandlers,
  TransactionsHandlers,
  FloatHandlers,
  FxHandlers,
  HealthHandlers,
  CallbacksHandlers,
  WebhooksHandlers,
  DescriptionHandlers,
  BeneficiariesHandlers,
  ManualHandlers,
  DocsAssetsHandlers,
  BalancesHandlers,
  CapabilitiesHandlers,
  ReferenceHandlers,
  RefundsHandlers
).pipe(Layer.provideMerge(SignedRequest.layer), Layer.provide(Idempotent.layer))

/** Fails where the server would, which starts long after: nothing else has to be started, and stopped again, for an address that is taken. */
export const ensureListenable = ({ host, port }: Pick<ServerSettings, "host" | "port">) =>
  Effect.scoped(Effect.asVoid(listenOn(createServer, { host, port })))

const serve = (settings: RateSettings) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const endpoints = yield* makeEndpoints
      const edge = yield* makeEdge(settings)
      yield* startErrorCounters
      return HttpServer.serve(edge(endpoints))
    })
  ).pipe(
    Layer.provide(Handlers),
    // The edge makes the only span of a request.
    Layer.provide(Layer.succeed(HttpMiddleware.TracerDisabledWhen, () => true))
  )

const countRefusedConnection = labelledMetric((attributes: { readonly why: NoSlot }) =>
  Metric.counter("gateway_connections_refused_total", {
    description: "Connections that were closed at once, by which bound they were over.",
    incremental: true,
    attributes
  })
)

const listen = ({ connectionSlots, host, keepAliveDrainMs, keepAliveMs, port, trustedProxies }: ServerSettings) =>
  Layer.effect(
    HttpServer.HttpServer,
    Effect.gen(function* () {
      const run = Effect.runForkWith(yield* Effect.context<never>())
      for (const why of ["in_all", "an_address"] as const) yield* countRefusedConnection({ why }, 0)
      const node = makeHttpServer({
        timer: yield* makeTimer,
        keepAliveDrainMs,
        keepAliveMs,
        placeFor: makeConnections(connectionSlots, trustedProxies),
        onRefused: (why) => void run(countRefusedConnection({ why }, 1))
      })
      const server = yield* listenOn(() => node, { host, port })
      // Runs after the drain. A connection that is still open then is idle, or its client has stopped sending.
      yield* Effect.addFinalizer(() => Effect.sync(() => node.closeAllConnections()))
      return server
    })
  )

const listenOn = (make: typeof createServer, { host, port }: Pick<ServerSettings, "host" | "port">) =>
  Effect.mapError(
    NodeHttpServer.make(make, { host, port, gracefulShutdownTimeout: DRAIN }),
    ({ cause }) => new ListenFailed({ host, port, reason: reasonOf(cause) })
  )

const reasonOf = (cause: unknown): string => {
  const code = typeof cause === "object" && cause !== null && "code" in cause ? cause.code : undefined
  return code === "EADDRINUSE" ? "the address is taken" : String(code ?? "no such address")
}

/**
 * The HTTP API on an address. When its scope closes it takes no more connections and gives requests in flight `DRAIN` to end; a money
 * step goes on until it is done. Provides the `HttpServer`, which knows its port.
 */
export const Server = {
  layer: (settings: ServerSettings) =>
    serve(settings).pipe(Layer.provideMerge(Layer.merge(listen(settings), NodeHttpServer.layerHttpServices)))
}
