import { Clock, Effect, Redacted } from "effect"
import { json } from "../../domain/Json.ts"
import { maskedExchange } from "../../domain/Masking.ts"
import { leaveTrail } from "../../services/ports/ProviderTrail.ts"
import type { Exchanged, Transport } from "../Transport.ts"

/** How one account at pawaPay is reached. */
export interface Reached {
  /** With the version: `https://api.pawapay.io/v2`. */
  readonly baseUrl: string
  readonly apiToken: Redacted.Redacted
}

export interface Call {
  readonly operation: string
  readonly method: "GET" | "POST"
  /** From the base URL on. */
  readonly path: string
  readonly body?: object
}

/** Authenticated calls. `until` is the moment at which the answer is no longer waited for. */
export type Client = (call: Call, until: number) => Effect.Effect<Exchanged>

export const makeClient = ({ apiToken, baseUrl }: Reached, transport: Transport): Client => {
  const base = baseUrl.replace(/\/+$/, "")
  return Effect.fnUntraced(function* ({ body, method, operation, path }, until) {
    const text = body === undefined ? null : json(body)
    const exchanged = yield* transport.exchange({
      operation,
      method,
      url: base + path,
      headers: {
        accept: "application/json",
        authorization: `Bearer ${Redacted.value(apiToken)}`,
        ...(text === null ? {} : { "content-type": "application/json" })
      },
      body: text,
      timeoutMs: Math.max(0, until - (yield* Clock.currentTimeMillis))
    })
    if (text !== null && exchanged._tag !== "NotSent")
      yield* leaveTrail(maskedExchange(text, exchanged._tag === "Answered" ? exchanged.body : null))
    return exchanged
  })
}
