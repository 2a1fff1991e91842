import { Deferred, Effect, Exit, Fiber, Option } from "effect"
import { elapsed, monotonicMs } from "../../runtime/Timer.ts"
import { TooLate } from "../../runtime/TooLate.ts"

// Effect's cached effects count their age from the result. A late result would be trusted for too long.

/** Every node sees a change within this time. It counts from the sending of the query, not from its result, which may be late. */
const FRESH_MS = 1_000
/** A result that is older than this is still used, but the next query is sent, so that callers rarely wait for one. */
const QUERY_EVERY_MS = 500
/** How long a result is used without a wait: shorter than `FRESH_MS`, by the time that a request takes to act on it. */
const USED_MS = 800
/** How often a query is sent whose results arrive too late to be used. */
const TRIES_AT_MOST = 3

export interface CachedQuery<A> {
  /** None when the database failed, or has not answered for a second. */
  readonly newest: Effect.Effect<Option.Option<A>>
  /** The last result, at this time of `elapsed`; none when it is too old, and the caller has to wait for `newest`. */
  readonly recent: (now: number) => Option.Option<A>
  /** As `newest`, but sends another query for this caller when there is none. Dies when that is not answered either. */
  readonly get: Effect.Effect<A>
  /** Discards earlier results. Call it after a change by this process. */
  readonly forget: Effect.Effect<void>
}

/** Caches a query that every request needs and that rarely changes: it is sent at most twice a second for all callers. */
export const cachedQuery = Effect.fnUntraced(function* <A>(question: Effect.Effect<A>) {
  const scope = yield* Effect.scope
  const fork = Effect.runForkWith(yield* Effect.context<never>())
  let last: { readonly sentAt: number; readonly answer: Option.Option<A> } | null = null
  let pending: PendingQuery<A> | null = null

  /** The query that is on its way, or a new one. A caller that is interrupted does not end it for the others. */
  const pendingAt = (now: number): PendingQuery<A> => {
    if (pending !== null && now - pending.sentAt < QUERY_EVERY_MS) return pending
    const one: PendingQuery<A> = { sentAt: now, answer: Deferred.makeUnsafe() }
    pending = one
    const sent = Effect.flatMap(Effect.exit(question), (exit) => {
      const answer = Exit.getSuccess(exit)
      // A discarded or replaced query still has a result for those who wait for it.
      if (pending === one) {
        pending = null
        if (Option.isSome(answer)) last = { sentAt: one.sentAt, answer }
      }
      return Deferred.succeed(one.answer, answer)
    })
    Fiber.runIn(fork(sent), scope)
    return one
  }

  const recent = (now: number): Option.Option<A> => {
    const age = last === null ? USED_MS : now - last.sentAt
    if (last === null || age >= USED_MS) return Option.none()
    if (age >= QUERY_EVERY_MS) pendingAt(now)
    return last.answer
  }

  const query = Effect.fnUntraced(function* (now: number) {
    const one = pendingAt(now)
    const answer = Option.flatten(yield* Effect.timeoutOption(Deferred.await(one.answer), one.sentAt + FRESH_MS - now))
    // A busy process may see the result before it notices that the time is over.
    return (yield* elapsed) - one.sentAt <= FRESH_MS ? answer : Option.none()
  })

  const newest = Effect.clockWith((clock) => {
    const now = monotonicMs(clock)
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
  /** None when it failed. */
  readonly answer: Deferred.Deferred<Option.Option<A>>
}

/** Repeats a query whose answer came too late to be trusted, and dies when it always does. */
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
