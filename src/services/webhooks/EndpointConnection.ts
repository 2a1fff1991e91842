import { isIP, type LookupFunction } from "node:net"
import { Agent, buildConnector, type Dispatcher } from "@effect/platform-node/Undici"
import type { Layer } from "effect"
import { Effect } from "effect"
import { CUT_OFF, NOT_LISTENING, NOT_REACHED, noAnswerWithin } from "../../domain/Delivery.ts"
import { ATTEMPT_AT_MOST_MS } from "../../domain/WebhookRetrySchedule.ts"
import { inClientSpan } from "../../runtime/ClientSpan.ts"
import { layerOf } from "../../runtime/ServiceLayer.ts"
import { makeTimer, type Timer } from "../../runtime/Timer.ts"
import { annotateTraced } from "../../runtime/Tracing.ts"
import { Policy } from "../ports/Policy.ts"
import { type EndpointResponse, type SignedDelivery, WebhookSender } from "../ports/WebhookSender.ts"
import { addressProblem, endpointUrlProblem, isLoopback, unbracketed } from "./EndpointAddress.ts"
import { type EndpointNames, endpointNames } from "./EndpointNames.ts"

/** The time limits of one attempt, in milliseconds. */
interface AttemptTimeouts {
  /** For resolving the name. */
  readonly nameMs: number
  /** For DNS, TCP and TLS together. */
  readonly connectMs: number
  /** From the attempt's start to the end of the response. */
  readonly wholeMs: number
}
const usualBounds: AttemptTimeouts = { nameMs: 3_000, connectMs: 5_000, wholeMs: ATTEMPT_AT_MOST_MS }
/** How much of a response is read and stored. */
const EXCERPT_BYTES = 4096
/** How many deliveries all nodes together lease for one endpoint, and so send to it at once. */
export const CONNECTIONS_PER_ENDPOINT = 8

/** The most connections to one origin, which may have many endpoints: one for each concurrent delivery, so that none waits. */
const CONNECTIONS_PER_ORIGIN = 256
/** How many parsed URLs are cached. */
const URLS_CACHED = 1_000

/**
 * Connects to tenants' endpoints. The address is checked in the connector, because an IP literal never reaches the lookup, and
 * in the lookup, because a name can resolve to anything. `servers`: the DNS servers; by default the machine's. Undici is used
 * directly, so that no trace headers of ours are sent.
 */
export const endpointConnection = (
  { connectMs, nameMs, wholeMs }: AttemptTimeouts = usualBounds,
  servers: ReadonlyArray<string> = []
): Layer.Layer<WebhookSender, never, Policy> =>
  layerOf(WebhookSender)(function* () {
    const { webhookAllowLoopback } = yield* Policy
    const timer = yield* makeTimer
    const names = yield* Effect.acquireRelease(
      Effect.sync(() => endpointNames({ timer, withinMs: nameMs, servers, allowLoopback: webhookAllowLoopback })),
      ({ close }) => Effect.sync(close)
    )
    const connect = guardedConnector(webhookAllowLoopback, connectMs, names)
    const agent = yield* Effect.acquireRelease(
      Effect.sync(() => new Agent({ connect, connections: CONNECTIONS_PER_ORIGIN, allowH2: false })),
      (agent) => Effect.promise(() => agent.destroy())
    )
    const targetOf = targets(webhookAllowLoopback)
    const post = ({ body, headers, url }: SignedDelivery): Effect.Effect<EndpointResponse> => {
      const target = targetOf(url)
      if (typeof target === "string")
        return Effect.succeed({ status: null, excerpt: NOT_REACHED, retryAfter: null, problem: target })
      return ask({ agent, timer, wholeMs }, { ...target, method: "POST", headers, body })
    }
    return {
      post: (delivery) =>
        inClientSpan({ method: "POST", url: delivery.url, showsPath: false })(
          Effect.tap(post(delivery), ({ status }) =>
            annotateTraced(() => (status === null ? { "error.type": "no_answer" } : { "http.response.status_code": status }))
          )
        )
    }
  })

export const EndpointConnection = endpointConnection()

interface Target {
  readonly origin: string
  readonly path: string
}

/** The target of a URL, or why nothing may be sent there. */
const targets = (allowLoopback: boolean) => {
  const known = new Map<string, Target | string>()
  return (url: string): Target | string => {
    const last = known.get(url)
    if (last !== undefined) return last
    const target = endpointUrlProblem(url, allowLoopback) ?? targetOf(new URL(url))
    for (const oldest of known.size < URLS_CACHED ? [] : known.keys().take(1)) known.delete(oldest)
    known.set(url, target)
    return target
  }
}

const targetOf = ({ origin, pathname, search }: URL): Target => ({ origin, path: `${pathname}${search}` })

interface Received {
  status: number | null
  retryAfter: string | null
  bytes: number
}

interface Sending {
  readonly agent: Agent
  readonly timer: Timer
  readonly wholeMs: number
}

/**
 * Sends the request and reads the first bytes of its response, nothing beyond them. Once the status has arrived, a later
 * failure does not change whether the event was accepted.
 */
const ask = ({ agent, timer, wholeMs }: Sending, request: Dispatcher.DispatchOptions): Effect.Effect<EndpointResponse> =>
  Effect.callback((resume) => {
    const received: Received = { status: null, retryAfter: null, bytes: 0 }
    // Its first bytes are copied: a piece of a response keeps everything in memory that arrived with it.
    const first = Buffer.alloc(EXCERPT_BYTES)
    let sent: Dispatcher.DispatchController | undefined
    let isOver = false
    const end = (problem: string, excerpt = CUT_OFF, unsent = NOT_REACHED) => {
      if (isOver) return
      isOver = true
      cancelTimeout()
      const { retryAfter, status } = received
      // An earlier failure reveals the endpoint's name, address and certificate: the tenant gets our own sentence instead.
      const without = { status, excerpt: sent === undefined ? unsent : excerpt, retryAfter, problem }
      const response =
        status === null ? without : { status, excerpt: textOf(first.subarray(0, received.bytes)), retryAfter, problem: null }
      // Not on the stack of the parser, which is still processing these bytes.
      queueMicrotask(() => resume(Effect.succeed(response)))
    }
    const giveUp = (problem: string) => {
      end(problem, problem)
      sent?.abort(new Error("nobody listens any more"))
    }
    const cancelTimeout = timer(wholeMs, () => giveUp(noAnswerWithin(wholeMs)))
    agent.dispatch(request, {
      onRequestStart: (controller) => {
        sent = controller
        if (isOver) giveUp("")
      },
      onResponseStart: (_controller, status, headers) => {
        // Skip 1xx responses.
        if (status < 200) return
        const retryAfter = headers["retry-after"]
        received.status = status
        received.retryAfter = typeof retryAfter === "string" ? retryAfter : null
      },
      onResponseData: (_controller, chunk) => {
        received.bytes += chunk.copy(first, received.bytes)
        if (received.bytes >= EXCERPT_BYTES) giveUp("")
      },
      onResponseEnd: () => end(""),
      onResponseError: (_controller, error) => end(reasonOf(error), CUT_OFF, isRefusedHere(error) ? NOT_LISTENING : NOT_REACHED)
    })
    return Effect.sync(() => giveUp(""))
  })

/** Text that PostgreSQL can store. */
const textOf = (bytes: Buffer): string => bytes.toString("utf8").replaceAll("\u0000", "\uFFFD")

const guardedConnector = (allowLoopback: boolean, connectMs: number, names: EndpointNames): buildConnector.connector => {
  const check = (protocol: string) => (address: string) => addressProblem(address, protocol, allowLoopback)
  const connector = (protocol: string) =>
    buildConnector({ allowH2: false, timeout: connectMs, lookup: guardedLookup(check(protocol), names) })
  const secure = connector("https:")
  const plain = connector("http:")
  return (options, callback) => {
    const host = unbracketed(options.hostname)
    const problem = isIP(host) === 0 ? undefined : check(options.protocol)(host)
    if (problem !== undefined) return callback(new Error(problem), null)
    return options.protocol === "https:" ? secure(options, callback) : plain(options, callback)
  }
}

/** One forbidden address refuses the whole name: a name with both kinds of addresses is an attack, not a mistake. */
const guardedLookup =
  (check: (address: string) => string | undefined, names: EndpointNames): LookupFunction =>
  (hostname, options, callback) => {
    names.resolve(hostname, (resolved) => {
      if (resolved instanceof Error) return callback(resolved, "")
      const problem = resolved.map(({ address }) => check(address)).find((found) => found !== undefined)
      const [first] = resolved
      if (first === undefined || problem !== undefined) return callback(new Error(problem ?? `${hostname} has no address`), "")
      if (options.all === true) return callback(null, [...resolved])
      callback(null, first.address, first.family)
    })
  }

/** For a name with several addresses: the error of the first. */
const firstOf = (cause: unknown): unknown => (cause instanceof AggregateError ? (cause.errors[0] ?? cause) : cause)

const reasonOf = (cause: unknown): string => {
  const first = firstOf(cause)
  return first instanceof Error ? first.message : "the connection failed"
}

/** Loopback is connected to only in development. */
const isRefusedHere = (cause: unknown): boolean => {
  const first = firstOf(cause)
  if (!(first instanceof Error && "code" in first && "address" in first)) return false
  return first.code === "ECONNREFUSED" && typeof first.address === "string" && isLoopback(first.address)
}
