import { randomUUID } from "node:crypto"
import type { IncomingMessage, ServerResponse as Response, Server } from "node:http"
import type { Duplex } from "node:stream"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import type { HttpServerRequest } from "effect/http"
import type { ApiError } from "../../domain/errors/ApiError.ts"
import { MalformedRequest, MethodNotAllowed } from "../../domain/errors/Terminal.ts"
import type { Timer } from "../../runtime/Timer.ts"
import { errorEnvelope } from "../api/Envelope.ts"
import { makeConnectionEnd } from "./ConnectionEnd.ts"
import type { makeConnections, NoSlot } from "./ConnectionLimit.ts"
import { standardHeaders } from "./Response.ts"
import { makeUnreadLimit } from "./UnreadResponses.ts"

// An import would load everything that node:http exports, and with it an unused HTTP client of 16 MB.
export const { createServer } = process.getBuiltinModule("node:http")

/**
 * A whole request, and its headers, arrive within these times from its first byte; then the connection is closed. How long a connection is idle
 * before that byte is no part of them, except before the first request.
 */
const REQUEST_MS = 30_000
const HEADERS_MS = REQUEST_MS

/** How often Node looks for requests that take too long. */
const LOOK_MS = 5_000

export interface ListenerParts {
  readonly timer: Timer
  readonly keepAliveDrainMs: number
  /** How long a connection is kept between two requests. */
  readonly keepAliveMs: number
  readonly placeFor: ReturnType<typeof makeConnections>
  /** Called for each connection that found no place. */
  readonly onRefused: (why: NoSlot) => void
}

type Handler = (request: IncomingMessage, response: Response) => void

/** A server, and who handles its requests. */
export interface Listener {
  readonly server: Server
  /** Gives each request that is admitted to the handler: one too many does not even become a fiber. */
  readonly onRequest: (handler: Handler) => void
}

/** A server of node:http. Node's own error responses are envelopes, too, and no client holds a connection for ever. */
export const makeHttpServer = ({ keepAliveDrainMs, keepAliveMs, onRefused, placeFor, timer }: ListenerParts): Listener => {
  const server = createServer({
    requestTimeout: REQUEST_MS,
    headersTimeout: HEADERS_MS,
    keepAliveTimeout: keepAliveMs,
    connectionsCheckingInterval: LOOK_MS,
    // A missing Host is an invalid signature; the edge answers it, not Node.
    requireHostHeader: false,
    shouldUpgradeCallback: () => false
  })
  const { isAdmitted, owedOn } = makeUnreadLimit(timer)
  const { endsGently, isEnding, refuse } = makeConnectionEnd(timer, owedOn)
  server.on("connection", (socket) => {
    const place = placeFor(socket.remoteAddress ?? "")
    if (typeof place === "function") return endsGently(socket.once("close", place))
    onRefused(place)
    return socket.destroy()
  })
  keepIdle(server, timer, keepAliveDrainMs)
  server.on("clientError", (error: NodeJS.ErrnoException, socket) =>
    refuse(socket, () => rawResponse(malformed(error.code ?? "")))
  )
  server.on("connect", (_request: IncomingMessage, socket: Duplex) => refuse(socket, () => rawResponse(new MethodNotAllowed())))
  const onRequest = (handler: Handler): void => {
    const take =
      (before: (response: Response) => void): Handler =>
      (request, response) => {
        if (isEnding(request.socket) || !isAdmitted(request.socket, response)) return
        if (!server.listening) response.shouldKeepAlive = false
        before(response)
        handler(request, response)
      }
    server.on("request", take(nothing)).on("checkContinue", take(sendContinue))
    // An unknown expectation is no reason to refuse a request.
    server.on("checkExpectation", take(nothing))
  }
  return { server, onRequest }
}

const nothing = (): void => {}

/**
 * Sends "100 Continue" at once, whatever is answered. Node writes that of a response which waits for its turn into the middle of that response:
 * so it waits, too, and the connection ends after it.
 */
const sendContinue = (response: Response): void => {
  if (response.socket !== null) return response.writeContinue()
  response.shouldKeepAlive = false
  response.once("socket", () => response.headersSent || response.writeContinue())
}

/**
 * Node closes what is idle when a server stops, and a client that sends a request on it at that moment gets no answer. A connection stays for its
 * next request instead, whose answer says that it is the last, or until as long has passed as any idle connection is kept.
 */
const keepIdle = (server: Server, timer: Timer, forMs: number): void => {
  const closeIdle = server.closeIdleConnections.bind(server)
  server.closeIdleConnections = () => void (forMs === 0 ? closeIdle() : timer(forMs, closeIdle))
}

/** Calls `then` once: when the client has taken the whole response, or its connection is closed. */
export const afterResponse = (request: HttpServerRequest.HttpServerRequest, then: () => void): void => {
  const response = NodeHttpServerRequest.toServerResponse(request)
  if (response.closed || NodeHttpServerRequest.toIncomingMessage(request).socket.destroyed) then()
  else response.once("close", then)
}

/** The message of node:http that a request came in, whose body is read from it. */
export const messageOf = NodeHttpServerRequest.toIncomingMessage

/** The facts that Effect's request hides: headers that were sent twice, and a target that is not in origin form. */
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

/** An error as it is written by hand: where Node could not parse a request there is no response object. */
const rawResponse = (error: ApiError): string => {
  const { body, status } = errorEnvelope(error)
  const head = [
    `HTTP/1.1 ${status} ${error._tag}`,
    "content-type: application/json",
    `content-length: ${Buffer.byteLength(body)}`,
    ...Object.entries(standardHeaders).map(([name, value]) => `${name}: ${value}`),
    `x-request-id: ${randomUUID()}`,
    "connection: close"
  ]
  return `${head.join("\r\n")}\r\n\r\n${body}`
}
