import { Cause, Effect, type Scope } from "effect"
import type { HttpServerResponse } from "effect/http"
import { InternalError } from "../../domain/errors/Ambiguous.ts"
import { RateLimited } from "../../domain/errors/Retriable.ts"
import { type Alarm, type Timer, withAlarms } from "../../runtime/Timer.ts"
import { CommitsWaiting, nobodyLooks } from "../../services/ports/CommitsWaiting.ts"

/**
 * How long each step of a request may take, and the response when it takes longer. Each time is counted from the start of its
 * step.
 *
 * | Step | At most | Then |
 * | --- | --- | --- |
 * | reading the body | `BODY_MS` | 400, and the connection is closed |
 * | checking the signature, and spending the nonce with it | `ARRIVAL_MS` | shed: 429, or 500 while commits wait for a standby |
 * | claiming the key, and spending the nonce with it | `ARRIVAL_MS` | the same; a key claimed later is released, and nothing is run |
 * | the nonce of a request that was refused before its claim | `ARRIVAL_MS` | the same, in place of the refusal |
 * | a money step | `requestDeadlineMs` | 500, ambiguous; the step continues |
 * | another write | `LONGEST_WRITE_MS` | the same |
 * | a money step or another write, once commits wait for a standby | about `ALARM_EVERY_MS` | the same |
 *
 * A tenant's read is bounded by the timeouts of the database and of the provider. It ends when its client disconnects, and
 * `DRAIN` after the server began to stop. A provider call has `PROVIDER_TIMEOUT_MS`, after which the step has its own response
 * (503).
 */
export const BODY_MS = 30_000
export const ARRIVAL_MS = 5_000
/** Replaces `ARRIVAL_MS` while commits wait for a standby: a signature's key may be read through a connection that hangs. */
export const ARRIVAL_WHILE_COMMITS_WAIT_MS = 1_000
/** Longer than a provider and the database together may take. */
const LONGEST_WRITE_MS = 60_000
/** With the time to detect the waiting commits and to make the response, an ambiguous response takes five seconds at most. */
const ALARM_EVERY_MS = 1_000

type Response = HttpServerResponse.HttpServerResponse

const SHED_RETRY_AFTER_SECONDS = 1

/** The refusal of a request for which nothing was done in time. */
export const shed = (requestId: string): Effect.Effect<never, RateLimited | InternalError> =>
  Effect.flatMap(Effect.flatten(CommitsWaiting), (waiting) =>
    Effect.fail(
      waiting
        ? new InternalError({ request_id: requestId })
        : new RateLimited({ scope: "server", retry_after_seconds: SHED_RETRY_AFTER_SECONDS })
    )
  )

/**
 * The alarm for work that may commit: while commits wait for a standby, neither its duration nor its outcome is known. Empty
 * when commits are not watched.
 */
export const commitsWaitAlarm: Effect.Effect<<A>(answer: Effect.Effect<A>) => ReadonlyArray<Alarm<A>>> = Effect.map(
  CommitsWaiting,
  (commitsWaiting) => (answer) =>
    commitsWaiting === nobodyLooks
      ? []
      : [
          {
            ms: ALARM_EVERY_MS,
            repeats: true,
            answer: Effect.flatMap(commitsWaiting, (waiting) => (waiting ? Effect.asSome(answer) : Effect.succeedNone))
          }
        ]
)

/**
 * The response of a write that is not a money step, or an ambiguous response when it takes too long. The write then continues,
 * and a later failure appears only in the log.
 */
export const makeWriteInTime = Effect.fnUntraced(function* (timer: Timer, scope: Scope.Scope) {
  const runDetached = withAlarms(timer, scope)
  const commitsWait = yield* commitsWaitAlarm
  return (work: Effect.Effect<Response>, requestId: string, ambiguous: () => Response): Effect.Effect<Response> =>
    Effect.suspend(() => {
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
      return runDetached(logged, [{ ms: LONGEST_WRITE_MS, answer: Effect.asSome(given) }, ...commitsWait(given)])
    })
})
