import { createHmac, type KeyObject } from "node:crypto"
import { Clock, Effect, Option, Redacted } from "effect"
import { logAlarm } from "../AnswerParsing.ts"
import { MemoryOf } from "../SharedMemory.ts"
import type { ProviderCall } from "../Transport.ts"

/** The PIN of a country's disbursement wallet, and how it is encrypted. */
interface PinSettings {
  readonly country: string
  readonly clientId: string
  readonly clientSecret: Redacted.Redacted
  readonly pin: Redacted.Redacted
  readonly pinKey: KeyObject | "printed"
  readonly pinPadding: string
}

/** The note of a payout that is held back because of it. */
export const PIN_REFUSED = "the PIN was refused before"
/** The note of a payout that is held back because the memory cannot be read. */
const PIN_UNKNOWN = "it is not known whether the PIN was refused before"

/** Longer than a wrong setting will stay. */
const KEPT_MS = 10 * 365 * 86_400_000

/**
 * Remembers that a payout's PIN was refused, across nodes and restarts, because another wrong attempt could block the wallet.
 * It is stored for these settings, so that another PIN, key or padding is tried.
 */
export const refusedPin = Effect.fnUntraced(function* (account: PinSettings) {
  const memory = yield* MemoryOf
  const name = `airtel pin ${account.country} ${hashOf(account)}`
  let isRefused = false
  const known = Effect.tap(Effect.map(memory.get(name), Option.isSome), (found) =>
    Effect.sync(() => {
      isRefused ||= found
    })
  )
  const heldBack: NonNullable<ProviderCall["heldBack"]> = Effect.suspend(() => (isRefused ? Effect.succeed(true) : known)).pipe(
    Effect.map((found) => (found ? PIN_REFUSED : null)),
    // The next payout reads it again: only a refused PIN stays held back.
    Effect.catchDefect(() => Effect.succeed(PIN_UNKNOWN))
  )
  const note = Effect.suspend(() => {
    isRefused = true
    return Effect.flatMap(Clock.currentTimeMillis, (now) => memory.put(name, Redacted.make("refused"), now + KEPT_MS)).pipe(
      // This process knows it, and the response stands.
      Effect.catchDefect(() => logAlarm("a refused PIN of Airtel's could not be kept for the other nodes and the next start"))
    )
  })
  return { heldBack, note }
})

/** Keyed, because a PIN has only four digits. */
const hashOf = ({ clientId, clientSecret, pin, pinKey, pinPadding }: PinSettings): string => {
  const key = pinKey === "printed" ? pinKey : pinKey.export({ format: "der", type: "spki" }).toString("base64")
  const settings = JSON.stringify([clientId, Redacted.value(pin), key, pinPadding])
  return createHmac("sha256", Redacted.value(clientSecret)).update(settings).digest("hex").slice(0, HASH_DIGITS)
}
const HASH_DIGITS = 32
