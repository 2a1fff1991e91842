import type { Reference } from "./Ids.ts"
import type { Instant } from "./Instant.ts"

// Standard Webhooks 1.0 (https://www.standardwebhooks.com), symmetric signatures.

const SECRET_PREFIX = "whsec_"
const SECOND = 1000

/** The signed parts of one delivery attempt; `body` is the event's frozen bytes. */
export interface WebhookMessage {
  readonly id: Reference
  readonly at: Instant
  readonly body: string
}

/** "id.timestamp.body", the text that is signed. */
export const webhookSigningText = (message: WebhookMessage): string => `${message.id}.${timestamp(message.at)}.${message.body}`

/** The headers of an attempt: the id is the same for all, the timestamp is its own. A rotating secret makes two signatures. */
export const webhookHeaders = (message: WebhookMessage, signatures: ReadonlyArray<string>): Readonly<Record<string, string>> => ({
  "webhook-id": message.id,
  "webhook-timestamp": timestamp(message.at),
  "webhook-signature": signatures.map((signature) => `v1,${signature}`).join(" ")
})

export const SECRET_BYTES = 32

/** A secret as it is shown to the tenant. */
export const webhookSecretFrom = (bytes: Uint8Array): string => `${SECRET_PREFIX}${Buffer.from(bytes).toString("base64")}`

/** The key that a secret contains, as base64. */
export const webhookHmacKey = (secret: string): string =>
  secret.startsWith(SECRET_PREFIX) ? secret.slice(SECRET_PREFIX.length) : secret

/** Whole seconds since 1970-01-01 UTC. */
const timestamp = (at: Instant): string => String(Math.floor(at / SECOND))
