import type { Callbacks } from "../../services/ports/Provider.ts"
import { shapedHints } from "../CallbackVerification.ts"
import { standingOf } from "./Translate.ts"
import { StatusAnswer } from "./Wire.ts"

/**
 * MTN signs nothing: a client that knows the secret address can send anything, so that a callback is only ever a reason to poll. A body of
 * another shape is no callback.
 */
export const mtnCallbacks: Callbacks = { verify: ({ body }) => hintOf(body) }

// Its X-Reference-Id is not in it, and a financial transaction's number is nothing that can be polled by.
const hintOf = shapedHints(StatusAnswer, (wire) => ({ reference: wire.externalId, id: null, says: standingOf(wire) }))
