import { Option } from "effect"
import type { Callbacks } from "../../services/ports/Provider.ts"
import { bodyDecoder, hintReader } from "../CallbackVerification.ts"
import { standingOf } from "./Translate.ts"
import { StatusAnswer } from "./Wire.ts"

/**
 * MTN signs nothing: a client that knows the secret address can send anything, so that a callback is only ever a reason to poll. A body of
 * another shape is no callback.
 */
export const mtnCallbacks: Callbacks = {
  verify: ({ body }) => Option.as(decode(body), hintOf(body))
}

const decode = bodyDecoder(StatusAnswer)

// Its X-Reference-Id is not in it, and a financial transaction's number is nothing that can be polled by.
const hintOf = hintReader(StatusAnswer, (wire) => ({ reference: wire.externalId, id: null, says: standingOf(wire) }))
