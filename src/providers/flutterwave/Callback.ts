import { createHash, timingSafeEqual } from "node:crypto"
import { Option, Redacted } from "effect"
import type { Callbacks } from "../../services/ports/Provider.ts"
import { hintReader } from "../CallbackVerification.ts"
import { chargeMeaning, transferMeaning } from "./Translate.ts"
import { CallbackBody } from "./Wire.ts"

const HEADER = "verif-hash"

/**
 * Flutterwave signs nothing: it repeats the secret of the dashboard in a header. An attacker who has seen one callback can send others, so
 * that a callback is never more than a reason to poll.
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

// A chargeback's own number is none of a charge.
const hintOf = hintReader(CallbackBody, ({ data, event }) => ({
  reference: data?.tx_ref ?? data?.reference,
  id: /^(chargeback|refund)/.test(event ?? "") ? (data?.transaction_id ?? null) : data?.id,
  says: standings.get(event ?? "")?.(data?.status ?? "")
}))

const standings = new Map([
  ["charge.completed", chargeMeaning],
  ["transfer.completed", transferMeaning]
])
