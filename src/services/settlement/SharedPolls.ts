import { Deferred, Effect, Option } from "effect"
import type { Reference } from "../../domain/Ids.ts"

interface Line {
  readonly running: Deferred.Deferred<boolean>
  /** What has not begun yet, so that whoever comes now may share it. */
  next: Deferred.Deferred<boolean> | null
}

/** What polls once; `waited` says that another poll has ended since the record was read. */
type Poll = (waited: boolean) => Effect.Effect<boolean>

/**
 * Polls about one transaction, one after another. Whoever asks while one is under way waits for the next and shares it with all others who do: the
 * answer under way may be older than their news. A crowd of callbacks about one transaction would otherwise ask as often, and each answer would find
 * that another one has moved the record. One that could not begin within `waitMs` has told nothing: whoever holds a lease holds it for a poll and that
 * time.
 */
export const makeSharedPolls = (waitMs: number) => {
  const lines = new Map<Reference, Line>()

  const lead = (reference: Reference, own: Deferred.Deferred<boolean>, poll: Effect.Effect<boolean>) =>
    Effect.andThen(
      Effect.sync(() => lines.set(reference, { running: own, next: null })),
      poll
    )

  /** Ends it for all who share it, also where it was interrupted before it began. */
  const ended = (reference: Reference, own: Deferred.Deferred<boolean>) => {
    const line = lines.get(reference)
    if (line?.next === own) line.next = null
    if (line?.running === own && line.next === null) lines.delete(reference)
  }

  return (reference: Reference, poll: Poll): Effect.Effect<boolean> =>
    Effect.suspend(() => {
      const line = lines.get(reference)
      if (line !== undefined && line.next !== null) return Deferred.await(line.next)
      const own = Deferred.makeUnsafe<boolean>()
      if (line !== undefined) line.next = own
      else lines.set(reference, { running: own, next: null })
      const inTurn =
        line === undefined
          ? lead(reference, own, poll(false))
          : Effect.flatMap(Effect.timeoutOption(Effect.exit(Deferred.await(line.running)), waitMs), (turn) =>
              Option.isSome(turn) ? lead(reference, own, poll(true)) : Effect.succeed(false)
            )
      return Effect.onExit(inTurn, (exit) =>
        Effect.sync(() => {
          ended(reference, own)
          Deferred.doneUnsafe(own, exit)
        })
      )
    })
}
