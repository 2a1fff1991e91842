import { createHmac, timingSafeEqual } from "node:crypto"
import { Option, Redacted } from "effect"
import type { Callbacks } from "../../services/ports/Provider.ts"
import { memberText, shapedHints } from "../CallbackVerification.ts"
import { standingOf } from "./Translate.ts"
import { CallbackBody } from "./Wire.ts"

/**
 * A callback only ever makes the gateway ask. Where the application authenticates its callbacks, what one says counts for the comparison with the
 * answer only where its `hash` fits: whose bytes are hashed is not written down, so that one that fits neither way is a reason to ask, and no more.
 */
export const airtelCallbacks = (keys: ReadonlyArray<Redacted.Redacted>): Callbacks => ({
  verify: ({ body }) =>
    Option.map(hintOf(body), ({ says, ...hint }) => {
      const isBelieved = keys.length === 0 || keys.some((key) => isGenuine(Buffer.from(body).toString("utf8"), key))
      return says === undefined || !isBelieved ? hint : { ...hint, says }
    })
})

// Our reference is not in it; the id is, which every record is known by once it was answered.
const hintOf = shapedHints(CallbackBody, ({ transaction: { id, status_code } }) => ({
  reference: null,
  id,
  says: standingOf(status_code)
}))

/** Base64 of the HMAC-SHA256 under the application's private key: of the body without its `hash`, or of the transaction alone. */
const isGenuine = (body: string, key: Redacted.Redacted): boolean => {
  const transaction = memberText(body, "transaction")
  const given = Buffer.from(stringIn(memberText(body, "hash")), "base64")
  if (transaction === undefined || given.length !== HMAC_BYTES) return false
  return [`{"transaction":${transaction}}`, transaction].some((text) =>
    timingSafeEqual(createHmac("sha256", Redacted.value(key)).update(text).digest(), given)
  )
}
const HMAC_BYTES = 32

const stringIn = (text: string | undefined): string =>
  text?.startsWith('"') === true ? text.slice(1, -1).replaceAll("\\/", "/") : ""
