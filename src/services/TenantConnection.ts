import { type LookupAddress, lookup as systemLookup } from "node:dns"
import { isIP, type LookupFunction } from "node:net"
import { Agent, buildConnector, type Dispatcher } from "@effect/platform-node/Undici"
import { Clock, Effect, Layer, Option, Result } from "effect"
import { addressProblem, endpointUrlProblem, unbracketed } from "./EndpointAddress.ts"
import { Policy } from "./ports/Policy.ts"
import { type EndpointAnswer, type SignedDelivery, WebhookSender } from "./ports/WebhookSender.ts"

/** How long one attempt may take, in milliseconds. */
export interface AttemptBounds {
  /** Name lookup, TCP and TLS together. */
  readonly connectMs: number
  /** From the attempt's start to the end of the answer. */
  readonly wholeMs: number
}
const usualBounds: AttemptBounds = { connectMs: 5_000, wholeMs: 15_000 }
/** As much of an answer as is read and kept. */
const EXCERPT_BYTES = 4096
/** One endpoint is never sent more than this at once. */
export const CONNECTIONS_PER_ENDPOINT = 8

/**
 * Dials tenants. The address is checked in the connector, because an IP literal never reaches the lookup, and in the lookup,
 * because a name can resolve to anything. Undici is used bare, so that none of our trace headers leaves.
 */
export const tenantConnection = ({ connectMs, wholeMs }: AttemptBounds): Layer.Layer<WebhookSender, never, Policy> =>
  Layer.effect(
    WebhookSender,
    Effect.gen(function* () {
      const { webhookAllowLoopback } = yield* Policy
      const connect = guardedConnector(webhookAllowLoopback, connectMs)
      const agent = yield* Effect.acquireRelease(
        Effect.sync(() => new Agent({ connect, connections: CONNECTIONS_PER_ENDPOINT })),
        (agent) => Effect.promise(() => agent.destroy())
      )
      const late = `no answer within ${wholeMs} ms`
      return {
        post: Effect.fn("WebhookSender.post", { kind: "client" })(function* (delivery) {
          const problem = endpointUrlProblem(delivery.url, webhookAllowLoopback)
          if (problem !== undefined) return silence(problem)
          const until = (yield* Clock.currentTimeMillis) + wholeMs
          const asked = Effect.tryPromise({ try: (signal) => ask(agent, delivery, signal), catch: reasonOf })
          const answer = yield* asked.pipe(
            Effect.timeoutOrElse({ duration: wholeMs, orElse: () => Effect.fail(late) }),
            Effect.result
          )
          if (Result.isFailure(answer)) return silence(answer.failure)
          const left = Math.max(0, until - (yield* Clock.currentTimeMillis))
          return yield* read(answer.success, left)
        })
      }
    })
  )

export const TenantConnection = tenantConnection(usualBounds)

const silence = (excerpt: string): EndpointAnswer => ({ status: null, excerpt, retryAfter: null })

const ask = (agent: Agent, { body, headers, url }: SignedDelivery, signal: AbortSignal): Promise<Dispatcher.ResponseData> =>
  agent.request({ ...target(url), method: "POST", headers, body, signal })

/** The status has been said: how the rest of the answer goes changes nothing about whether the event was taken. */
const read = ({ body, headers, statusCode }: Dispatcher.ResponseData, withinMs: number): Effect.Effect<EndpointAnswer> => {
  const chunks: Array<Buffer> = []
  const retryAfter = headers["retry-after"]
  return Effect.promise(() => collect(body, chunks)).pipe(
    Effect.timeoutOption(withinMs),
    Effect.ensuring(Effect.sync(() => body.destroy())),
    Effect.map((problem) => ({
      status: statusCode,
      excerpt: chunks.length === 0 ? (Option.getOrUndefined(problem) ?? "") : textOf(chunks),
      retryAfter: typeof retryAfter === "string" ? retryAfter : null
    }))
  )
}

const target = (url: string): { readonly origin: string; readonly path: string } => {
  const { origin, pathname, search } = new URL(url)
  return { origin, path: `${pathname}${search}` }
}

/** Reads the first bytes, and nothing beyond them; answers what went wrong meanwhile. */
const collect = async (body: Dispatcher.ResponseData["body"], chunks: Array<Buffer>): Promise<string | undefined> => {
  let size = 0
  body.on("error", () => {})
  try {
    for await (const chunk of body) {
      const bytes = Buffer.from(chunk)
      chunks.push(bytes)
      size += bytes.length
      if (size >= EXCERPT_BYTES) return undefined
    }
    return undefined
  } catch (cause) {
    return reasonOf(cause)
  }
}

/** Text that PostgreSQL can keep. */
const textOf = (chunks: ReadonlyArray<Buffer>): string =>
  Buffer.concat(chunks).subarray(0, EXCERPT_BYTES).toString("utf8").replaceAll("\u0000", "\uFFFD")

const guardedConnector = (allowLoopback: boolean, connectMs: number): buildConnector.connector => {
  const check = (protocol: string) => (address: string) => addressProblem(address, protocol, allowLoopback)
  const connector = (protocol: string) =>
    buildConnector({ allowH2: false, timeout: connectMs, lookup: guardedLookup(check(protocol)) })
  const secure = connector("https:")
  const plain = connector("http:")
  return (options, callback) => {
    const host = unbracketed(options.hostname)
    const problem = isIP(host) === 0 ? undefined : check(options.protocol)(host)
    if (problem !== undefined) return callback(new Error(problem), null)
    return options.protocol === "https:" ? secure(options, callback) : plain(options, callback)
  }
}

/** One address that may not be dialled refuses the whole name: a name that points both ways is an attack, not a mistake. */
const guardedLookup =
  (check: (address: string) => string | undefined): LookupFunction =>
  (hostname, options, callback) => {
    systemLookup(hostname, { ...options, all: true }, (error, addresses: ReadonlyArray<LookupAddress>) => {
      if (error !== null) return callback(error, "")
      const problem = addresses.map(({ address }) => check(address)).find((found) => found !== undefined)
      const [first] = addresses
      if (first === undefined || problem !== undefined) return callback(new Error(problem ?? `${hostname} has no address`), "")
      if (options.all === true) return callback(null, [...addresses])
      callback(null, first.address, first.family)
    })
  }

const reasonOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return "the connection failed"
  const [first] = cause instanceof AggregateError ? cause.errors : []
  return first instanceof Error ? first.message : cause.message
}
