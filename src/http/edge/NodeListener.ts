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

// An import would load everything that node:http exports, including an unused HTTP client of 16 MB.
export const { createServer } = process.getBuiltinModule("node:http")

/**
 * How long a request and its headers may take from the first byte; then the connection is closed. Idle time before that byte
 * does not count, except before the first request.
 */
const REQUEST_MS = 30_000
const HEADERS_MS = REQUEST_MS

/** How often Node checks for requests that take too long. */
const LOOK_MS = 5_000

export interface ListenerParts {
  readonly timer: Timer
  readonly keepAliveDrainMs: number
  /** How long an idle connection is kept open between two requests. */
  readonly keepAliveMs: number
  readonly placeFor: ReturnType<typeof makeConnections>
  /** Called for each connection that gets no slot. */
  readonly onRefused: (why: NoSlot) => void
}

type Handler = (request: IncomingMessage, response: Response) => void

/** A server and the registration of its request handler. */
export interface Listener {
  readonly server: Server
  /** Passes each admitted request to the handler. A request over the limit does not even start a fiber. */
  readonly onRequest: (handler: Handler) => void
}

/** A node:http server whose own error responses are envelopes, too, and whose connections all have time limits. */
export const makeHttpServer = ({ keepAliveDrainMs, keepAliveMs, onRefused, placeFor, timer }: ListenerParts): Listener => {
  const server = createServer({
    requestTimeout: REQUEST_MS,
    headersTimeout: HEADERS_MS,
    keepAliveTimeout: keepAliveMs,
    connectionsCheckingInterval: LOOK_MS,
    // A missing Host makes the signature invalid; the edge answers it, not Node.
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
 * Sends "100 Continue" at once, whatever the response will be. For a pipelined request, whose response waits its turn, Node
 * would write it into the middle of the response before: so it waits its turn too, and the connection closes afterwards.
 */
const sendContinue = (response: Response): void => {
  if (response.socket !== null) return response.writeContinue()
  response.shouldKeepAlive = false
  response.once("socket", () => response.headersSent || response.writeContinue())
}

/**
 * When a server stops, Node closes idle connections, and a client that sends a request at that moment gets no response. Here an
 * idle connection stays open for one more request, whose response says that it is the last, or for the drain time.
 */
const keepIdle = (server: Server, timer: Timer, forMs: number): void => {
  const closeIdle = server.closeIdleConnections.bind(server)
  server.closeIdleConnections = () => void (forMs === 0 ? closeIdle() : timer(forMs, closeIdle))
}

/** Calls `then` once: when the client has received the whole response, or when its connection is closed. */
export const afterResponse = (request: HttpServerRequest.HttpServerRequest, then: () => void): void => {
  const response = NodeHttpServerRequest.toServerResponse(request)
  if (response.closed || NodeHttpServerRequest.toIncomingMessage(request).socket.destroyed) then()
  else response.once("close", then)
}

/** The node:http message of a request, from which the body is read. */
export const messageOf = NodeHttpServerRequest.toIncomingMessage

/** Facts that Effect's request hides: headers that were sent twice, and a target that is not in origin form. */
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

/** An error response as raw bytes: when Node could not parse a request there is no response object. */
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
