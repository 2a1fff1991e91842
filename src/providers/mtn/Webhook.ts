import { Option, Schema } from "effect"
import { isReference } from "../../domain/Ids.ts"
import type { Callbacks } from "../../services/ports/Provider.ts"
import { StatusAnswer } from "./Wire.ts"

/**
 * MTN signs nothing: whoever knows the secret address can send anything, so that a callback is only ever a reason to ask. What has not
 * the shape of one is none.
 */
export const mtnCallbacks: Callbacks = {
  verify: ({ body }) =>
    Option.map(decodeBody(Buffer.from(body).toString("utf8")), ({ externalId }) => ({
      // Its X-Reference-Id is not in it, and a financial transaction's number is nothing that can be asked for.
      reference: isReference(externalId) ? externalId : null,
      providerReference: null
    }))
}

const decodeBody = Schema.decodeUnknownOption(Schema.fromJsonString(StatusAnswer))
