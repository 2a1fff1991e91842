import { Effect, Result, Schema, type Scope } from "effect"
import { type Account, openAccount } from "./Account.ts"
import { type CallLog, openCallLog } from "./CallLog.ts"
import { Ending } from "./Endings.ts"
import { makeListener } from "./Listener.ts"
import { openPorts } from "./Ports.ts"
import { openProviderServer, type ProviderServer } from "./ProviderServer.ts"
import { jsonAs } from "./Responses.ts"
import { makeScheduler, type Scheduler } from "./Scheduler.ts"
import type { SimulatedProvider, SimulatedRequest, SimulatedResponse } from "./SimulatedProvider.ts"

export interface SimulatorServer {
  readonly controlUrl: string
  /** By the provider's name; its port is stored in `dataDir`. */
  readonly baseUrls: Readonly<Record<string, string>>
}

interface SimulatorOptions {
  readonly host: string
  /** 0 lets the system choose. */
  readonly controlPort: number
  /** Contains `simulator/`: the account, the calls, the ports. */
  readonly dataDir: string
  readonly delayMs: number
  readonly providers: ReadonlyArray<SimulatedProvider>
}

/** Runs everything for as long as the scope lives. Dies when the control port is taken. */
export const simulatorServer = Effect.fn("simulatorServer")(function* (
  options: SimulatorOptions
): Effect.fn.Return<SimulatorServer, never, Scope.Scope> {
  const { dataDir, delayMs, host, providers } = options
  const account = yield* openAccount(dataDir)
  const calls = yield* openCallLog(dataDir)
  const ports = yield* openPorts(dataDir)
  const scheduler = yield* makeScheduler({ account, providers, delayMs })
  const servers = yield* Effect.forEach(providers, (provider) =>
    openProviderServer(provider, { host, delayMs, account, calls, ports, scheduler })
  )
  const control = yield* makeListener(host, controlRoutes({ account, calls, scheduler, servers }))
  const port = yield* control.open(options.controlPort)
  if (port === undefined) return yield* Effect.die(new Error(`SIMULATOR_PORT ${options.controlPort} is taken`))
  return {
    controlUrl: `http://${host}:${port}`,
    baseUrls: Object.fromEntries(servers.map(({ baseUrl, name }) => [name, baseUrl]))
  }
})

interface Options {
  readonly account: Account
  readonly calls: CallLog
  readonly scheduler: Scheduler
  readonly servers: ReadonlyArray<ProviderServer>
}

const NextRequest = Schema.Struct({ provider: Schema.String, operation: Schema.String, ending: Ending })
const DownRequest = Schema.Struct({ provider: Schema.String, down: Schema.Boolean })
const RateRequest = Schema.Struct({
  provider: Schema.String,
  calls_per_second: Schema.NullOr(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))),
  retry_after_seconds: Schema.optionalKey(Schema.Int.check(Schema.isGreaterThanOrEqualTo(0)))
})
const CallbacksRequest = Schema.Struct({
  provider: Schema.String,
  url: Schema.String.check(Schema.isPattern(/^https?:\/\//)),
  client_id: Schema.optionalKey(Schema.String)
})

type ControlEndpoint = (request: SimulatedRequest) => Effect.Effect<SimulatedResponse>

/** The `/__simulator` addresses (contract SIM-3, SIM-4, SIM-5). */
const controlRoutes = (options: Options): ControlEndpoint => {
  const routes = routesOf(options)
  return (request) => {
    const route = routes[`${request.method} ${request.path}`] ?? ordered(options, request)
    return route === undefined ? Effect.succeed(json(404, { error: "no such control address" })) : route(request)
  }
}

const Ordered = Schema.Struct({ provider: Schema.String })

/** `/__simulator/NAME`, where a provider has an order with that name. */
const ordered = ({ servers }: Options, { method, path }: SimulatedRequest): ControlEndpoint | undefined => {
  const name = method === "POST" ? path.slice("/__simulator/".length) : ""
  if (!servers.some(({ orders }) => orders[name] !== undefined)) return undefined
  return withServer(servers, Ordered, ({ orders }, { provider }, body) =>
    Effect.map(orders[name]?.(body) ?? Effect.succeed(`${provider} has no such order`), (why) =>
      why === null ? json(200, { ok: true }) : json(400, { error: why })
    )
  )
}

const withServer = <A extends { readonly provider: string }>(
  servers: ReadonlyArray<ProviderServer>,
  schema: Schema.ConstraintDecoder<A>,
  use: (server: ProviderServer, wish: A, body: string) => Effect.Effect<SimulatedResponse>
): ControlEndpoint => {
  const decode = Schema.decodeUnknownResult(Schema.fromJsonString(schema))
  return ({ body }) => {
    const wish = decode(body)
    if (Result.isFailure(wish)) return Effect.succeed(json(400, { error: String(wish.failure) }))
    const server = servers.find(({ name }) => name === wish.success.provider)
    if (server === undefined) return Effect.succeed(json(400, { error: "no such provider" }))
    return use(server, wish.success, body)
  }
}

const routesOf = ({ account, calls, scheduler, servers }: Options): Readonly<Record<string, ControlEndpoint>> => {
  return {
    "GET /__simulator/ready": () =>
      Effect.sync(() =>
        json(200, { ok: true, providers: Object.fromEntries(servers.map(({ baseUrl, name }) => [name, { base_url: baseUrl }])) })
      ),
    "GET /__simulator/executions": ({ query }) =>
      Effect.sync(() => account.executions(query.get("reference") ?? undefined)).pipe(
        Effect.tap(() => account.settled),
        Effect.map((rows) => json(200, rows))
      ),
    "GET /__simulator/calls": ({ query }) => Effect.sync(() => json(200, calls.list(query.get("reference") ?? undefined))),
    "POST /__simulator/next": withServer(servers, NextRequest, (server, { ending, operation }) => {
      if (!server.operations.includes(operation)) {
        return Effect.succeed(json(400, { error: `operation is one of ${server.operations.join(", ")}` }))
      }
      server.chooseNext(operation, ending)
      return Effect.succeed(json(200, { ok: true }))
    }),
    "POST /__simulator/down": withServer(servers, DownRequest, (server, { down }) =>
      Effect.as(server.setDown(down), json(200, { ok: true }))
    ),
    "POST /__simulator/rate": withServer(servers, RateRequest, ({ gate }, { calls_per_second, retry_after_seconds }) =>
      Effect.sync(() => {
        const rate = { callsPerSecond: calls_per_second ?? 0, retryAfterSeconds: retry_after_seconds }
        gate.set(calls_per_second === null ? null : rate)
        return json(200, { ok: true })
      })
    ),
    "GET /__simulator/rate": () =>
      Effect.sync(() => json(200, Object.fromEntries(servers.map(({ gate, name }) => [name, { turned_away: gate.turnedAway }])))),
    "POST /__simulator/callbacks": withServer(servers, CallbacksRequest, (server, { client_id, url }) =>
      client_id !== undefined && !server.accounts.includes(client_id)
        ? Effect.succeed(json(400, { error: "no such client_id" }))
        : Effect.as(server.setCallbackAddress(url, client_id), json(200, { ok: true }))
    ),
    "POST /__simulator/callbacks/flush": () => Effect.map(scheduler.flush, (jobs) => json(200, { ok: true, jobs }))
  }
}

const json = jsonAs("application/json")
