import { Effect, Redacted } from "effect"
import { json } from "../../../src/domain/Json.ts"
import { maskedExchange } from "../../../src/domain/Masking.ts"
import type { Exchanged, Transport } from "../../../src/providers/Transport.ts"
import { leaveTrail } from "../../../src/services/ports/ProviderTrail.ts"

export interface Reached {
  /** With the version: `https://api.tumbuka.example/v1`. */
  readonly baseUrl: string
  readonly apiKey: Redacted.Redacted
  /** For one call. */
  readonly timeoutMs: number
}

export interface Call {
  readonly operation: string
  /** From the base URL on, query included. */
  readonly path: string
  /** With it the call is a POST that moves money. */
  readonly body?: object
}

export type Client = (call: Call) => Effect.Effect<Exchanged>

export const makeClient = ({ apiKey, baseUrl, timeoutMs }: Reached, transport: Transport): Client =>
  Effect.fnUntraced(function* ({ body, operation, path }) {
    const text = body === undefined ? null : json(body)
    const exchanged = yield* transport.exchange({
      operation,
      method: text === null ? "GET" : "POST",
      url: baseUrl.replace(/\/+$/, "") + path,
      headers: {
        accept: "application/json",
        "x-api-key": Redacted.value(apiKey),
        ...(text === null ? {} : { "content-type": "application/json" })
      },
      body: text,
      timeoutMs
    })
    if (text !== null && exchanged._tag !== "NotSent")
      yield* leaveTrail(maskedExchange(text, exchanged._tag === "Answered" ? exchanged.body : null))
    return exchanged
  })
