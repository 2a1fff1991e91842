import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { connect, type Socket } from "node:net"
import { makeHttpServer } from "../../src/http/edge/NodeListener.ts"

/** A timer that a listener has set and not cancelled. */
export interface SetTimer {
  readonly ms: number
  readonly fire: () => void
}

export interface BareListener {
  readonly server: Server
  readonly port: number
  readonly timers: ReadonlyArray<SetTimer>
  readonly stop: () => void
}

export type Respond = (response: ServerResponse, request: IncomingMessage) => void

/** A listener without an edge behind it: `respond` answers its requests, and the test fires its timers. */
export const bareListener = async (respond: Respond, keepAliveDrainMs = 0): Promise<BareListener> => {
  const timers: Array<SetTimer> = []
  const { onRequest, server } = makeHttpServer({
    timer: (ms, fire) => {
      const one = { ms, fire }
      timers.push(one)
      return () => void (timers.includes(one) && timers.splice(timers.indexOf(one), 1))
    },
    keepAliveDrainMs,
    keepAliveMs: 75_000,
    placeFor: () => () => {},
    onRefused: () => {}
  })
  onRequest((request, response) => respond(response, request))
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const address = server.address()
  const port = typeof address === "object" && address !== null ? address.port : 0
  const stop = () => {
    server.closeAllConnections()
    server.close()
  }
  return { server, port, timers, stop }
}

export const opened = (port: number, options: { readonly allowHalfOpen?: boolean } = {}): Promise<Socket> =>
  new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", ...options }, () => resolve(socket)).on("error", reject)
  })

export const closed = (socket: Socket): Promise<void> =>
  new Promise((resolve) =>
    socket
      .removeAllListeners("error")
      .on("error", () => {})
      .once("close", () => resolve())
  )

export const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))
