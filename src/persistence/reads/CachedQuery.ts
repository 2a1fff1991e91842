import { Deferred, Effect, Exit, Option } from "effect"
import { elapsed } from "../../runtime/Timer.ts"
import { TooLate } from "../../runtime/TooLate.ts"

// Effect's cached effects count their time from the result. A result that came late would be believed for too long.

/**
 * Every node sees an operator's change within this time. It counts from when the query was sent and not from when its result came, which may
 * be late.
 */
const FRESH_MS = 1_000
const QUERY_EVERY_MS = 500
/** How often a query is sent whose results come too late to be used. */
const TRIES_AT_MOST = 3

export interface CachedQuery<A> {
  /** None where the database failed, or has not answered for a second. */
  readonly newest: Effect.Effect<Option.Option<A>>
  /** The result of `newest` at this moment of `elapsed` without a query; none where it needs one. */
  readonly recent: (now: number) => Option.Option<A>
  /** As `newest`; where there is none, the query is sent again for this caller. Dies where the database does not answer then either. */
  readonly get: Effect.Effect<A>
  /** From now on no earlier result is used. Called after a change that this process has made. */
  readonly forget: Effect.Effect<void>
}

/**
 * One query whose result every request needs and that rarely changes: it is sent at most twice a second, however many callers there are.
 */
export const cachedQuery = Effect.fnUntraced(function* <A>(question: Effect.Effect<A>) {
  const scope = yield* Effect.scope
  let last: { readonly sentAt: number; readonly answer: A } | null = null
  let pending: PendingQuery<A> | null = null

  const send = Effect.fnUntraced(function* (sentAt: number) {
    const one: PendingQuery<A> = { sentAt, answer: Deferred.makeUnsafe() }
    pending = one
    // A caller that is interrupted does not end it for the others.
    yield* Effect.forkIn(
      Effect.flatMap(Effect.exit(question), (exit) => {
        // A query that was forgotten or replaced has a result only for those who wait for it.
        if (pending === one) {
          pending = null
          if (Exit.isSuccess(exit)) last = { sentAt, answer: exit.value }
        }
        return Deferred.succeed(one.answer, Exit.getSuccess(exit))
      }),
      scope
    )
    return one
  })

  const recent = (now: number): Option.Option<A> =>
    last !== null && now - last.sentAt < QUERY_EVERY_MS ? Option.some(last.answer) : Option.none()

  const query = Effect.fnUntraced(function* (now: number) {
    const one = pending !== null && now - pending.sentAt < QUERY_EVERY_MS ? pending : yield* send(now)
    const answer = Option.flatten(yield* Effect.timeoutOption(Deferred.await(one.answer), one.sentAt + FRESH_MS - now))
    // A busy process may see the result before it sees that the time is over.
    return (yield* elapsed) - one.sentAt <= FRESH_MS ? answer : Option.none()
  })

  const newest = Effect.flatMap(elapsed, (now) => {
    const known = recent(now)
    return Option.isSome(known) ? Effect.succeed(known) : query(now)
  })

  return {
    newest,
    recent,
    get: Effect.flatMap(newest, Option.match({ onNone: () => freshResult(question), onSome: Effect.succeed })),
    forget: Effect.sync(() => {
      last = null
      pending = null
    })
  }
})

interface PendingQuery<A> {
  readonly sentAt: number
  /** None where it failed. */
  readonly answer: Deferred.Deferred<Option.Option<A>>
}

/** Asks again where the answer came too late to be believed, and dies where it always does. */
export const freshResult = Effect.fnUntraced(function* <A>(question: Effect.Effect<A>) {
  for (let tries = 0; tries < TRIES_AT_MOST; tries++) {
    const sentAt = yield* elapsed
    const answer = yield* question
    if ((yield* elapsed) - sentAt <= FRESH_MS) return answer
  }
  return yield* Effect.die(
    new TooLate(`${TRIES_AT_MOST} times the database took longer than ${FRESH_MS} ms to say what is in force`)
  )
})
