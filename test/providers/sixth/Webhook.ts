import { createHmac, timingSafeEqual } from "node:crypto"
import { Option, Redacted, Schema } from "effect"
import { isReference } from "../../../src/domain/Ids.ts"
import type { Callbacks } from "../../../src/services/ports/Provider.ts"
import type { CallbackHint } from "../../../src/services/ports/ProviderInbox.ts"
import { WebhookBody } from "./Wire.ts"

const HEADER = "x-tumbuka-signature"
const SIGNATURE = /^[0-9a-f]{64}$/

/** Genuine is what bears the hexadecimal HMAC-SHA256 of its bytes under the account's secret. */
export const sixthCallbacks = (secret: Redacted.Redacted): Callbacks => ({
  verify: ({ body, headers }) => {
    const given = headers[HEADER] ?? ""
    if (Redacted.value(secret) === "" || !SIGNATURE.test(given)) return Option.none()
    const expected = createHmac("sha256", Redacted.value(secret)).update(body).digest()
    return timingSafeEqual(Buffer.from(given, "hex"), expected) ? Option.some(hintOf(body)) : Option.none()
  }
})

/** A genuine callback of an unknown shape points at nothing; it is kept for a person. */
const hintOf = (body: Uint8Array): CallbackHint => {
  const callback = Option.getOrUndefined(decodeBody(Buffer.from(body).toString("utf8")))
  const reference = callback?.client_ref ?? ""
  return { reference: isReference(reference) ? reference : null, providerReference: callback?.id ?? null }
}

const decodeBody = Schema.decodeUnknownOption(Schema.fromJsonString(WebhookBody))
