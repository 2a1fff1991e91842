import { Cause, Effect, Fiber } from "effect"
import type { HttpServerResponse } from "effect/http"
import { endsOnceWithin, type Meanwhile, type Timer } from "../../runtime/Timer.ts"
import { CommitsWaiting, nobodyLooks } from "../../services/ports/CommitsWaiting.ts"

/** Together with the time in which the wait is seen, and with what the end itself may take, five seconds at most. */
const ASKED_EVERY_MS = 1_000
/** Longer than a provider and the database may take together. */
const LONGEST_WRITE_MS = 60_000

type Response = HttpServerResponse.HttpServerResponse

/**
 * The end of a request that is under way while commits wait for a standby: the time and the outcome of its own commit are unknown. The work
 * goes on, and its commit stands. Undefined where commits are not watched.
 */
export const meanwhileCommitsWait: Effect.Effect<<A>(end: Effect.Effect<A>) => Meanwhile<A> | undefined> = Effect.map(
  CommitsWaiting,
  (commitsWaiting) => (end) =>
    commitsWaiting === nobodyLooks
      ? undefined
      : {
          everyMs: ASKED_EVERY_MS,
          end: Effect.flatMap(commitsWaiting, (waiting) => (waiting ? Effect.asSome(end) : Effect.succeedNone))
        }
)

/**
 * The response of work that may commit, or an ambiguous one. The work is not cancelled then: its commit would end without the standby. A
 * later failure goes to the log only.
 */
export const makeUnlessCommitsWait = Effect.fnUntraced(function* (timer: Timer) {
  const scope = yield* Effect.scope
  const endOf = endsOnceWithin(timer, scope)
  const meanwhile = yield* meanwhileCommitsWait
  return (requestId: string, ambiguous: () => Response) =>
    Effect.fnUntraced(function* (work: Effect.Effect<Response>) {
      let isAnswered = false
      const given = Effect.sync(() => {
        isAnswered = true
        return ambiguous()
      })
      const logged = Effect.tapCause(work, (cause) =>
        isAnswered && !Cause.hasInterruptsOnly(cause)
          ? Effect.annotateLogs(Effect.logError("the request broke", cause), { request_id: requestId })
          : Effect.void
      )
      const fiber = yield* Effect.forkIn(logged, scope, { startImmediately: true })
      const end = yield* endOf(fiber, LONGEST_WRITE_MS, given, meanwhile(given))
      return yield* Effect.onInterrupt(end, () => Fiber.interrupt(fiber))
    })
})
