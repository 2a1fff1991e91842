import { Clock, Effect } from "effect"
import { ProviderError, RateLimited } from "../domain/errors/Retriable.ts"
import type { AppId, Mode } from "../domain/Ids.ts"
import type { MomoParty } from "../domain/Party.ts"
import { codeAction } from "./Charging.ts"
import { Codes } from "./ports/Codes.ts"
import { Policy } from "./ports/Policy.ts"
import type { Collections } from "./ports/Provider.ts"

/**
 * Codes that one number of a tenant may be sent by hand within the window (decisions.md section 6). Those that begin a charge are bounded by
 * the caps of charges, ten an hour for one payer.
 */
const CODES_AT_MOST = 3
const WINDOW_MS = 10 * 60_000

/** Whose number is texted. */
interface Number {
  readonly appId: AppId
  readonly mode: Mode
  readonly partyHash: Uint8Array
}

/**
 * Sends a code to a payer, and answers what the payer does with it. A code is counted before it is sent, so that several at once are counted too; a sending that failed is
 * not counted, and one that was cut off is, because it may have arrived.
 */
export const codeSending = Effect.gen(function* () {
  const codes = yield* Codes
  const policy = yield* Policy

  return Effect.fn("CodeSending.send")(function* (port: Pick<Collections, "sendCode">, number: Number, source: MomoParty) {
    if (port.sendCode === undefined) return yield* new ProviderError({})
    const at = yield* Clock.currentTimeMillis
    const freeAt = yield* codes.request(number, at, CODES_AT_MOST, WINDOW_MS)
    if (freeAt !== null)
      return yield* new RateLimited({ scope: "number", retry_after_seconds: Math.max(1, Math.ceil((freeAt - at) / 1000)) })
    const { pinId } = yield* Effect.tapError(port.sendCode(source), () => codes.unsent(number, at))
    return codeAction(source, pinId, at + policy.otpExpiryMs)
  })
})
