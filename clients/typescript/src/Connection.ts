import { aborted, type CallKind, defaultRetries, type Retries, timed, withRetries } from "./Attempts.ts"
import { GatewayError } from "./Errors.ts"
import { parse, stringify } from "./Json.ts"
import type { Operations } from "./Schema.ts"
import { encoded, isKeyPart, type Key, type Query, queryText, signedHeaders } from "./Signing.ts"

export interface GatewayOptions {
  /** The gateway's address, such as `https://api.gateway.example`. */
  readonly url: string
  readonly key: Key
  /** How long one attempt may take: 40 s unless you say otherwise. The gateway answers within 30 s. */
  readonly timeoutMs?: number
  readonly retries?: Partial<Retries>
  /** Instead of the runtime's own. */
  readonly fetch?: typeof fetch
}

export interface CallOptions {
  readonly signal?: AbortSignal | undefined
}

export interface Call {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: Query
  readonly body?: unknown
  /** Makes the call one that moves money. */
  readonly idempotencyKey?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly signal?: AbortSignal | undefined
  /** Once it is aborted no attempt begins; one that is under way is waited for. */
  readonly stop?: AbortSignal | undefined
  /** Told of the attempt, counted from 1, whose answer was kept from an earlier request with the same key. */
  readonly onReplay?: ((attempt: number) => void) | undefined
}

/** Sends one signed call until its answer is known, and gives its `data`. */
export type Connection = <Name extends keyof Operations>(name: Name, call?: Call) => Promise<Operations[Name]["data"]>

const TIMEOUT_MS = 40_000

const keyParts = ["app_id", "key_id", "api_key", "signing_secret"] as const

/** Calls without a key that have their effect each time. */
const once: ReadonlySet<keyof Operations> = new Set([
  "POST /v1/collections/otp",
  "POST /v1/webhooks/endpoint/rotate-secret",
  "POST /v1/webhooks/endpoint/test",
  "POST /v1/webhooks/endpoints/{name}/rotate-secret",
  "POST /v1/webhooks/endpoints/{name}/test",
  "POST /v1/webhooks/deliveries/{id}/redeliver"
] as const)

export const connection = ({ fetch: send = fetch, key, retries, timeoutMs = TIMEOUT_MS, url }: GatewayOptions): Connection => {
  const { origin, pathname } = new URL(url)
  if (pathname !== "/") throw new TypeError(`the gateway's address has no path: ${url}`)
  const wrong = keyParts.find((part) => !isKeyPart(key[part]))
  if (wrong !== undefined)
    throw new TypeError(`the key's ${wrong} is not as it was printed: is there a blank or a newline in it?`)
  const policy = { ...defaultRetries, ...retries }
  return async (name, call = {}) => {
    const { idempotencyKey, onReplay, signal, stop } = call
    const kind = idempotencyKey !== undefined ? "money" : once.has(name) ? "once" : "question"
    const [method = "", template = ""] = name.split(" ")
    const target = new URL(
      template.replace(/\{(\w+)\}/g, (_, param) => encoded(call.params?.[param] ?? "")),
      origin
    )
    const query = queryText(call.query ?? {})
    target.search = query
    // Serialized once: what is signed is what is sent, in every attempt.
    const body = call.body === undefined ? "" : stringify(call.body)
    const unsigned = { method, host: target.host, path: target.pathname, query, body }
    const headers = {
      ...call.headers,
      ...(body === "" ? {} : { "Content-Type": "application/json" }),
      ...(idempotencyKey === undefined ? {} : { "Idempotency-Key": idempotencyKey })
    }
    let attempts = 0
    const attempt = async () => {
      attempts++
      const signed = { ...headers, ...(await signedHeaders(key, unsigned)) }
      // A header that cannot be sent is the caller's mistake, and fails here.
      const request = new Request(target, { method, headers: signed, redirect: "manual", ...(body === "" ? {} : { body }) })
      const ask = (limited: AbortSignal): Promise<Answer> => answerTo(send, request, limited)
      const answer = await timed(timeoutMs, signal, ask).catch((cause: unknown): Answer => {
        if (signal?.aborted === true) throw kind === "question" ? signal.reason : aborted(signal.reason)
        return { cause }
      })
      if (isReplayed(answer)) onReplay?.(attempts)
      return dataOf<Operations[typeof name]["data"]>(answer, kind)
    }
    return withRetries(attempt, kind, policy, anyOf(signal, stop))
  }
}

const anyOf = (one: AbortSignal | undefined, other: AbortSignal | undefined): AbortSignal | undefined =>
  one === undefined || other === undefined ? (one ?? other) : AbortSignal.any([one, other])

interface Answer {
  readonly status?: number
  readonly text?: string
  readonly headers?: Headers | undefined
  readonly cause?: unknown
}

const answerTo = async (send: typeof fetch, request: Request, signal: AbortSignal): Promise<Answer> => {
  const response = await send(request, { signal })
  return { status: response.status, text: await response.text(), headers: response.headers }
}

/** The `data` of a success; every other answer is thrown. What is not the gateway's envelope, as a proxy's own error, is no answer. */
const dataOf = <Data>({ cause, headers, status = 0, text = "" }: Answer, kind: CallKind): Data => {
  const envelope = envelopeOf<Data>(text, status)
  if (envelope !== undefined && "data" in envelope) return envelope.data
  const { error } = envelope ?? {}
  const wait = headers?.get("Retry-After") ?? error?.details.retry_after_seconds
  const about = {
    status: status === 0 ? undefined : status,
    requestId: headers?.get("X-Request-Id") ?? undefined,
    retryAfterSeconds: wait === undefined ? undefined : secondsOf(wait),
    isReplayed: isReplayed({ headers })
  }
  if (error === undefined)
    throw new GatewayError({
      ...about,
      class: kind === "question" ? "retriable" : "ambiguous",
      code: "no_answer",
      message: status === 0 ? String(cause) : `HTTP ${status} without the gateway's envelope`,
      details: {},
      cause
    })
  throw new GatewayError({ ...about, ...error, class: error.terminal ? "terminal" : error.retriable ? "retriable" : "ambiguous" })
}

const isReplayed = ({ headers }: Answer): boolean => headers?.get("Idempotency-Replayed") === "true"

interface WireError {
  readonly code: string
  readonly message: string
  readonly terminal: boolean
  readonly retriable: boolean
  readonly ambiguous: boolean
  readonly details: { readonly retry_after_seconds?: number }
}

type Envelope<Data> = { readonly code: number } & ({ readonly data: Data } | { readonly error: WireError })

const envelopeOf = <Data>(text: string, status: number): Envelope<Data> | undefined => {
  try {
    const answer = parse(text)
    return isEnvelope<Data>(answer, status) ? answer : undefined
  } catch {
    return undefined
  }
}

/** What `data` holds is what the description of the interface says. */
const isEnvelope = <Data>(answer: unknown, status: number): answer is Envelope<Data> =>
  isObject(answer) && answer["code"] === status && (status < 300 ? "data" in answer : isError(answer["error"]))

const isError = (error: unknown): boolean =>
  isObject(error) &&
  typeof error["code"] === "string" &&
  isObject(error["details"]) &&
  [error["terminal"], error["retriable"], error["ambiguous"]].filter((flag) => flag === true).length === 1

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> => typeof value === "object" && value !== null

/** `Retry-After` is a number of seconds or a date. */
const secondsOf = (wait: string | number): number => {
  const seconds = Number.isNaN(Number(wait)) ? (Date.parse(String(wait)) - Date.now()) / 1000 : Number(wait)
  return Number.isNaN(seconds) ? 0 : Math.max(0, seconds)
}
