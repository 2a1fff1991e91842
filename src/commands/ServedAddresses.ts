import { join } from "node:path"
import { Context, Effect } from "effect"
import { HttpServer } from "effect/http"
import * as App from "../App.ts"
import { DataFolder } from "./DataFolder.ts"
import { printResult } from "./Output.ts"
import { StandardStreams } from "./StandardStreams.ts"

/** The addresses of a gateway from this machine. */
export interface ServedAddresses {
  readonly url: string
  readonly consoleUrl: string | null
}

type Served = Context.Context<HttpServer.HttpServer | App.ConsoleAddress>

export const addressesOf = ({ host, port }: App.Settings, context: Served): ServedAddresses => {
  const { address } = Context.get(context, HttpServer.HttpServer)
  const { at } = Context.get(context, App.ConsoleAddress)
  return {
    url: urlOf({ host, port: "port" in address ? address.port : port }),
    consoleUrl: at === null ? null : urlOf(at)
  }
}

/** A gateway keeps serving payments even if its standard output is a file on a full disk. */
export const printAddresses = ({ consoleUrl, url }: ServedAddresses) =>
  Effect.andThen(
    Effect.sync(() => StandardStreams.surviveFullOutput()),
    printResult(consoleUrl === null ? { url } : { url, console_url: consoleUrl }, [
      `The gateway listens on ${url}`,
      ...(consoleUrl === null ? [] : [`The operators' console listens on ${consoleUrl}`])
    ])
  )

/** Where a data folder records the management port of its gateway; of several gateways, the last one started. */
export const managementFile = (dataDir: string): string => join(dataDir, "management.json")

/** A gateway that cannot write the file still serves payments; `status` then needs MANAGEMENT_PORT. */
export const rememberManagement = Effect.fnUntraced(function* (dataDir: string, at: Address) {
  const file = managementFile(dataDir)
  yield* Effect.andThen(DataFolder.make(dataDir), DataFolder.writeProcess(file, urlOf(at))).pipe(
    Effect.catchTag("CommandRefusal", ({ message }) =>
      Effect.annotateLogs(Effect.logWarning("the address of the management port could not be written for gateway status"), {
        note: message
      })
    )
  )
  yield* Effect.addFinalizer(() => DataFolder.removeOwnProcess(file))
})

/** Never ends by itself: the signal that ends it is the normal way to stop. */
export const untilStopped: Effect.Effect<never> = Effect.suspend(() => {
  process.exitCode = 0
  return Effect.never
})

/** The host by which this machine reaches a listener on `host`. */
export const reachable = (host: string): string => {
  if (host === "0.0.0.0" || host === "::") return "127.0.0.1"
  return host.includes(":") ? `[${host}]` : host
}

interface Address {
  readonly host: string
  readonly port: number
}

const urlOf = ({ host, port }: Address): string => `http://${reachable(host)}:${port}`
