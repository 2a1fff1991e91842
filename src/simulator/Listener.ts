import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { Effect, Exit, FiberSet, type Scope } from "effect"
import type { SimulatedRequest, SimulatedResponse } from "./SimulatedProvider.ts"

// An import would load everything that node:http exports, including an unused client of 16 MB.
const { createServer } = process.getBuiltinModule("node:http")

/** One port of the simulator. When closed, it refuses connections; it can be opened again. */
export interface Listener {
  /** Port 0 lets the system choose. Returns the port, or nothing when it is taken. */
  readonly open: (port: number) => Effect.Effect<number | undefined>
  /** Also cuts all open connections, idle or not. */
  readonly close: Effect.Effect<void>
}

const MAXIMUM_BODY_BYTES = 1024 * 1024
/** Longer than clients keep idle connections: so the clients close them, and no request meets a closing socket. */
const KEEP_ALIVE_MS = 75_000

export const makeListener = Effect.fn("makeListener")(function* (
  host: string,
  handle: (request: SimulatedRequest) => Effect.Effect<SimulatedResponse>
): Effect.fn.Return<Listener, never, Scope.Scope> {
  const requests = yield* FiberSet.make<void>()
  const run = yield* FiberSet.runtime(requests)()
  const server = createServer({ keepAliveTimeout: KEEP_ALIVE_MS }, (incoming, response) => {
    run(serve(incoming, response, handle))
  })
  const close = Effect.promise(() => closeServer(server))
  yield* Effect.addFinalizer(() => close)
  return { open: (port) => Effect.promise(() => listen(server, host, port)), close }
})

const serve = Effect.fnUntraced(function* (
  incoming: IncomingMessage,
  response: ServerResponse,
  handle: (request: SimulatedRequest) => Effect.Effect<SimulatedResponse>
) {
  const body = yield* Effect.promise(() => readBody(incoming))
  if (body === undefined) return
  const exit = yield* Effect.exit(handle(simulatedRequest(incoming, body)))
  if (Exit.isFailure(exit)) {
    yield* Effect.logError("the simulator failed to answer", exit.cause)
    return write(response, { kind: "response", status: 500, contentType: "text/plain", body: "simulator defect" })
  }
  write(response, exit.value)
})

const write = (outgoing: ServerResponse, response: SimulatedResponse): void => {
  switch (response.kind) {
    case "silence":
      return
    case "reset":
      outgoing.socket?.resetAndDestroy()
      return
    case "response": {
      const bytes = Buffer.from(response.body)
      outgoing.writeHead(response.status, {
        "content-type": response.contentType,
        "content-length": bytes.length,
        ...(response.retryAfter === undefined ? {} : { "retry-after": response.retryAfter })
      })
      outgoing.end(bytes)
    }
  }
}

const simulatedRequest = (incoming: IncomingMessage, body: string): SimulatedRequest => {
  const target = incoming.url ?? "/"
  const at = target.indexOf("?")
  const path = at === -1 ? target : target.slice(0, at)
  return {
    method: incoming.method ?? "GET",
    path: path.replace(/\/{2,}/g, "/"),
    query: new URLSearchParams(at === -1 ? "" : target.slice(at + 1)),
    header: (name) => {
      const value = incoming.headers[name.toLowerCase()]
      return typeof value === "string" ? value : value?.[0]
    },
    body
  }
}

/** Nothing when the client left or sent too much. */
const readBody = (incoming: IncomingMessage): Promise<string | undefined> =>
  new Promise((resolve) => {
    const chunks: Array<Buffer> = []
    let size = 0
    incoming.on("data", (chunk: Buffer) => {
      size += chunk.length
      chunks.push(chunk)
      if (size > MAXIMUM_BODY_BYTES) incoming.destroy()
    })
    incoming.on("end", () => resolve(Buffer.concat(chunks).toString("utf8")))
    incoming.on("error", () => resolve(undefined))
    incoming.on("close", () => resolve(undefined))
  })

const listen = (server: Server, host: string, port: number): Promise<number | undefined> =>
  new Promise((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) => {
      server.off("listening", accept)
      if (error.code === "EADDRINUSE") resolve(undefined)
      else reject(error)
    }
    const accept = () => {
      server.off("error", refuse)
      const address = server.address()
      resolve(typeof address === "object" && address !== null ? address.port : undefined)
    }
    server.once("error", refuse)
    server.once("listening", accept)
    server.listen(port, host)
  })

const closeServer = (server: Server): Promise<void> =>
  new Promise((resolve) => {
    if (!server.listening) return resolve()
    server.close(() => resolve())
    server.closeAllConnections()
  })
