import { Option, type Redacted } from "effect"
import type { Callbacks } from "../../services/ports/Provider.ts"
import { hintReader, hmacCallbacks } from "../CallbackVerification.ts"
import { CallbackBody } from "./Wire.ts"

/**
 * A callback is genuine when its header is the hexadecimal HMAC-SHA512 of its bytes under the `WEBHOOK_SECRET`; without a secret none
 * is. (A sample in Eversend's documentation hashes without the secret: such a signature anyone can make.)
 */
export const eversendCallbacks = (secret: Redacted.Redacted | null): Callbacks =>
  secret === null
    ? { verify: () => Option.none() }
    : hmacCallbacks({ header: "x-eversend-signature", algorithm: "sha512", secret, hintOf })

const hintOf = hintReader(CallbackBody, ({ data, transactionId, transactionRef }) => ({
  reference: transactionRef ?? data?.transactionRef,
  id: transactionId ?? data?.transactionId
}))
