import type { Redacted } from "effect"
import type { Callbacks } from "../../services/ports/Provider.ts"
import { hintReader, hmacCallbacks } from "../CallbackVerification.ts"
import { vocabulary } from "../ProviderStatus.ts"
import { standingOf } from "./Translate.ts"
import { CallbackBody } from "./Wire.ts"

/**
 * A callback is genuine when its header is the hexadecimal HMAC-SHA512 of its bytes under the `WEBHOOK_SECRET`. (A sample in
 * Eversend's documentation hashes without the secret: anyone could forge such a signature.)
 */
export const eversendCallbacks = (secret: Redacted.Redacted): Callbacks =>
  hmacCallbacks({ header: "x-eversend-signature", algorithm: "sha512", secret, hintOf })

const hintOf = hintReader(CallbackBody, ({ data, eventType, transactionId, transactionRef, type }) => ({
  reference: transactionRef ?? data?.transactionRef,
  id: transactionId ?? data?.transactionId,
  says: eventMeaning((type ?? eventType ?? "").split(".").at(-1)) ?? standingOf(data?.status)
}))

/** The last parts of event names. Both families of callback bodies are in use, and neither is completely documented. */
const eventMeaning = vocabulary({
  pending: ["pending"],
  successful: ["success", "successful"],
  failed: ["failed"],
  returned: ["refunded"]
})
