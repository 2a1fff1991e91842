import { parse } from "./Json.ts"
import type { Event } from "./Schema.ts"

/** Why a delivery was not believed. */
export type WebhookProblem =
  | "secret_malformed"
  | "header_missing"
  | "timestamp_outside_window"
  | "signature_wrong"
  | "body_unreadable"

export class WebhookError extends Error {
  override readonly name = "WebhookError"
  readonly problem: WebhookProblem

  constructor(problem: WebhookProblem, cause?: unknown) {
    super(problem, { cause })
    this.problem = problem
  }
}

/** The headers of a `Request`, or those of Node's `IncomingMessage`, or an object of another host, which may have kept the case of a proxy. */
type IncomingHeaders = Headers | Readonly<Record<string, string | ReadonlyArray<string> | undefined>>

interface Delivery {
  /** `whsec_…`; two while you exchange one for another. */
  readonly secret: string | ReadonlyArray<string>
  readonly headers: IncomingHeaders
  /** As it came. A body that was parsed and printed again has other bytes. */
  readonly body: Uint8Array | string
  readonly toleranceSeconds?: number
}

const TOLERANCE_SECONDS = 300
/** By Standard Webhooks. */
const SHORTEST_SECRET_BYTES = 24

/**
 * The event of a delivery that the gateway signed (Standard Webhooks 1.0). It may come twice and in any order: know it by its `id`, and of
 * two records of one reference keep the higher `version`.
 */
export const verifyWebhook = async ({
  body,
  headers,
  secret,
  toleranceSeconds = TOLERANCE_SECONDS
}: Delivery): Promise<Event> => {
  const id = headerOf(headers, "webhook-id")
  const timestamp = headerOf(headers, "webhook-timestamp")
  const signatures = headerOf(headers, "webhook-signature").split(" ").flatMap(signatureBytes)
  // Written so that what is no number is outside.
  if (!/^\d+$/.test(timestamp) || !(Math.abs(Date.now() / 1000 - Number(timestamp)) <= toleranceSeconds))
    throw new WebhookError("timestamp_outside_window")
  const payload = typeof body === "string" ? new TextEncoder().encode(body) : body
  const head = new TextEncoder().encode(`${id}.${timestamp}.`)
  const signed = new Uint8Array(head.length + payload.length)
  signed.set(head)
  signed.set(payload, head.length)
  // Compares in constant time.
  for (const key of await Promise.all([secret].flat().map(keyOf)))
    for (const signature of signatures) if (await crypto.subtle.verify("HMAC", key, signature, signed)) return eventOf(payload)
  throw new WebhookError("signature_wrong")
}

const headerOf = (headers: IncomingHeaders, name: string): string => {
  const entries = headers instanceof Headers ? [...headers] : Object.entries(headers)
  const [, value] = entries.find(([given]) => given.toLowerCase() === name) ?? []
  if (typeof value !== "string" || value === "") throw new WebhookError("header_missing", name)
  return value
}

/** Of another version than `v1`, or not base64: nothing. */
const signatureBytes = (text: string) => {
  try {
    return text.startsWith("v1,") ? [bytesOf(text.slice("v1,".length))] : []
  } catch {
    return []
  }
}

const keyOf = async (secret: string) => {
  try {
    const bytes = bytesOf(secret.replace(/^whsec_/, ""))
    // A word that took a secret's place, as `null`, is base64, too, and anybody can sign with it.
    if (bytes.length < SHORTEST_SECRET_BYTES) throw new RangeError("too short")
    return await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["verify"])
  } catch (cause) {
    throw new WebhookError("secret_malformed", cause)
  }
}

const bytesOf = (base64: string) => Uint8Array.from(atob(base64), (char) => char.charCodeAt(0))

const eventOf = (payload: Uint8Array): Event => {
  try {
    const event = parse(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(payload))
    if (isEvent(event)) return event
  } catch (cause) {
    throw new WebhookError("body_unreadable", cause)
  }
  throw new WebhookError("body_unreadable")
}

const isEvent = (event: unknown): event is Event =>
  typeof event === "object" && event !== null && "type" in event && "data" in event
