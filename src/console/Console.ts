import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Effect, Layer, Schema } from "effect"
import { HttpMiddleware, HttpServer } from "effect/http"
import { makeConnections } from "../http/edge/ConnectionLimit.ts"
import { answerStrangeRequests } from "../runtime/StrangeRequests.ts"
import { ConsoleAddress } from "./ConsoleAddress.ts"
import { type GateSettings, makeGate } from "./Gate.ts"
import { makeHandler } from "./Handler.ts"
import { makeAudit } from "./pages/Audit.ts"
import { makeCallbacks } from "./pages/Callbacks.ts"
import { makeChanges } from "./pages/Changes.ts"
import { makeCorridorRoutes } from "./pages/CorridorRoutes.ts"
import { makeDecisions } from "./pages/Decisions.ts"
import { makeFloatEntries } from "./pages/FloatEntries.ts"
import { makeFloats } from "./pages/Floats.ts"
import { makeAcknowledging, makeHome } from "./pages/Home.ts"
import { makeKeys } from "./pages/Keys.ts"
import { makeProviderChange } from "./pages/ProviderChange.ts"
import { makeProviders } from "./pages/Providers.ts"
import { makeRates } from "./pages/Rates.ts"
import { makeReconciliations } from "./pages/Reconciliations.ts"
import { makeReviews } from "./pages/Reviews.ts"
import { makeRulingFiles } from "./pages/RulingFilePages.ts"
import { makeSenders } from "./pages/Senders.ts"
import { makeTenants } from "./pages/Tenants.ts"
import { makeTimeline } from "./pages/Timeline.ts"
import { makeTransactions } from "./pages/Transactions.ts"
import { makeUnknown } from "./pages/Unknown.ts"
import { makeWallets } from "./pages/Wallets.ts"
import { makeWebhooks } from "./pages/Webhooks.ts"

// An import would load everything that node:http exports, including an unused client of 16 MB.
const { createServer } = process.getBuiltinModule("node:http")

/** How long a page in progress may delay the end of the process. */
const SHUTDOWN_MS = 2_000
/** A whole request, and its headers, must arrive within these times; otherwise the connection is closed. */
const REQUEST_MS = 15_000
const HEADERS_MS = 10_000
/** In total and from one address, so that one client cannot lock others out. A browser opens six. */
const CONNECTIONS = { inAll: 200, anAddress: 24 }

interface ConsoleSettings extends GateSettings, RoomSettings {
  /** 0 for any free port. */
  readonly port: number
  /** How long an idle connection is kept open: a proxy in front reuses it. */
  readonly keepAliveMs: number
}

class ConsolePortTaken extends Schema.TaggedError<ConsolePortTaken>()("console_port_taken", {
  host: Schema.String,
  port: Schema.Number
}) {
  override get message(): string {
    return `CONSOLE_PORT ${this.port} on ${this.host} cannot be listened on; it is taken, or not ours to take.`
  }
}

const nodeServer = ({ keepAliveMs, trustedProxies }: ConsoleSettings) => {
  const server = createServer({
    requestTimeout: REQUEST_MS,
    headersTimeout: HEADERS_MS,
    keepAliveTimeout: keepAliveMs,
    requireHostHeader: false
  })
  const placeFor = makeConnections(CONNECTIONS, trustedProxies)
  server.on("connection", (socket) => {
    const place = placeFor(socket.remoteAddress ?? "")
    if (typeof place === "function") socket.once("close", place)
    else socket.destroy()
  })
  return answerStrangeRequests(server)
}

/** The operators' console on a separate listener, which is never public. */
export const Console = {
  layer: (settings: ConsoleSettings) => {
    const { host, port } = settings
    const server = NodeHttpServer.layer(() => nodeServer(settings), { host, port, gracefulShutdownTimeout: SHUTDOWN_MS })
    const serving = Effect.gen(function* () {
      const { address } = yield* HttpServer.HttpServer
      const at = { host, port: "port" in address ? address.port : port }
      const handler = yield* makeHandler(makeGate(settings), yield* makeRooms(settings))
      return Layer.merge(HttpServer.serve(handler), Layer.succeed(ConsoleAddress, { at }))
    })
    return Layer.unwrap(serving).pipe(
      Layer.provide(server),
      // The address of a page contains search terms, which must not be in a trace.
      Layer.provide(Layer.succeed(HttpMiddleware.TracerDisabledWhen, () => true)),
      Layer.catchTag("ServeError", () => Layer.effect(ConsoleAddress, new ConsolePortTaken({ host, port })))
    )
  }
}

interface RoomSettings {
  /** Where a trace can be viewed, with `{trace}` in place of its id; null: nowhere. */
  readonly traceUrl: string | null
}

/** Every part of the console, in the order of the menu. */
export const makeRooms = ({ traceUrl }: RoomSettings) =>
  Effect.all([
    makeHome,
    makeTransactions,
    makeTimeline(traceUrl),
    makeAcknowledging,
    makeUnknown,
    makeRulingFiles,
    makeReviews,
    makeDecisions,
    makeWebhooks,
    makeCallbacks,
    makeTenants,
    makeChanges,
    makeFloats,
    makeFloatEntries,
    makeWallets,
    makeReconciliations,
    makeKeys,
    makeSenders,
    makeProviders,
    makeProviderChange,
    makeCorridorRoutes,
    makeRates,
    makeAudit
  ])
