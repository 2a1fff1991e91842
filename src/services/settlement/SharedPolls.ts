import { Deferred, Effect } from "effect"
import type { Reference } from "../../domain/Ids.ts"

interface Line {
  readonly running: Deferred.Deferred<boolean>
  /** What has not begun yet, so that whoever comes now may share it. */
  next: Deferred.Deferred<boolean> | null
}

/**
 * Polls about one transaction, one after another. Whoever asks while one is under way waits for the next and shares it with all others who do: the
 * answer under way may be older than their news. A crowd of callbacks about one transaction would otherwise ask as often, and each answer would find
 * that another one has moved the record.
 */
export const makeSharedPolls = () => {
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

  return (reference: Reference, poll: Effect.Effect<boolean>): Effect.Effect<boolean> =>
    Effect.suspend(() => {
      const line = lines.get(reference)
      if (line !== undefined && line.next !== null) return Deferred.await(line.next)
      const own = Deferred.makeUnsafe<boolean>()
      if (line !== undefined) line.next = own
      else lines.set(reference, { running: own, next: null })
      const turn = line === undefined ? Effect.void : Effect.exit(Deferred.await(line.running))
      return Effect.andThen(turn, lead(reference, own, poll)).pipe(
        Effect.onExit((exit) =>
          Effect.sync(() => {
            ended(reference, own)
            Deferred.doneUnsafe(own, exit)
          })
        )
      )
    })
}
