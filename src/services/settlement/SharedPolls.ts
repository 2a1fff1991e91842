import { Deferred, Effect, Option } from "effect"
import type { Reported } from "../../domain/CallbackReport.ts"
import type { Reference } from "../../domain/Ids.ts"

interface SharedPoll<A> {
  readonly ended: Deferred.Deferred<Option.Option<A>>
  /** The reports of the callers' callbacks. The callers share the poll. */
  readonly said: Set<Reported>
}

interface PollQueue<A> {
  readonly running: SharedPoll<A>
  /** The next poll, which has not begun; later callers share it. */
  next: SharedPoll<A> | null
}

/** Polls once. `waited`: another poll has ended since the record was read. */
type Poll<A> = (waited: boolean, said: ReadonlyArray<Reported>) => Effect.Effect<Option.Option<A>>

/**
 * Serializes the polls about one transaction. A caller that arrives during a poll waits for the next one, which it shares with
 * all other such callers: the poll that is running may be older than their news. Otherwise a crowd of callbacks about one
 * transaction would cause as many polls, and each would find that another has changed the record. A poll that could not begin
 * within `waitMs` has no result, so that a lease has to cover one poll and that time.
 */
export const makeSharedPolls = <A>(waitMs: number) => {
  const queues = new Map<Reference, PollQueue<A>>()

  const lead = (reference: Reference, own: SharedPoll<A>, poll: Poll<A>, waited: boolean) =>
    Effect.suspend(() => {
      queues.set(reference, { running: own, next: null })
      return poll(waited, [...own.said])
    })

  /** Ends the poll for all who share it, even if it was interrupted before it began. */
  const ended = (reference: Reference, own: SharedPoll<A>) => {
    const queue = queues.get(reference)
    if (queue?.next === own) queue.next = null
    if (queue?.running === own && queue.next === null) queues.delete(reference)
  }

  /** `says`: what the callback reported, for the history; null when it reported nothing or is not authenticated. */
  return (reference: Reference, says: Reported | null, poll: Poll<A>): Effect.Effect<Option.Option<A>> =>
    Effect.suspend(() => {
      const queue = queues.get(reference)
      if (queue !== undefined && queue.next !== null) {
        if (says !== null) queue.next.said.add(says)
        return Deferred.await(queue.next.ended)
      }
      const own: SharedPoll<A> = { ended: Deferred.makeUnsafe(), said: new Set(says === null ? [] : [says]) }
      if (queue !== undefined) queue.next = own
      else queues.set(reference, { running: own, next: null })
      const inTurn =
        queue === undefined
          ? lead(reference, own, poll, false)
          : Effect.flatMap(Effect.timeoutOption(Effect.exit(Deferred.await(queue.running.ended)), waitMs), (turn) =>
              Option.isSome(turn) ? lead(reference, own, poll, true) : Effect.succeed(Option.none())
            )
      return Effect.onExit(inTurn, (exit) =>
        Effect.sync(() => {
          ended(reference, own)
          Deferred.doneUnsafe(own.ended, exit)
        })
      )
    })
}
