import { Clock, Duration, Effect, Exit, Option, Ref } from "effect"
import type { Instant } from "../domain/Instant.ts"
import { ClockWatch } from "./ports/ClockWatch.ts"
import { Idempotency } from "./ports/Idempotency.ts"
import { Nonces } from "./ports/Nonces.ts"
import { type PartitionChange, Partitions } from "./ports/Partitions.ts"
import { PartyHashRetention } from "./ports/PartyHashRetention.ts"
import { PeriodCounts } from "./ports/PeriodCounts.ts"
import { Proposals } from "./ports/Proposals.ts"
import { ProviderInbox } from "./ports/ProviderInbox.ts"
import { ProviderMemory } from "./ports/ProviderMemory.ts"
import { RECONCILIATIONS_KEPT_MS, Reconciliations } from "./ports/Reconciliations.ts"
import { RouteCounts } from "./ports/RouteCounts.ts"
import { TENANT_CHANGES_KEPT_MS, TenantChanges } from "./ports/TenantChanges.ts"
import { VelocityLimits } from "./ports/VelocityLimits.ts"
import { type DeliveryCursor, WebhookDeliveries } from "./ports/WebhookDeliveries.ts"
import { WebhookEndpoints } from "./ports/WebhookEndpoints.ts"
import { EVENTS_KEPT_MS } from "./webhooks/WebhookRecovery.ts"

const EVERY = "30 seconds"
/** Rows that one step removes at most, so that no sweep delays payments. */
const ROWS_PER_STEP = 1_000
/** The least pause after a step that removed all that it may; the pause is as long as the step took: payments come first. */
const PAUSE = Duration.millis(50)
/** Steps of one kind in a round: more than a busy node leaves behind in half a minute. */
const STEPS = 200
/** A window's count is given back as long as its transaction can still fail: well within this. */
const COUNTERS_KEPT_MS = 8 * 24 * 3_600_000

/** A processed callback is no more than its digest and the hint that it gave. */
const CALLBACKS_KEPT_MS = 90 * 24 * 3_600_000

/** Promised to tenants: a key is remembered, with its answer, for so long. */
const KEYS_KEPT_MS = 90 * 24 * 3_600_000

/** The hashes of phone numbers, by which a number is recognised, are deleted after this. */
const PARTIES_KNOWN_MS = 90 * 24 * 3_600_000

/** The console looks a week back, in whole steps. */
const PERIODS_KEPT_MS = 8 * 24 * 3_600_000

/** The figures of a corridor look a day back. */
const ROUTES_KEPT_MS = 2 * 24 * 3_600_000

/** Younger events go with their month's partition, which costs nothing to drop; row by row they cost as much as they cost to write. */
const LEFT_TO_THEIR_MONTH_MS = 31 * 24 * 3_600_000

/**
 * One round of data retention: maintains the partitions, and deletes what has expired in bounded steps, one kind after another. The clock is asked
 * before each: nothing is removed while it is in doubt, and what is old is old by the time that was believed.
 */
export const makeRetentionRound = Effect.gen(function* () {
  const clock = yield* ClockWatch
  const nonces = yield* Nonces
  const keys = yield* Idempotency
  const limits = yield* VelocityLimits
  const parties = yield* PartyHashRetention
  const inbox = yield* ProviderInbox
  const periods = yield* PeriodCounts
  const routes = yield* RouteCounts
  const memory = yield* ProviderMemory
  const changes = yield* TenantChanges
  const proposals = yield* Proposals
  const reconciliations = yield* Reconciliations
  const endpoints = yield* WebhookEndpoints
  const removeOldEvents = yield* makeEventRetention
  const keepPartitions = yield* makePartitionMaintenance
  // Each answers how many rows it removed. Where that is the most that a step may remove, there may be more.
  const sweeps = [
    { step: "spent nonces", sweep: (now: number) => nonces.prune(now, ROWS_PER_STEP) },
    { step: "expired idempotency keys", sweep: (now: number) => keys.prune(now - KEYS_KEPT_MS, ROWS_PER_STEP) },
    { step: "ended velocity windows", sweep: (now: number) => limits.prune(now - COUNTERS_KEPT_MS, ROWS_PER_STEP) },
    { step: "old events", sweep: (now: number) => removeOldEvents(now - LEFT_TO_THEIR_MONTH_MS) },
    { step: "old callbacks", sweep: (now: number) => inbox.prune(now - CALLBACKS_KEPT_MS, ROWS_PER_STEP) },
    { step: "old counts for charts", sweep: (now: number) => periods.prune(now - PERIODS_KEPT_MS, ROWS_PER_STEP) },
    { step: "old counts of routes", sweep: (now: number) => routes.prune(now - ROUTES_KEPT_MS, ROWS_PER_STEP) },
    { step: "what providers' adapters shared", sweep: (now: number) => memory.prune(now, ROWS_PER_STEP) },
    { step: "tenants' changes", sweep: (now: number) => changes.prune(now - TENANT_CHANGES_KEPT_MS, ROWS_PER_STEP) },
    { step: "expired proposals", sweep: (now: number) => proposals.expire(now, ROWS_PER_STEP) },
    {
      step: "results of reconciliation",
      sweep: (now: number) => reconciliations.prune(now - RECONCILIATIONS_KEPT_MS, ROWS_PER_STEP)
    },
    { step: "ended webhook secrets", sweep: (now: number) => endpoints.forgetOldSecrets(now, ROWS_PER_STEP) },
    { step: "hashes of phone numbers", sweep: (now: number) => parties.prune(now - PARTIES_KNOWN_MS, ROWS_PER_STEP) }
  ]

  const attempt = Effect.fnUntraced(function* <A>(step: string, work: Effect.Effect<A>) {
    const exit = yield* Effect.exit(work)
    if (Exit.isFailure(exit)) yield* Effect.annotateLogs(Effect.logError("a retention step failed", exit.cause), { step })
    return Exit.isSuccess(exit) ? Option.some(exit.value) : Option.none()
  })
  const trusted = Effect.map(attempt("the database's clock", clock.look), Option.flatten)
  const isFull = ({ step, sweep }: (typeof sweeps)[number], now: Instant) =>
    Effect.map(
      attempt(step, sweep(now)),
      Option.exists((removed) => removed >= ROWS_PER_STEP)
    )

  return Effect.gen(function* () {
    const begun = yield* trusted
    yield* attempt("partitions", keepPartitions(yield* Clock.currentTimeMillis, Option.getOrNull(begun)))
    let left = sweeps
    for (let step = 0; step < STEPS && left.length > 0; step++) {
      // A step of each in turn, so that no kind waits for all of another one's to be gone.
      const full: typeof sweeps = []
      for (const one of left) {
        const now = yield* trusted
        if (Option.isNone(now)) return
        const [took, wasFull] = yield* Effect.timed(isFull(one, now.value))
        if (!wasFull) continue
        full.push(one)
        yield* Effect.sleep(Duration.max(took, PAUSE))
      }
      left = full
    }
  })
})

/** Data retention and partition maintenance, for as long as the process runs. */
export const dataRetention = Effect.flatMap(makeRetentionRound, (round) => Effect.forever(Effect.delay(round, EVERY)))

/** The interval between looks for a month that is over, when there was none. A look locks the months that are. */
const RETIRE_EVERY_MS = 3_600_000

/**
 * Makes partitions ahead and retires those that are past. The effect that it makes does what there is to do at that moment, and tells
 * what it did; what could not be done is logged once, until it changes. Retires by the time that is believed, and nothing where that is null.
 */
export const makePartitionMaintenance = Effect.gen(function* () {
  const partitions = yield* Partitions
  const looked = yield* Ref.make<Looked>({ again: Number.NEGATIVE_INFINITY, crowded: [] })
  const logged = yield* Ref.make("")

  const retire = Effect.fnUntraced(function* (now: Instant | null) {
    const last = yield* Ref.get(looked)
    if (now === null || now < last.again) return last.crowded
    const done = yield* partitions.retire(now - EVENTS_REMOVED_AFTER_MS)
    const crowded = done.filter(isCrowded)
    yield* Ref.set(looked, { again: crowded.length === done.length ? now + RETIRE_EVERY_MS : now, crowded })
    return done
  })

  return Effect.fn("PartitionMaintenance.round")(function* (now: Instant, trusted: Instant | null) {
    const done = [...(yield* partitions.prepare(now)), ...(yield* retire(trusted))]
    for (const { outcome, partition } of done.filter(isChange))
      yield* Effect.annotateLogs(Effect.logInfo("a partition was made or removed"), { partition, outcome })
    const undone = done.filter(isCrowded).map(({ partition }) => partition)
    const line = undone.join(", ")
    if (line !== "" && line !== (yield* Ref.get(logged)))
      yield* Effect.annotateLogs(Effect.logWarning("partitions too large to create or retire"), { partition: line })
    yield* Ref.set(logged, line)
  })
})

/** The months that the last look could not retire, and the time of the next look. */
interface Looked {
  readonly again: Instant
  readonly crowded: ReadonlyArray<PartitionChange>
}

const isCrowded = ({ outcome }: PartitionChange): boolean => outcome === "crowded"
const isChange = ({ outcome }: PartitionChange): boolean => outcome === "made" || outcome === "emptied" || outcome === "dropped"

/** Events live a day longer than they can be recovered, so that none goes away under a recovery. */
const EVENTS_REMOVED_AFTER_MS = EVENTS_KEPT_MS + 24 * 3_600_000
/** Events that one statement looks at, and statements of one round. */
const EVENTS_A_STEP = 1_000
const EVENT_STEPS = 10

/**
 * Removes old events that can no longer be requested: their deliveries all arrived, or they had none. The effect that it makes does a
 * bounded part of that, goes on where it ended before, and answers how many events were removed.
 */
export const makeEventRetention = Effect.gen(function* () {
  const deliveries = yield* WebhookDeliveries
  // Parked deliveries stay for good. A round goes on behind them, and does not look at them again and again.
  const reached = yield* Ref.make<DeliveryCursor | null>(null)

  return Effect.fn("WebhookRetention.round")(function* (now: Instant) {
    let removed = 0
    for (let step = 0; step < EVENT_STEPS; step++) {
      const done = yield* deliveries.purge(now - EVENTS_REMOVED_AFTER_MS, yield* Ref.get(reached), EVENTS_A_STEP)
      removed += done.removed
      yield* Ref.set(reached, done.next)
      if (done.next === null) return removed
    }
    return removed
  })
})
