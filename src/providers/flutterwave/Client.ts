import { Clock, Effect, Redacted } from "effect"
import { json } from "../../domain/Json.ts"
import { maskedExchange } from "../../domain/Masking.ts"
import { leaveTrail } from "../../services/ports/ProviderTrail.ts"
import type { Exchanged, Transport } from "../Transport.ts"

/** Who sends, where a corridor wants that told (M-Pesa in Kenya). */
export interface Sender {
  readonly name: string
  readonly country: string
  readonly phone: string
}

/** One merchant account at Flutterwave. */
export interface FlutterwaveSettings {
  /** With the version: `https://api.flutterwave.com/v3`. */
  readonly baseUrl: string
  /** Chooses the account and its mode. */
  readonly secretKey: Redacted.Redacted
  /** What Flutterwave repeats in every callback. */
  readonly webhookSecretHash: Redacted.Redacted
  readonly sender: Sender | null
  /** For one call. */
  readonly timeoutMs: number
}

export interface Call {
  readonly operation: string
  readonly method: "GET" | "POST"
  /** From the base URL on, query included. */
  readonly path: string
  /** Money in it is RawJson: a decimal to the digit. */
  readonly body?: object
}

/** Authenticated calls. `until` is the moment at which the answer is no longer waited for. */
export type Client = (call: Call, until: number) => Effect.Effect<Exchanged>

/** The moment until which a call that begins now is waited for. */
export type Deadline = Effect.Effect<number>

export const makeClient = ({ baseUrl, secretKey }: FlutterwaveSettings, transport: Transport): Client => {
  const base = baseUrl.replace(/\/+$/, "")
  return Effect.fnUntraced(function* ({ body: content, method, operation, path }: Call, until: number) {
    const body = content === undefined ? null : json(content)
    const exchanged = yield* transport.exchange({
      operation,
      method,
      url: base + path,
      headers: {
        ...(body === null ? {} : { "content-type": "application/json" }),
        accept: "application/json",
        authorization: `Bearer ${Redacted.value(secretKey)}`
      },
      body,
      timeoutMs: Math.max(0, until - (yield* Clock.currentTimeMillis))
    })
    if (body !== null && exchanged._tag !== "NotSent")
      yield* leaveTrail(maskedExchange(body, exchanged._tag === "Answered" ? exchanged.body : null))
    return exchanged
  })
}
