import { Effect, Option } from "effect"
import type * as App from "../App.ts"
import { DataFolder } from "./DataFolder.ts"
import { managementFile, reachable } from "./ServedPlaces.ts"

const NODE_TIMEOUT = "2 seconds"
const OPEN_CIRCUIT = /^gateway_provider_circuit_open\{provider="([^"]+)",mode="([^"]+)",operation="([^"]+)"[^}]*\} [1-9]/gm

/** Said of what could not be asked; "none" is an answer. */
export const UNREACHABLE = "unreachable"

export type NodeHere = Effect.Success<ReturnType<typeof nodeHere>>

/**
 * The node of this machine by its management port: where the running one wrote down that it is, or else where the settings say. Circuits are each
 * process's own: those of other nodes are on their pages and in the alert.
 */
export const nodeHere = Effect.fnUntraced(function* ({ dataDir, managementHost, managementPort }: App.Settings) {
  const running = yield* DataFolder.findProcess(managementFile(dataDir))
  const address = Option.match(running, {
    onNone: () => `http://${reachable(managementHost)}:${managementPort}`,
    onSome: ({ url }) => url
  })
  const fetchText = (path: string) =>
    Effect.tryPromise((signal) =>
      fetch(`${address}${path}`, { signal }).then(async (answer) => ({ ok: answer.ok, text: await answer.text() }))
    ).pipe(Effect.timeout(NODE_TIMEOUT), Effect.option)
  const ready = yield* fetchText("/readyz")
  const page = Option.filter(yield* fetchText("/metrics"), ({ ok }) => ok)
  return {
    address,
    readyz: Option.match(ready, { onNone: () => UNREACHABLE, onSome: ({ text }) => text.trim() }),
    circuits_open: Option.match(page, {
      onNone: () => UNREACHABLE,
      onSome: ({ text }) =>
        [...text.matchAll(OPEN_CIRCUIT)].map(([, provider, mode, operation]) => `${provider} ${mode} ${operation}`)
    })
  }
})
