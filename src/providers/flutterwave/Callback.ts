import { Option, Redacted } from "effect"
import type { Callbacks } from "../../services/ports/Provider.ts"
import { hintReader, isSameSecret } from "../CallbackVerification.ts"
import { chargeMeaning, transferMeaning } from "./Translate.ts"
import { CallbackBody } from "./Wire.ts"

const HEADER = "verif-hash"

/** Flutterwave signs nothing and sends the dashboard's secret, which could be stolen: a callback only triggers a poll. */
export const flutterwaveCallbacks = (secretHash: Redacted.Redacted): Callbacks => ({
  verify: ({ body, headers }) => {
    const given = headers[HEADER] ?? ""
    if (Redacted.value(secretHash) === "" || given === "") return Option.none()
    return isSameSecret(given, Redacted.value(secretHash)) ? Option.some(hintOf(body)) : Option.none()
  }
})

// A chargeback's id is not the charge's.
const hintOf = hintReader(CallbackBody, ({ data, event }) => ({
  reference: data?.tx_ref ?? data?.reference,
  id: /^(chargeback|refund)/.test(event ?? "") ? (data?.transaction_id ?? null) : data?.id,
  says: standings.get(event ?? "")?.(data?.status ?? "")
}))

const standings = new Map([
  ["charge.completed", chargeMeaning],
  ["transfer.completed", transferMeaning]
])
