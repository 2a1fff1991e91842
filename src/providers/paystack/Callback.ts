import type { Redacted } from "effect"
import type { Callbacks } from "../../services/ports/Provider.ts"
import { hintReader, hmacCallbacks } from "../CallbackVerification.ts"
import { CallbackBody, ownReference } from "./Wire.ts"

/** A callback is genuine when its header is the hexadecimal HMAC-SHA512 of its bytes under the secret key itself. */
export const paystackCallbacks = (secret: Redacted.Redacted): Callbacks =>
  hmacCallbacks({ header: "x-paystack-signature", algorithm: "sha512", secret, hintOf })

const hintOf = hintReader(
  CallbackBody,
  ({ data }) => ({ reference: data?.reference ?? data?.transaction_reference, id: data?.transfer_code ?? data?.id }),
  ownReference
)
