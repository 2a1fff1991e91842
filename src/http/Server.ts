import type { Server as NodeServer } from "node:http"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Context, Effect, Layer, Metric, Schema, Scope } from "effect"
import { HttpMiddleware, HttpServer } from "effect/http"
import { NetAddress } from "effect/net"
import { labelledMetric } from "../runtime/LabelledMetric.ts"
import { makeTimer } from "../runtime/Timer.ts"
import { type ConnectionSlots, makeConnections, type NoSlot } from "./edge/ConnectionLimit.ts"
import { makeEdge } from "./edge/Edge.ts"
import { makeEndpoints } from "./edge/Endpoints.ts"
import { createServer, makeHttpServer } from "./edge/NodeListener.ts"
import type { RateSettings } from "./edge/RequestRate.ts"
import { startErrorCounters } from "./edge/RequestTelemetry.ts"
import { balancesHandlers, floatHandlers } from "./handlers/Balances.ts"
import { beneficiariesHandlers } from "./handlers/Beneficiaries.ts"
import { callbacksHandlers } from "./handlers/Callbacks.ts"
import { collectionsHandlers, refundsHandlers } from "./handlers/Collections.ts"
import { fxHandlers } from "./handlers/Fx.ts"
import { manualHandlers } from "./handlers/Manual.ts"
import { payoutsHandlers } from "./handlers/Payouts.ts"
import { capabilitiesHandlers, referenceHandlers } from "./handlers/Reference.ts"
import { descriptionHandlers, docsAssetsHandlers, healthHandlers } from "./handlers/System.ts"
import { transactionsHandlers } from "./handlers/Transactions.ts"
import { webhooksHandlers } from "./handlers/Webhooks.ts"
import { Idempotent } from "./idempotency/Idempotent.ts"

/** How long requests in flight may take to finish once the server stops. */
const DRAIN = "10 seconds"

interface ServerSettings extends RateSettings {
  readonly connectionSlots: ConnectionSlots
  /** Once the server stops, how long idle connections stay open for one more request. */
  readonly keepAliveDrainMs: number
  /** How long an idle connection is kept open between two requests. */
  readonly keepAliveMs: number
  readonly host: string
  /** 0 chooses any free port. */
  readonly port: number
}

type Address = Pick<ServerSettings, "host" | "port">

/** The server cannot listen on the address, usually because another process has the port. */
export class ListenFailed extends Schema.TaggedError<ListenFailed>()("ListenFailed", {
  host: Schema.String,
  port: Schema.Number,
  reason: Schema.String
}) {
  override get message(): string {
    return `cannot listen on ${this.host}:${this.port} (${this.reason}); set HOST or PORT to a free address`
  }
}

const handlers = Effect.all({
  balances: balancesHandlers,
  float: floatHandlers,
  beneficiaries: beneficiariesHandlers,
  callbacks: callbacksHandlers,
  collections: collectionsHandlers,
  refunds: Effect.succeed(refundsHandlers),
  description: descriptionHandlers,
  docsAssets: docsAssetsHandlers,
  fx: fxHandlers,
  manual: manualHandlers,
  payouts: payoutsHandlers,
  reference: referenceHandlers,
  capabilities: capabilitiesHandlers,
  health: healthHandlers,
  transactions: transactionsHandlers,
  webhooks: webhooksHandlers
})

/** Fails early when the address is taken: otherwise everything that starts before the server is started for nothing. */
export const ensureListenable = (at: Address) => Effect.scoped(Effect.asVoid(listenOn(createServer(), at)))

const serve = (settings: RateSettings) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const endpoints = makeEndpoints(yield* handlers)
      const edge = yield* makeEdge(settings)
      yield* startErrorCounters
      return HttpServer.serve(edge(endpoints))
    })
  ).pipe(Layer.provide(Idempotent.layer))

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
      const { onRequest, server } = makeHttpServer({
        timer: yield* makeTimer,
        keepAliveDrainMs,
        keepAliveMs,
        placeFor: makeConnections(connectionSlots, trustedProxies),
        onRefused: (why) => void run(countRefusedConnection({ why }, 1))
      })
      const { address, stop } = yield* listenOn(server, { host, port })
      // Runs after the drain. A connection that is still open is idle, or its client has stopped sending.
      yield* Effect.addFinalizer(() => Effect.sync(() => server.closeAllConnections()))
      return HttpServer.make({
        address,
        serve: Effect.fnUntraced(function* (app, middleware) {
          const serving = yield* Effect.scope
          const requests = yield* Scope.fork(serving, "parallel")
          const handler = NodeHttpServer.makeHandler(middleware === undefined ? app : middleware(app), { scope: requests })
          onRequest(yield* Effect.updateContext(handler, inOneMap))
          yield* Effect.addFinalizer(() => Effect.timeoutOption(stop, DRAIN))
        })
      })
    })
  )

/** A request adds about fifteen services to these, one map at a time. Beyond this depth one more service would copy all of them. */
const SERVICES_OF_A_REQUEST = 32

/**
 * The same services in one flat map. Each layer puts its own map over those before it. With eight such maps, Effect's default
 * maximum, adding one more service copies all of them: a payout did that a dozen times, for a sixth of all its allocations.
 */
const inOneMap = (services: Context.Context<Scope.Scope>): Context.Context<Scope.Scope> =>
  // Disables Effect's own span: the edge makes the only span of a request.
  Context.merge(
    Context.makeUnsafe<never>(new Map([[HttpMiddleware.TracerDisabledWhen.key, () => true]]), {
      maxDepth: SERVICES_OF_A_REQUEST
    }),
    services
  )

/** Listens until the scope closes. `stop` accepts no further connections, and completes when the open ones have closed. */
const listenOn = Effect.fnUntraced(function* (server: NodeServer, at: Address) {
  const stop = yield* Effect.cached(
    Effect.callback<void>((resume) => {
      if (server.listening) server.close(() => resume(Effect.void))
      else resume(Effect.void)
    })
  )
  yield* Effect.addFinalizer(() => stop)
  yield* Effect.callback<void, ListenFailed>((resume) => {
    const fails = (error: NodeJS.ErrnoException) => resume(Effect.fail(new ListenFailed({ ...at, reason: reasonOf(error) })))
    server.once("error", fails).listen(at, () => {
      server.off("error", fails)
      resume(Effect.void)
    })
  })
  const bound = server.address()
  if (typeof bound !== "object" || bound === null) return yield* Effect.die(new Error("the server listens on no port"))
  const address = yield* Effect.orDie(Effect.fromResult(NetAddress.inetAddressFromIpString(bound.address, bound.port)))
  return { address, stop }
})

const reasonOf = ({ code }: NodeJS.ErrnoException): string =>
  code === "EADDRINUSE" ? "the address is taken" : (code ?? "no such address")

/**
 * The HTTP API on an address. When its scope closes, it accepts no further connections and gives requests in flight `DRAIN` to
 * finish; a money step runs until it is complete. Provides the `HttpServer`, which knows its port.
 */
export const Server = {
  layer: (settings: ServerSettings) =>
    serve(settings).pipe(Layer.provideMerge(Layer.merge(listen(settings), NodeHttpServer.layerHttpServices)))
}
