import { Clock, Effect, Redacted } from "effect"
import { json } from "../domain/Json.ts"
import { maskedProviderCall } from "../domain/Masking.ts"
import { captureCall } from "../runtime/CapturedCall.ts"
import type { ProviderCall, ProviderResponse, Transport } from "./Transport.ts"

export interface Call {
  readonly operation: string
  readonly method: "GET" | "POST"
  /** From the base URL on, query included. */
  readonly path: string
  /** Money in it is RawJson, or a bigint of minor units: exact to the digit. */
  readonly body?: object
  /** Beside those that every call to this account has. */
  readonly headers?: ProviderCall["headers"]
  /** A 401 is an answer to this call and does not mean the token, which money calls go on with. */
  readonly keepsToken?: true
}

/** Authenticated calls. `until` is a `Deadline`'s moment. */
export type Client = (call: Call, until: number) => Effect.Effect<ProviderResponse>

/** The time limit of a call that begins now, on the monotonic clock: milliseconds of no particular origin. */
export type Deadline = Effect.Effect<number>

const NANOS_A_MS = 1_000_000
const now = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos) / NANOS_A_MS)

export const deadlineAfter = (timeoutMs: number): Deadline => Effect.map(now, (begun) => begun + timeoutMs)

export const timeLeft = (until: number): Effect.Effect<number> => Effect.map(now, (at) => Math.max(0, until - at))

/** One call in JSON, made once. A call with a body is captured, masked. */
export const calling = (baseUrl: string, transport: Transport) => {
  const base = baseUrl.replace(/\/+$/, "")
  return Effect.fnUntraced(function* (
    { body: content, headers: own, method, operation, path }: Call,
    until: number,
    headers: ProviderCall["headers"]
  ) {
    const body = content === undefined ? null : json(content)
    const response = yield* transport.call({
      operation,
      method,
      url: base + path,
      headers: {
        ...(body === null ? {} : { "content-type": "application/json" }),
        accept: "application/json",
        "accept-encoding": "identity",
        ...headers,
        ...own
      },
      body,
      timeoutMs: yield* timeLeft(until)
    })
    if (body !== null && response._tag !== "NotSent")
      yield* captureCall(() => maskedProviderCall(body, response._tag === "Answered" ? response.body : null))
    return response
  })
}

/** Where one secret, sent with each call, opens the account. */
export const bearerClient = (baseUrl: string, secret: Redacted.Redacted, transport: Transport): Client => {
  const call = calling(baseUrl, transport)
  return (one, until) => call(one, until, { authorization: `Bearer ${Redacted.value(secret)}` })
}
