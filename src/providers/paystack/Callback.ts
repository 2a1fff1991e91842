import type { Redacted } from "effect"
import type { Reported } from "../../domain/CallbackReport.ts"
import type { Callbacks } from "../../services/ports/Provider.ts"
import { hintReader, hmacCallbacks } from "../CallbackVerification.ts"
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
      says: events.get(event)
    }
  },
  ownReference
)

const isAboutCharge = (event: string): boolean => /^(charge\.dispute|refund)\./.test(event)

// A refund and a dispute say nothing of the whole charge: what became of it is asked.
const events: ReadonlyMap<string, Reported> = new Map([
  ["charge.success", "successful"],
  ["charge.failed", "failed"],
  ["transfer.success", "successful"],
  ["transfer.failed", "failed"],
  ["transfer.reversed", "returned"]
])
