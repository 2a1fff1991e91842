import type { Redacted } from "effect"
import type { Callbacks } from "../../services/ports/Provider.ts"
import { hintReader, timedOrBearerCallbacks } from "../CallbackVerification.ts"
import { standingOf } from "./Translate.ts"
import { CallbackBody } from "./Wire.ts"

/** A wallet's callbacks are signed with its secret or contain it, as was chosen when the URL was registered. */
export const waveCallbacks = (secrets: ReadonlyArray<Redacted.Redacted>): Callbacks =>
  timedOrBearerCallbacks({ header: "wave-signature", secrets, hintOf })

const hintOf = hintReader(CallbackBody, ({ data, type }) => {
  // An event of a till or another business is not ours.
  if (!type.startsWith("checkout.session.")) return { reference: null, id: null }
  // A failed payment does not end its session.
  const says = type === "checkout.session.completed" ? standingOf(data) : "pending"
  return { reference: data.client_reference, id: data.id, says }
})
