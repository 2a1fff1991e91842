import type { Callbacks } from "../../services/ports/Provider.ts"
import { shapedHints } from "../CallbackVerification.ts"
import { standingOf } from "./Translate.ts"
import { StatusAnswer } from "./Wire.ts"

/**
 * MTN signs nothing: a client that knows the secret URL can send anything, so a callback only triggers a poll. A body of
 * another shape is not accepted as a callback.
 */
export const mtnCallbacks: Callbacks = { verify: ({ body }) => hintOf(body) }

// The callback does not contain its X-Reference-Id, and the number of a financial transaction cannot be polled.
const hintOf = shapedHints(StatusAnswer, (wire) => ({ reference: wire.externalId, id: null, says: standingOf(wire) }))
