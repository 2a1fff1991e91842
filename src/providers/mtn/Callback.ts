import type { Callbacks } from "../../services/ports/Provider.ts"
import { shapedHints } from "../CallbackVerification.ts"
import { standingOf } from "./Translate.ts"
import { StatusAnswer } from "./Wire.ts"

/** MTN signs nothing, and the secret URL may be known: a callback only triggers a poll. One of another shape is refused. */
export const mtnCallbacks: Callbacks = { verify: ({ body }) => hintOf(body) }

// The callback does not contain its X-Reference-Id, and the number of a financial transaction cannot be polled.
const hintOf = shapedHints(StatusAnswer, (wire) => ({ reference: wire.externalId, id: null, says: standingOf(wire) }))
