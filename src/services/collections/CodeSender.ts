import { Clock, Effect } from "effect"
import { ProviderError, RateLimited } from "../../domain/errors/Retriable.ts"
import type { MomoParty } from "../../domain/Party.ts"
import type { AccountFingerprint } from "../../domain/ProviderAccount.ts"
import { effectiveLimits, retryAfterSeconds, windowUse } from "../../domain/VelocityLimits.ts"
import { CallKind } from "../../runtime/CallTurn.ts"
import { Codes, type TextedNumber } from "../ports/Codes.ts"
import { Policy } from "../ports/Policy.ts"
import type { CollectionOperations } from "../ports/Provider.ts"
import { VelocityLimits } from "../ports/VelocityLimits.ts"
import { codeAction } from "./ChargeDispatch.ts"

/** How many codes one number of a tenant may be sent within the window, whatever they are for (contract LIM-8). */
const BOUNDS = { perNumber: 3, windowMs: 10 * 60_000 } as const

/**
 * Sends a code to a payer and returns the payer's next action. Every code of the gateway is sent here. It is counted before it
 * is sent, so that concurrent codes are counted too. A code that was provably not sent is not counted; one whose call was
 * interrupted or unanswered is, because it may have arrived.
 */
export const codeSender = Effect.gen(function* () {
  const codes = yield* Codes
  const limits = yield* VelocityLimits
  const policy = yield* Policy

  const countFirst = Effect.fnUntraced(function* (number: TextedNumber) {
    const at = yield* Clock.currentTimeMillis
    const own = yield* limits.own(number.appId)
    const counters = effectiveLimits(number.mode, "code", own).map((limit) => windowUse(number.appId, limit, "", at))
    const code = { ...number, at, counters }
    const requested = yield* codes.request(code, BOUNDS)
    switch (requested._tag) {
      case "Granted":
        return code
      case "NumberFull": {
        const seconds = Math.max(1, Math.ceil((requested.freeAt - at) / 1000))
        return yield* new RateLimited({ scope: "number", retry_after_seconds: seconds })
      }
      case "TenantFull":
        return yield* new RateLimited({ scope: "code", retry_after_seconds: retryAfterSeconds(requested.counter, at) })
    }
  })

  return Effect.fn("CodeSender.send")(function* (
    port: Pick<CollectionOperations, "sendCode">,
    number: TextedNumber,
    source: MomoParty,
    account: AccountFingerprint | null
  ) {
    if (port.sendCode === undefined) return yield* new ProviderError({})
    const code = yield* countFirst(number)
    const texted = yield* Effect.tapError(Effect.provideService(port.sendCode(source), CallKind, "quote"), () =>
      codes.unsent(code)
    )
    if (texted === "unknown") return yield* new ProviderError({})
    const { pinId } = texted
    yield* codes.sent({ ...number, pinId, account }, code.at)
    return codeAction(source, pinId, code.at + policy.otpExpiryMs)
  })
})
