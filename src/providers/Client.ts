import { Effect, Redacted } from "effect"
import { json } from "../domain/Json.ts"
import { maskedProviderCall } from "../domain/Masking.ts"
import { captureCall } from "../runtime/CapturedCall.ts"
import { elapsed } from "../runtime/Timer.ts"
import type { ProviderCall, ProviderResponse, Transport } from "./Transport.ts"

export interface Call {
  readonly operation: string
  readonly method: "GET" | "POST"
  /** Relative to the base URL, with the query. */
  readonly path: string
  /** Amounts are RawJson, or a bigint of minor units, so that every digit is exact. */
  readonly body?: object
  /** In addition to the headers of every call to this account. */
  readonly headers?: ProviderCall["headers"]
  /** A 401 is the answer to this call and does not end the token, which money calls keep using. */
  readonly keepsToken?: true
}

/** Makes an authenticated call. `until`: its time limit from `Deadline`. */
export type Client = (call: Call, until: number) => Effect.Effect<ProviderResponse>

/** The time limit of a call that begins now, in milliseconds of the monotonic clock. */
export type Deadline = Effect.Effect<number>

export const deadlineAfter = (timeoutMs: number): Deadline => Effect.map(elapsed, (begun) => begun + timeoutMs)

export const timeLeft = (until: number): Effect.Effect<number> => Effect.map(elapsed, (at) => Math.max(0, until - at))

/** Makes one call in JSON, without a retry. The request and response of a call with a body are captured, masked. */
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

/** For accounts that are opened by one secret, sent with each call. */
export const bearerClient = (baseUrl: string, secret: Redacted.Redacted, transport: Transport): Client => {
  const call = calling(baseUrl, transport)
  return (one, until) => call(one, until, { authorization: `Bearer ${Redacted.value(secret)}` })
}
