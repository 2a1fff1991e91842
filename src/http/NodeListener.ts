import { randomUUID } from "node:crypto"
import type { IncomingMessage, Server } from "node:http"
import type { Duplex } from "node:stream"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import type { HttpServerRequest } from "effect/http"
import { MalformedRequest, MethodNotAllowed } from "../domain/errors/Terminal.ts"
import type { Timer } from "../runtime/Timer.ts"
import type { ApiError } from "../services/ports/ResponseEncoder.ts"
import type { makeConnections, NoPlace } from "./ConnectionLimit.ts"
import { errorEnvelope } from "./Envelope.ts"
import { safeHeaders } from "./Response.ts"
import { makeUnreadLimit } from "./UnreadResponses.ts"

// An import would read all that node:http exports, and with it a client of 16 MB that nobody uses.
const { createServer, ServerResponse } = process.getBuiltinModule("node:http")

/** Receiving one whole request, in milliseconds; a slower one is cut. */
const REQUEST_MS = 30_000
const HEADERS_MS = 15_000
/** Short, so that idle connections do not hold up a drain. */
const KEEP_ALIVE_MS = 5_000

/** How often connections are looked through for requests that take too long. */
const LOOK_MS = 5_000
/** A connection that was told to close has this long to do so. */
const CLOSE_MS = 2_000

export interface ListenerParts {
  readonly alarm: Timer
  readonly placeFor: ReturnType<typeof makeConnections>
  /** Told of each connection that found no place. */
  readonly onRefused: (why: NoPlace) => void
}

/** node:http, set so that what it would answer by itself is answered with the envelope, too, and that no client holds a connection for ever. */
export const makeListener = ({ alarm, placeFor, onRefused }: ListenerParts): Server => {
  const server = createServer({
    requestTimeout: REQUEST_MS,
    headersTimeout: HEADERS_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    connectionsCheckingInterval: LOOK_MS,
    // A missing Host is a signing failure and not Node's to answer.
    requireHostHeader: false,
    shouldUpgradeCallback: () => false
  })
  const answerRaw = (socket: Duplex, error: ApiError) => {
    writeRaw(socket, error)
    socket.once(
      "close",
      alarm(CLOSE_MS, () => socket.destroy())
    )
  }
  server.on("connection", (socket) => {
    const place = placeFor(socket.remoteAddress ?? "")
    if (typeof place === "function") return socket.once("close", place)
    onRefused(place)
    return socket.destroy()
  })
  limitUnread(server, alarm)
  server.on("clientError", (error: NodeJS.ErrnoException, socket) => answerRaw(socket, malformed(error.code ?? "")))
  server.on("connect", (_request: IncomingMessage, socket: Duplex) => answerRaw(socket, new MethodNotAllowed()))
  // An expectation that nobody knows is no reason not to answer.
  server.on("checkExpectation", (request, response) => server.emit("request", request, response))
  return server
}

/** No listener can keep a request from those after it: one too many must not even become a fiber. */
const limitUnread = (server: Server, alarm: Timer): void => {
  const isAdmitted = makeUnreadLimit(alarm)
  const emitter: { emit: (event: string, ...told: ReadonlyArray<unknown>) => boolean } = server
  const emit = emitter.emit.bind(server)
  emitter.emit = (event, ...told) => {
    const [, response] = told
    if (event !== "request" || !(response instanceof ServerResponse)) return emit(event, ...told)
    return !isAdmitted(response.req.socket, response) || emit(event, ...told)
  }
}

/** Calls `then` once, when the answer to a request was taken whole or its connection is closed. */
export const afterResponse = (request: HttpServerRequest.HttpServerRequest, then: () => void): void => {
  const response = NodeHttpServerRequest.toServerResponse(request)
  if (response.closed || NodeHttpServerRequest.toIncomingMessage(request).socket.destroyed) then()
  else response.once("close", then)
}

/** What Effect's request hides: duplicate headers, and a target that is not in origin form. */
export const asReceived = (request: HttpServerRequest.HttpServerRequest) => {
  const { rawHeaders, url } = NodeHttpServerRequest.toIncomingMessage(request)
  return { rawHeaders, rawTarget: url ?? "" }
}

const malformed = (code: string): MalformedRequest =>
  new MalformedRequest({ issues: [{ path: "", message: reasons[code] ?? "The request is not HTTP/1.1." }] })

const reasons: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: "The headers are too large.",
  ERR_HTTP_REQUEST_TIMEOUT: "The request did not arrive in time."
}

/** There is no response object here, only the socket: written by hand, and then closed. */
const writeRaw = (socket: Duplex, error: ApiError): void => {
  if (!socket.writable || ("bytesWritten" in socket && isResponseBegun(socket))) {
    socket.destroy()
    return
  }
  const { body, status } = errorEnvelope(error)
  const head = [
    `HTTP/1.1 ${status} ${error._tag}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    ...Object.entries(safeHeaders).map(([name, value]) => `${name}: ${value}`),
    `x-request-id: ${randomUUID()}`,
    "connection: close"
  ]
  socket.end(`${head.join("\r\n")}\r\n\r\n${body}`)
}

/** Whether an earlier response on this connection was begun and not ended: then more bytes would be read as its rest. */
const isResponseBegun = (socket: Duplex): boolean => {
  const message: unknown = Reflect.get(socket, "_httpMessage")
  return typeof message === "object" && message !== null && Reflect.get(message, "headersSent") === true
}
