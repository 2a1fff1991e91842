import { join } from "node:path"
import { Context, Effect, Layer } from "effect"
import { Command } from "effect/cli"
import { HttpServer } from "effect/http"
import * as App from "../App.ts"
import { DataFolder } from "./DataFolder.ts"
import { Installation } from "./Installation.ts"
import { printResult } from "./Output.ts"

export const serve = Command.make(
  "serve",
  {},
  Effect.fn(
    function* () {
      const settings = yield* Installation.forServer
      const { consoleUrl, url } = yield* openGateway(settings)
      yield* printResult(consoleUrl === null ? { url } : { url, console_url: consoleUrl }, [
        `The gateway listens on ${url}`,
        ...(consoleUrl === null ? [] : [`The operators' console listens on ${consoleUrl}`])
      ])
      return yield* untilStopped
    },
    Effect.scoped,
    Effect.provide(App.logs)
  )
).pipe(
  Command.withDescription(
    "Run the gateway until SIGTERM or SIGINT, then let requests under way end. In production it needs DATABASE_URL, MASTER_KEY and the account of a provider"
  ),
  Command.withExamples([{ command: "gateway serve", description: "Serve tenants on HOST and PORT" }])
)

/**
 * Opens the gateway for as long as the scope lives. `url` is where it can be reached from this machine; where its management port can be is
 * written into the data folder meanwhile.
 */
export const openGateway = Effect.fnUntraced(function* (settings: App.ReadySettings) {
  const context = yield* Layer.build(App.gateway(settings, yield* Installation.build))
  const { address } = Context.get(context, HttpServer.HttpServer)
  const port = "port" in address ? address.port : settings.port
  const management = Context.get(context, App.ManagementAddress)
  yield* rememberManagementPort(settings.dataDir, `http://${reachable(management.host)}:${management.port}`)
  const { at } = Context.get(context, App.ConsoleAddress)
  const consoleUrl = at === null ? null : `http://${reachable(at.host)}:${at.port}`
  return { context, url: `http://${reachable(settings.host)}:${port}`, consoleUrl }
})

/** Where a data folder remembers the management port of its gateway; of several the last one that was started. */
export const managementFile = (dataDir: string): string => join(dataDir, "management.json")

/** A gateway that may not write the file serves payments all the same; `status` then needs MANAGEMENT_PORT. */
const rememberManagementPort = Effect.fnUntraced(function* (dataDir: string, url: string) {
  const file = managementFile(dataDir)
  yield* Effect.andThen(DataFolder.make(dataDir), DataFolder.writeProcess(file, url)).pipe(
    Effect.catchTag("CommandRefusal", ({ message }) =>
      Effect.annotateLogs(Effect.logWarning("the address of the management port could not be written for gateway status"), {
        note: message
      })
    )
  )
  yield* Effect.addFinalizer(() => DataFolder.removeOwnProcess(file))
})

/** Never ends by itself: the signal that ends it is how it is meant to end. */
export const untilStopped: Effect.Effect<never> = Effect.suspend(() => {
  process.exitCode = 0
  return Effect.never
})

/** Where a listener on this host is reached from this machine. */
export const reachable = (host: string): string => {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1"
  return host.includes(":") ? `[${host}]` : host
}
