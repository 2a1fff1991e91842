import type { Redacted } from "effect"
import type { Callbacks } from "../../services/ports/Provider.ts"
import { hintReader, hmacCallbacks } from "../CallbackVerification.ts"
import { vocabulary } from "../ProviderStatus.ts"
import { CallbackBody, ownReference } from "./Wire.ts"

/** A callback is genuine when its header is the hexadecimal HMAC-SHA512 of its bytes under the secret key itself. */
export const paystackCallbacks = (secret: Redacted.Redacted): Callbacks =>
  hmacCallbacks({ header: "x-paystack-signature", algorithm: "sha512", secret, hintOf })

const hintOf = hintReader(
  CallbackBody,
  ({ data, event = "" }) => {
    const charge = typeof data?.transaction === "string" ? { id: data.transaction } : data?.transaction
    return {
      reference: data?.reference ?? data?.transaction_reference ?? charge?.reference,
      id: data?.transfer_code ?? (isAboutCharge(event) ? charge?.id : data?.id),
      says: eventMeaning(event)
    }
  },
  ownReference
)

const isAboutCharge = (event: string): boolean => /^(charge\.dispute|refund)\./.test(event)

// A refund or a dispute does not give the state of the whole charge, so the charge is polled.
const eventMeaning = vocabulary({
  successful: ["charge.success", "transfer.success"],
  failed: ["charge.failed", "transfer.failed"],
  returned: ["transfer.reversed"]
})
