import { Option, type Redacted } from "effect"
import type { Callbacks } from "../../services/ports/Provider.ts"
import { hintReader, hmacCallbacks } from "../Webhooks.ts"
import { WebhookBody } from "./Wire.ts"

/**
 * A callback is genuine when its header is the hexadecimal HMAC-SHA512 of its bytes under the webhook secret; without a secret none
 * is. (A sample in Eversend's documentation hashes without the secret: such a signature anyone can make.)
 */
export const eversendCallbacks = (secret: Redacted.Redacted | null): Callbacks =>
  secret === null
    ? { verify: () => Option.none() }
    : hmacCallbacks({ header: "x-eversend-signature", algorithm: "sha512", secret, hintOf })

const hintOf = hintReader(WebhookBody, ({ data, transactionId, transactionRef }) => ({
  reference: transactionRef ?? data?.transactionRef,
  id: transactionId ?? data?.transactionId
}))
