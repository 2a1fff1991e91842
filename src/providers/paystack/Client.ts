import { Clock, Effect, Redacted } from "effect"
import { json } from "../../domain/Json.ts"
import { maskedExchange } from "../../domain/Masking.ts"
import { leaveTrail } from "../../services/ports/ProviderTrail.ts"
import type { PayoutFees } from "../ContractFees.ts"
import type { Exchanged, Transport } from "../Transport.ts"

/** One integration at Paystack. */
export interface PaystackSettings {
  /** `https://api.paystack.co` */
  readonly baseUrl: string
  /** Opens the account, chooses its mode and signs its callbacks. */
  readonly secretKey: Redacted.Redacted
  readonly payoutFees: PayoutFees
  /** Of the addresses that stand for payers who gave none. */
  readonly emailDomain: string
  /** For one call, and for a payout's recipient with it. */
  readonly timeoutMs: number
}

export interface Call {
  readonly operation: string
  readonly method: "GET" | "POST"
  /** From the base URL on, query included. */
  readonly path: string
  /** Money in it is a bigint: an integer to the digit. */
  readonly body?: object
}

/** Authenticated calls, each made once. `until` is the moment at which the answer is no longer waited for. */
export type Client = (call: Call, until: number) => Effect.Effect<Exchanged>

export const openClient = ({ baseUrl, secretKey }: PaystackSettings, transport: Transport): Client => {
  const base = baseUrl.replace(/\/+$/, "")
  return Effect.fnUntraced(function* ({ body, method, operation, path }, until) {
    const now = yield* Clock.currentTimeMillis
    const text = body === undefined ? null : json(body)
    const exchanged = yield* transport.exchange({
      operation,
      method,
      url: base + path,
      headers: {
        ...(text === null ? {} : { "content-type": "application/json" }),
        accept: "application/json",
        authorization: `Bearer ${Redacted.value(secretKey)}`
      },
      body: text,
      timeoutMs: Math.max(0, until - now)
    })
    if (text !== null && exchanged._tag !== "NotSent")
      yield* leaveTrail(maskedExchange(text, exchanged._tag === "Answered" ? exchanged.body : null))
    return exchanged
  })
}
