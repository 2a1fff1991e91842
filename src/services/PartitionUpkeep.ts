import { Effect, Ref } from "effect"
import type { Instant } from "../domain/Instant.ts"
import { type PartitionChange, Partitions } from "./ports/Partitions.ts"
import { EVENTS_REMOVED_AFTER_MS } from "./webhooks/WebhookRetention.ts"

/** How often somebody looks for a month that is over, when there was none; looking locks the months that are. */
const RETIRE_EVERY_MS = 3_600_000

/**
 * Makes partitions ahead and retires those that are past. The effect that it makes does what there is to do at that moment, and tells
 * what it did; what could not be done is told once, until it changes.
 */
export const makePartitionMaintenance = Effect.gen(function* () {
  const partitions = yield* Partitions
  const looked = yield* Ref.make<Looked>({ again: Number.NEGATIVE_INFINITY, crowded: [] })
  const told = yield* Ref.make("")

  const retired = Effect.fnUntraced(function* (now: Instant) {
    const last = yield* Ref.get(looked)
    if (now < last.again) return last.crowded
    const done = yield* partitions.retire(now - EVENTS_REMOVED_AFTER_MS)
    const crowded = done.filter(isCrowded)
    yield* Ref.set(looked, { again: crowded.length === done.length ? now + RETIRE_EVERY_MS : now, crowded })
    return done
  })

  return Effect.fn("PartitionUpkeep.round")(function* (now: Instant) {
    const done = [...(yield* partitions.prepare(now)), ...(yield* retired(now))]
    for (const { outcome, partition } of done.filter(isChange)) yield* Effect.logInfo(`partition ${partition} was ${outcome}`)
    const undone = done.filter(isCrowded).map(({ partition }) => partition)
    const line = undone.join(", ")
    if (line !== "" && line !== (yield* Ref.get(told)))
      yield* Effect.logWarning(`too many rows for these partitions to be made or retired: ${line}`)
    yield* Ref.set(told, line)
  })
})

/** What the last look could not retire, and when the next one is. */
interface Looked {
  readonly again: Instant
  readonly crowded: ReadonlyArray<PartitionChange>
}

const isCrowded = ({ outcome }: PartitionChange): boolean => outcome === "crowded"
const isChange = ({ outcome }: PartitionChange): boolean => outcome === "made" || outcome === "emptied" || outcome === "dropped"
