import { createHmac, timingSafeEqual } from "node:crypto"
import { Option, Redacted } from "effect"
import type { Callbacks } from "../../services/ports/Provider.ts"
import { memberText, shapedHints } from "../CallbackVerification.ts"
import { standingOf } from "./Translate.ts"
import { CallbackBody } from "./Wire.ts"

/**
 * A callback only triggers a poll. If the application authenticates its callbacks, the reported status is compared with the
 * poll only when `hash` matches. The documentation does not say which bytes are hashed, so a callback whose hash matches in
 * neither form still triggers a poll.
 */
export const airtelCallbacks = (keys: ReadonlyArray<Redacted.Redacted>): Callbacks => ({
  verify: ({ body }) =>
    Option.map(hintOf(body), ({ says, ...hint }) => {
      const isBelieved = keys.length === 0 || keys.some((key) => isGenuine(Buffer.from(body).toString("utf8"), key))
      return says === undefined || !isBelieved ? hint : { ...hint, says }
    })
})

// It contains not our reference but the id, which is stored with every record that got a response.
const hintOf = shapedHints(CallbackBody, ({ transaction: { id, status_code } }) => ({
  reference: null,
  id,
  says: standingOf(status_code)
}))

/** Base64 of the HMAC-SHA256 under the application's private key, over the body without `hash` or the transaction alone. */
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
