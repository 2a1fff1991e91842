import { createHmac, timingSafeEqual } from "node:crypto"
import { Option, Redacted, Schema } from "effect"
import { isReference } from "../../domain/Ids.ts"
import type { Callbacks } from "../../services/ports/Provider.ts"
import type { CallbackHint } from "../../services/ports/ProviderInbox.ts"
import { WebhookBody } from "./Wire.ts"

const HEADER = "x-eversend-signature"
const SIGNATURE = /^[0-9a-f]{128}$/i
/** Eversend's own are under 20 characters. */
const LONGEST_ID = 64

/**
 * A callback is genuine when its header is the hexadecimal HMAC-SHA512 of its bytes under the webhook secret; without a secret none
 * is. (A sample in Eversend's documentation hashes without the secret: such a signature anyone can make.)
 */
export const eversendCallbacks = (secret: Redacted.Redacted | null): Callbacks => ({
  verify: ({ body, headers }) => {
    const given = headers[HEADER] ?? ""
    if (secret === null || Redacted.value(secret) === "" || !SIGNATURE.test(given)) return Option.none()
    const expected = createHmac("sha512", Redacted.value(secret)).update(body).digest()
    return timingSafeEqual(Buffer.from(given, "hex"), expected) ? Option.some(hintOf(body)) : Option.none()
  }
})

/** A genuine callback of an unknown shape points at nothing; it is kept for a person. */
const hintOf = (body: Uint8Array): CallbackHint => {
  const callback = Option.getOrUndefined(decodeBody(Buffer.from(body).toString("utf8")))
  const reference = callback?.transactionRef ?? callback?.data?.transactionRef ?? null
  const id = callback?.transactionId ?? callback?.data?.transactionId ?? null
  return {
    reference: reference !== null && isReference(reference) ? reference : null,
    providerReference: id !== null && id !== "" && id.length <= LONGEST_ID ? id : null
  }
}

const decodeBody = Schema.decodeUnknownOption(Schema.fromJsonString(WebhookBody))
