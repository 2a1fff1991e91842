import { createHash, timingSafeEqual } from "node:crypto"
import { Option, Redacted, Schema } from "effect"
import { isReference } from "../../domain/Ids.ts"
import type { Callbacks } from "../../services/ports/Provider.ts"
import type { CallbackHint } from "../../services/ports/ProviderInbox.ts"
import { WebhookBody } from "./Wire.ts"

const HEADER = "verif-hash"
/** Flutterwave's own are under 20 characters. */
const LONGEST_ID = 64

/**
 * Flutterwave signs nothing: it repeats the secret of the dashboard in a header. Whoever has seen one callback can send others, so that
 * one is never more than a reason to ask.
 */
export const flutterwaveCallbacks = (secretHash: Redacted.Redacted): Callbacks => ({
  verify: ({ body, headers }) => {
    const given = headers[HEADER] ?? ""
    if (Redacted.value(secretHash) === "" || given === "") return Option.none()
    return timingSafeEqual(digest(given), digest(Redacted.value(secretHash))) ? Option.some(hintOf(body)) : Option.none()
  }
})

/** Of one length, so that neither the secret's length nor its beginning shows in the time. */
const digest = (text: string): Buffer => createHash("sha256").update(text).digest()

/** A genuine callback of an unknown shape points at nothing; it is kept for a person. */
const hintOf = (body: Uint8Array): CallbackHint => {
  const data = Option.getOrUndefined(decodeBody(Buffer.from(body).toString("utf8")))?.data
  const reference = data?.tx_ref ?? data?.reference ?? null
  const id = data?.id ?? null
  return {
    reference: reference !== null && isReference(reference) ? reference : null,
    providerReference: id !== null && id !== "" && id.length <= LONGEST_ID ? id : null
  }
}

const decodeBody = Schema.decodeUnknownOption(Schema.fromJsonString(WebhookBody))
