import { Clock, Deferred, Effect, Exit, Option, type Scope } from "effect"

/**
 * Every node sees an operator's change within this time: what the database says is believed for so long after it was asked, and not after it
 * answered, which it may do late.
 */
const BELIEVED_MS = 1_000
const ASKED_EVERY_MS = 500
/** So often a question is asked whose answer comes too late to be believed. */
const TRIES_AT_MOST = 3

export interface LatestAnswer<A> {
  /** None where the database has not answered for a second, or failed. */
  readonly newest: Effect.Effect<Option.Option<A>>
  /** As `newest`; where there is none, the database is asked for this caller. Dies where it does not answer then either. */
  readonly get: Effect.Effect<A>
  /** What is asked for from now on was not answered before: for a change that this process has made. */
  readonly forget: Effect.Effect<void>
}

/** The answer to a question that everybody has and nobody changes often: it is asked twice a second at most, whoever wants to know. */
export const latestAnswer = Effect.fnUntraced(function* <A>(
  question: Effect.Effect<A>
): Effect.fn.Return<LatestAnswer<A>, never, Scope.Scope> {
  const scope = yield* Effect.scope
  let last: { readonly sentAt: number; readonly answer: A } | null = null
  let underWay: Asked<A> | null = null

  const send = Effect.fnUntraced(function* (sentAt: number) {
    const one: Asked<A> = { sentAt, answer: Deferred.makeUnsafe() }
    underWay = one
    // Nobody who waits for it ends it for the others by going away.
    yield* Effect.forkIn(
      Effect.flatMap(Effect.exit(question), (exit) => {
        // One that was forgotten, or that a later one has taken the place of, tells only those who wait for it.
        if (underWay === one) {
          underWay = null
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
    if (last !== null && now - last.sentAt < ASKED_EVERY_MS) return Option.some(last.answer)
    const one = underWay !== null && now - underWay.sentAt < ASKED_EVERY_MS ? underWay : yield* send(now)
    const answer = Option.flatten(yield* Effect.timeoutOption(Deferred.await(one.answer), one.sentAt + BELIEVED_MS - now))
    // A busy process may hear of an answer before it hears that the time is over.
    return (yield* elapsed) - one.sentAt <= BELIEVED_MS ? answer : Option.none()
  })

  return {
    newest,
    get: Effect.flatMap(newest, Option.match({ onNone: () => inTime(question), onSome: Effect.succeed })),
    forget: Effect.sync(() => {
      last = null
      underWay = null
    })
  }
})

interface Asked<A> {
  readonly sentAt: number
  /** None where it failed. */
  readonly answer: Deferred.Deferred<Option.Option<A>>
}

/** Asks again where the answer came too late to be believed, and dies where it always does. */
export const inTime = Effect.fnUntraced(function* <A>(question: Effect.Effect<A>) {
  for (let tries = 0; tries < TRIES_AT_MOST; tries++) {
    const sentAt = yield* elapsed
    const answer = yield* question
    if ((yield* elapsed) - sentAt <= BELIEVED_MS) return answer
  }
  return yield* Effect.die(
    new Error(`${TRIES_AT_MOST} times the database took longer than ${BELIEVED_MS} ms to say what is in force`)
  )
})

const NANOS_A_MS = 1_000_000

/** Milliseconds of a clock that nobody can set. */
export const elapsed: Effect.Effect<number> = Effect.map(Clock.monotonicTimeNanos, (nanos) => Number(nanos) / NANOS_A_MS)
