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
/** The most rows that one step removes, so that retention does not delay payments. */
const ROWS_PER_STEP = 1_000
/** The shortest pause after a full step. The pause is as long as the step took, because payments have priority. */
const PAUSE = Duration.millis(50)
/** The most steps of one kind in a round: more than a busy node needs for half a minute of traffic. */
const STEPS = 200
/** A count is given back while its transaction can still fail, which is well within this time. */
const COUNTERS_KEPT_MS = 8 * 24 * 3_600_000

/** A processed callback consists only of its digest and its hint. */
const CALLBACKS_KEPT_MS = 90 * 24 * 3_600_000

/** Promised to tenants: a key and its response are remembered this long. */
const KEYS_KEPT_MS = 90 * 24 * 3_600_000

/** The hashes of phone numbers, which identify a number, are deleted after this time. */
const PARTIES_KNOWN_MS = 90 * 24 * 3_600_000

/** The console shows a week, in whole steps. */
const PERIODS_KEPT_MS = 8 * 24 * 3_600_000

/** A corridor's figures cover one day. */
const ROUTES_KEPT_MS = 2 * 24 * 3_600_000

/** Events of a month are removed together with it: single ones only where that did not happen within this time. */
const LEFT_TO_THEIR_MONTH_MS = 31 * 24 * 3_600_000

/**
 * One round of data retention: maintains the partitions, and deletes expired rows in bounded steps, one step of each kind in
 * turn. The clock watch is asked before each step: nothing is removed while the clock is in doubt, and ages are computed from
 * the trusted time.
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
  // Each returns how many rows it removed. When that is the maximum of a step, there may be more.
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
      // One step of each kind in turn, so that no kind waits until all of another kind is gone.
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

/** How often to look for a past month when there was none. Each look locks the months that it finds. */
const RETIRE_EVERY_MS = 3_600_000

/**
 * Creates partitions ahead of time and retires past ones. The returned effect does what is necessary at that moment and returns
 * what it did; a failure is logged once, until it changes. `now` is the trusted time for retiring; null retires nothing.
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

/** The months that could not be retired, and when to look again. */
interface Looked {
  readonly again: Instant
  readonly crowded: ReadonlyArray<PartitionChange>
}

const isCrowded = ({ outcome }: PartitionChange): boolean => outcome === "crowded"
const isChange = ({ outcome }: PartitionChange): boolean => outcome === "made" || outcome === "emptied" || outcome === "dropped"

/** Events are kept a day longer than they can be recovered, so that none disappears during a recovery. */
const EVENTS_REMOVED_AFTER_MS = EVENTS_KEPT_MS + 24 * 3_600_000
/** The number of events per statement, and of statements per round. */
const EVENTS_A_STEP = 1_000
const EVENT_STEPS = 10

/**
 * Removes old events that can no longer be requested: those without a delivery, or whose deliveries were all delivered. The
 * returned effect does a bounded part of this, continues where it stopped before, and returns how many events were removed.
 */
export const makeEventRetention = Effect.gen(function* () {
  const deliveries = yield* WebhookDeliveries
  // Parked deliveries are kept for good. A round continues behind them, so that it does not examine them again and again.
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
