import { type LookupAddress, lookup as systemLookup } from "node:dns"
import { isIP, type LookupFunction } from "node:net"
import { Agent, buildConnector, type Dispatcher } from "@effect/platform-node/Undici"
import { Effect, Layer, Option } from "effect"
import { addressProblem, endpointUrlProblem, unbracketed } from "./EndpointAddress.ts"
import { Policy } from "./ports/Policy.ts"
import { type EndpointAnswer, type SignedDelivery, WebhookSender } from "./ports/WebhookSender.ts"

/** Name lookup, TCP and TLS together. */
const CONNECT_TIMEOUT_MS = 5_000
/** One attempt from its start to the end of the answer. */
export const WHOLE_TIMEOUT_MS = 15_000
/** As much of an answer as is read and kept. */
const EXCERPT_BYTES = 4096
/** One endpoint is never sent more than this at once. */
export const CONNECTIONS_PER_ENDPOINT = 8

/**
 * Dials tenants. The address is checked in the connector, because an IP literal never reaches the lookup, and in the lookup,
 * because a name can resolve to anything. Undici is used bare, so that none of our trace headers leaves.
 */
export const TenantConnection: Layer.Layer<WebhookSender, never, Policy> = Layer.effect(
  WebhookSender,
  Effect.gen(function* () {
    const { webhookAllowLoopback } = yield* Policy
    const agent = yield* Effect.acquireRelease(
      Effect.sync(() => new Agent({ connect: guardedConnector(webhookAllowLoopback), connections: CONNECTIONS_PER_ENDPOINT })),
      (agent) => Effect.promise(() => agent.destroy())
    )
    return {
      post: Effect.fn("WebhookSender.post", { kind: "client" })(function* (delivery) {
        const problem = endpointUrlProblem(delivery.url, webhookAllowLoopback)
        if (problem !== undefined) return silence(problem)
        const answer = yield* Effect.tryPromise({ try: (signal) => exchange(agent, delivery, signal), catch: reasonOf }).pipe(
          Effect.catch((reason) => Effect.succeed(silence(reason))),
          Effect.timeoutOption(WHOLE_TIMEOUT_MS)
        )
        return Option.getOrElse(answer, () => silence(`no answer within ${WHOLE_TIMEOUT_MS} ms`))
      })
    }
  })
)

const silence = (excerpt: string): EndpointAnswer => ({ status: null, excerpt, retryAfter: null })

const exchange = async (agent: Agent, delivery: SignedDelivery, signal: AbortSignal): Promise<EndpointAnswer> => {
  const { body, headers, url } = delivery
  const answer = await agent.request({ ...target(url), method: "POST", headers, body, signal })
  const retryAfter = answer.headers["retry-after"]
  return {
    status: answer.statusCode,
    excerpt: await excerptOf(answer.body),
    retryAfter: typeof retryAfter === "string" ? retryAfter : null
  }
}

const target = (url: string): { readonly origin: string; readonly path: string } => {
  const { origin, pathname, search } = new URL(url)
  return { origin, path: `${pathname}${search}` }
}

/** The first bytes as text that PostgreSQL can keep; what is beyond them is not read. */
const excerptOf = async (body: Dispatcher.ResponseData["body"]): Promise<string> => {
  const chunks: Array<Buffer> = []
  let size = 0
  // An answer that is cut off after its status is still an answer: what was read of it stands.
  body.on("error", () => {})
  try {
    for await (const chunk of body) {
      const bytes = Buffer.from(chunk)
      chunks.push(bytes)
      size += bytes.length
      if (size >= EXCERPT_BYTES) break
    }
  } catch (cause) {
    if (size === 0) return reasonOf(cause)
  }
  return Buffer.concat(chunks).subarray(0, EXCERPT_BYTES).toString("utf8").replaceAll("\u0000", "\uFFFD")
}

const guardedConnector = (allowLoopback: boolean): buildConnector.connector => {
  const check = (protocol: string) => (address: string) => addressProblem(address, protocol, allowLoopback)
  const connector = (protocol: string) =>
    buildConnector({ allowH2: false, timeout: CONNECT_TIMEOUT_MS, lookup: guardedLookup(check(protocol)) })
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
