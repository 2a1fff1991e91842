import { Cause, Effect, type Scope } from "effect"
import type { HttpServerResponse } from "effect/http"
import { InternalError } from "../../domain/errors/Ambiguous.ts"
import { RateLimited } from "../../domain/errors/Retriable.ts"
import { type Alarm, type Timer, withAlarms } from "../../runtime/Timer.ts"
import { CommitsWaiting, nobodyLooks } from "../../services/ports/CommitsWaiting.ts"

/**
 * How long a request waits for what, and its answer when that takes longer. Each time begins with its wait.
 *
 * | For | At most | Then |
 * | --- | --- | --- |
 * | its body | `BODY_MS` | 400, and the connection is closed |
 * | the check of its signature, and the nonce that is spent with it | `ARRIVAL_MS` | shed: 429, or 500 while commits wait for a standby |
 * | the claim of its key, and the nonce that is spent with it | `ARRIVAL_MS` | the same; a key that is claimed later is released, and nothing is run |
 * | the nonce of a request that was refused before its claim | `ARRIVAL_MS` | the same, in place of the refusal |
 * | a money step | `requestDeadlineMs` | 500, ambiguous; the step goes on |
 * | another write | `LONGEST_WRITE_MS` | the same |
 * | a money step or another write, once commits wait for a standby | about `ALARM_EVERY_MS` | the same |
 *
 * A tenant's read has the bounds of the database and of the provider; it ends where its client goes away, and `DRAIN` after the server
 * began to stop. A provider has `PROVIDER_TIMEOUT_MS`, after which the step has its own answer (503).
 */
export const BODY_MS = 30_000
export const ARRIVAL_MS = 5_000
/** `ARRIVAL_MS` while commits wait for a standby: the key of a signature may be read through a connection that hangs in one of them. */
export const ARRIVAL_WHILE_COMMITS_WAIT_MS = 1_000
/** Longer than a provider and the database may take together. */
const LONGEST_WRITE_MS = 60_000
/** Together with the time in which the wait is seen, and with what the answer itself may take, five seconds at most. */
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
 * The alarm of work that may commit: while commits wait for a standby the time and the outcome of its own are unknown. None where commits
 * are not watched.
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

/** The response of a write that is no money step, or an ambiguous one. The write goes on then, and a later failure of it is in the log only. */
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
