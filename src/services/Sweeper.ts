import { Clock, Effect, Exit } from "effect"
import { Limits } from "./ports/Limits.ts"
import { Nonces } from "./ports/Nonces.ts"
import { PartyHashes } from "./ports/PartyHashes.ts"
import { makeRetention } from "./WebhookRetention.ts"

const EVERY = "30 seconds"
/** Rows that one step removes at most, so that no sweep holds anybody up. */
const A_STEP = 10_000
/** A window's count is given back as long as its transaction can still fail: well within this. */
const COUNTERS_KEPT_MS = 8 * 24 * 3_600_000

/** A number is recognised this long, and then nobody can. */
const PARTIES_KNOWN_MS = 90 * 24 * 3_600_000

/** Removes what has had its time, in bounded steps, for ever. */
export const sweeping = Effect.gen(function* () {
  const nonces = yield* Nonces
  const limits = yield* Limits
  const parties = yield* PartyHashes
  const removeOldEvents = yield* makeRetention
  const sweeps = [
    { what: "spent nonces", sweep: (now: number) => nonces.sweep(now, A_STEP) },
    { what: "ended windows", sweep: (now: number) => limits.sweep(now - COUNTERS_KEPT_MS, A_STEP) },
    { what: "old events", sweep: removeOldEvents },
    { what: "hashes of numbers", sweep: (now: number) => parties.forget(now - PARTIES_KNOWN_MS, A_STEP) }
  ]

  const round = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    for (const { sweep, what } of sweeps) {
      const exit = yield* Effect.exit(sweep(now))
      if (Exit.isFailure(exit)) yield* Effect.logError(`${what} could not be removed`, exit.cause)
    }
  })

  return yield* Effect.forever(Effect.delay(round, EVERY))
})
