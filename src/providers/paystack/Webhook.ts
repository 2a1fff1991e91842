import { createHmac, timingSafeEqual } from "node:crypto"
import { Option, Redacted, Schema } from "effect"
import type { Callbacks } from "../../services/ports/Provider.ts"
import type { CallbackHint } from "../../services/ports/ProviderInbox.ts"
import { ownReference, WebhookBody } from "./Wire.ts"

const HEADER = "x-paystack-signature"
const SIGNATURE = /^[0-9a-f]{128}$/i
/** Paystack's own are under 25 characters. */
const LONGEST_ID = 64

/** A callback is genuine when its header is the hexadecimal HMAC-SHA512 of its bytes under the secret key itself. */
export const paystackCallbacks = (secretKey: Redacted.Redacted): Callbacks => ({
  verify: ({ body, headers }) => {
    const given = headers[HEADER] ?? ""
    if (Redacted.value(secretKey) === "" || !SIGNATURE.test(given)) return Option.none()
    const expected = createHmac("sha512", Redacted.value(secretKey)).update(body).digest()
    return timingSafeEqual(Buffer.from(given, "hex"), expected) ? Option.some(hintOf(body)) : Option.none()
  }
})

/** A genuine callback of an unknown shape points at nothing; it is kept for a person. */
const hintOf = (body: Uint8Array): CallbackHint => {
  const data = Option.getOrUndefined(decodeBody(Buffer.from(body).toString("utf8")))?.data
  const reference = data?.reference ?? data?.transaction_reference ?? null
  const id = data?.transfer_code ?? data?.id ?? null
  return {
    reference: reference === null ? null : ownReference(reference),
    providerReference: id !== null && id !== "" && id.length <= LONGEST_ID ? id : null
  }
}

const decodeBody = Schema.decodeUnknownOption(Schema.fromJsonString(WebhookBody))
