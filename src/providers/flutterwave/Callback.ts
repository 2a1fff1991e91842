import { Option, Redacted } from "effect"
import type { Callbacks } from "../../services/ports/Provider.ts"
import { hintReader, isSameSecret } from "../CallbackVerification.ts"
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
    return isSameSecret(given, Redacted.value(secretHash)) ? Option.some(hintOf(body)) : Option.none()
  }
})

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
