import { Effect, type Scope } from "effect"
import { openAccount } from "./Account.ts"
import { openCallLog } from "./CallLog.ts"
import { controlRoutes } from "./Control.ts"
import { makeListener } from "./Listener.ts"
import { openPorts } from "./Ports.ts"
import { openProviderServer } from "./ProviderServer.ts"
import { makeScheduler } from "./Scheduler.ts"
import type { SimulatedProvider } from "./SimulatedProvider.ts"

export interface SimulatorServer {
  readonly controlUrl: string
  /** By the provider's name; its port is remembered in `dataDir`. */
  readonly baseUrls: Readonly<Record<string, string>>
}

export interface SimulatorOptions {
  readonly host: string
  /** 0 lets the system choose. */
  readonly controlPort: number
  /** Holds `simulator/`: the account, the calls, the ports. */
  readonly dataDir: string
  readonly delayMs: number
  readonly providers: ReadonlyArray<SimulatedProvider>
}

/** Everything for as long as the scope lives. Dies when the control port is taken. */
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
