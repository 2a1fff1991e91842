import type { Redacted } from "effect"
import { hintReader, hmacCallbacks } from "../../../src/providers/CallbackVerification.ts"
import type { Callbacks } from "../../../src/services/ports/Provider.ts"
import { standingOf } from "./Translate.ts"
import { CallbackBody } from "./Wire.ts"

/** Genuine is what bears the hexadecimal HMAC-SHA256 of its bytes under the account's secret. */
export const sixthCallbacks = (secret: Redacted.Redacted): Callbacks =>
  hmacCallbacks({ header: "x-tumbuka-signature", algorithm: "sha256", secret, hintOf })

const hintOf = hintReader(CallbackBody, ({ client_ref: reference, id, status }) => ({ reference, id, says: standingOf(status) }))
