import { type ProviderRefusal, type Reading, type Refused, refusalOf, refusedBy } from "../Reading.ts"
import type { ProviderResponse } from "../Transport.ts"
import { notAdmitted, refusalStatus } from "./Reading.ts"
import type { Transfer } from "./Wire.ts"

const other = refusalOf("other", "provider_rejected", "The provider refused it.")

// By HTTP status, which is all there is: v3 has no codes. A status that is not here is no refusal that can be believed.
const refusals: ReadonlyMap<number, ProviderRefusal> = new Map([
  [400, other],
  [401, notAdmitted],
  [403, notAdmitted]
])

const undelivered = refusalOf("other", "provider_rejected", "The provider could not deliver it.")
const poolShort = refusalOf(
  "pool",
  "provider_rejected",
  "The provider cannot pay it out now.",
  "Flutterwave failed a transfer for our own wallet's sake: is it empty, or restricted?"
)
const unreachable = refusalOf("party", "invalid_destination", "The provider does not know the recipient's account.")
// Failed is failed, whatever the text. Why, v3 says by its text alone: these are matched whole, and what is not here is `undelivered`.
const completeMessages: ReadonlyMap<string, ProviderRefusal> = new Map([
  ["DISBURSE FAILED: Insufficient funds in customer wallet", poolShort],
  ["DISBURSE FAILED: wallet currently restricted. please contact administrator", poolShort],
  ["DISBURSE FAILED: Unable to obtain user details", unreachable]
])

/** Why a transfer failed. */
export const failureOf = ({ complete_message }: typeof Transfer.Type): ProviderRefusal =>
  completeMessages.get(complete_message ?? "") ?? undelivered

// Declined, no balance, no answer: v3 has a text for them, and no code.
export const notPaid = refusalOf("other", "unknown", "The payment was not made; the provider does not say why.")

/** A definite refusal by its HTTP status. */
export const refusal = (response: ProviderResponse): Reading<Refused> | undefined => {
  const status = refusalStatus(response)
  const known = status === undefined ? undefined : refusals.get(status)
  return known === undefined ? undefined : refusedBy(known, null, `HTTP ${status}`)
}
