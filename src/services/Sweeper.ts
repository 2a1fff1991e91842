import { Clock, Effect, Exit } from "effect"
import { makeUpkeep } from "./PartitionUpkeep.ts"
import { Idempotency } from "./ports/Idempotency.ts"
import { Limits } from "./ports/Limits.ts"
import { Nonces } from "./ports/Nonces.ts"
import { PartyHashes } from "./ports/PartyHashes.ts"
import { ProviderInbox } from "./ports/ProviderInbox.ts"
import { makeRetention } from "./WebhookRetention.ts"

const EVERY = "30 seconds"
/** Rows that one step removes at most, so that no sweep holds anybody up. */
const A_STEP = 10_000
/** A window's count is given back as long as its transaction can still fail: well within this. */
const COUNTERS_KEPT_MS = 8 * 24 * 3_600_000

/** Of a callback that was looked into nothing is known but its digest and what it pointed at. */
const CALLBACKS_KEPT_MS = 90 * 24 * 3_600_000

/** Promised to tenants: the same key answers the same bytes for so long. */
const KEYS_KEPT_MS = 90 * 24 * 3_600_000

/** A number is recognised this long, and then nobody can. */
const PARTIES_KNOWN_MS = 90 * 24 * 3_600_000

/** Removes what has had its time, in bounded steps, and makes room for what comes, for ever. */
export const sweeping = Effect.gen(function* () {
  const nonces = yield* Nonces
  const keys = yield* Idempotency
  const limits = yield* Limits
  const parties = yield* PartyHashes
  const inbox = yield* ProviderInbox
  const removeOldEvents = yield* makeRetention
  const keepPartitions = yield* makeUpkeep
  const sweeps = [
    { what: "partitions", sweep: keepPartitions },
    { what: "spent nonces", sweep: (now: number) => nonces.sweep(now, A_STEP) },
    { what: "old keys", sweep: (now: number) => keys.sweep(now - KEYS_KEPT_MS, A_STEP) },
    { what: "ended windows", sweep: (now: number) => limits.sweep(now - COUNTERS_KEPT_MS, A_STEP) },
    { what: "old events", sweep: removeOldEvents },
    { what: "old callbacks", sweep: (now: number) => inbox.sweep(now - CALLBACKS_KEPT_MS, A_STEP) },
    { what: "hashes of numbers", sweep: (now: number) => parties.forget(now - PARTIES_KNOWN_MS, A_STEP) }
  ]

  const round = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    for (const { sweep, what } of sweeps) {
      const exit = yield* Effect.exit(sweep(now))
      if (Exit.isFailure(exit)) yield* Effect.logError(`${what} could not be seen to`, exit.cause)
    }
  })

  return yield* Effect.forever(Effect.delay(round, EVERY))
})
