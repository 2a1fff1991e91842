import type { Redacted } from "effect"
import type { Callbacks } from "../../services/ports/Provider.ts"
import { hintReader, timedOrBearerCallbacks } from "../CallbackVerification.ts"
import { standingOf } from "./Translate.ts"
import { CallbackBody } from "./Wire.ts"

/** A wallet's callbacks are signed with its secret or show it, as was chosen when the address was registered: either is genuine here. */
export const waveCallbacks = (secrets: ReadonlyArray<Redacted.Redacted>): Callbacks =>
  timedOrBearerCallbacks({ header: "wave-signature", secrets, hintOf })

const hintOf = hintReader(CallbackBody, ({ data, type }) => {
  // Of a till or of another business: none of ours.
  if (!type.startsWith("checkout.session.")) return { reference: null, id: null }
  // A payment that failed is not the end of its session.
  const says = type === "checkout.session.completed" ? standingOf(data) : "pending"
  return { reference: data.client_reference, id: data.id, says }
})
