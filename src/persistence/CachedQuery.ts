import { Clock, Deferred, Effect, Exit, Option, type Scope } from "effect"

/**
 * Every node sees an operator's change within this time: what the database says is believed for so long after it was asked, and not after it
 * answered, which it may do late.
 */
const FRESH_MS = 1_000
const QUERY_EVERY_MS = 500
/** So often a question is asked whose answer comes too late to be believed. */
const TRIES_AT_MOST = 3

export interface CachedQuery<A> {
  /** None where the database has not answered for a second, or failed. */
  readonly newest: Effect.Effect<Option.Option<A>>
  /** As `newest`; where there is none, the database is asked for this caller. Dies where it does not answer then either. */
  readonly get: Effect.Effect<A>
  /** What is asked for from now on was not answered before: for a change that this process has made. */
  readonly forget: Effect.Effect<void>
}

/** The answer to a question that everybody has and nobody changes often: it is asked twice a second at most, whoever wants to know. */
export const cachedQuery = Effect.fnUntraced(function* <A>(
  question: Effect.Effect<A>
): Effect.fn.Return<CachedQuery<A>, never, Scope.Scope> {
  const scope = yield* Effect.scope
  let last: { readonly sentAt: number; readonly answer: A } | null = null
  let pending: PendingQuery<A> | null = null

  const send = Effect.fnUntraced(function* (sentAt: number) {
    const one: PendingQuery<A> = { sentAt, answer: Deferred.makeUnsafe() }
    pending = one
    // Nobody who waits for it ends it for the others by going away.
    yield* Effect.forkIn(
      Effect.flatMap(Effect.exit(question), (exit) => {
        // One that was forgotten, or that a later one has taken the place of, tells only those who wait for it.
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

  const newest = Effect.gen(function* () {
    const now = yield* elapsed
    if (last !== null && now - last.sentAt < QUERY_EVERY_MS) return Option.some(last.answer)
    const one = pending !== null && now - pending.sentAt < QUERY_EVERY_MS ? pending : yield* send(now)
    const answer = Option.flatten(yield* Effect.timeoutOption(Deferred.await(one.answer), one.sentAt + FRESH_MS - now))
    // A busy process may hear of an answer before it hears that the time is over.
    return (yield* elapsed) - one.sentAt <= FRESH_MS ? answer : Option.none()
  })

  return {
    newest,
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
    new Error(`${TRIES_AT_MOST} times the database took longer than ${FRESH_MS} ms to say what is in force`)
  )
})

const NANOS_A_MS = 1_000_000

/** Milliseconds of a clock that nobody can set. */
export const elapsed: Effect.Effect<number> = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos) / NANOS_A_MS)
