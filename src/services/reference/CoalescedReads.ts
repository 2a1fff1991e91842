import { Cache, Duration, Effect, Equal, Exit, Hash } from "effect"

/** A read and its name. Two reads are the same when their names are. */
class PendingRead<A, E> implements Equal.Equal {
  readonly name: string
  readonly read: Effect.Effect<A, E>

  constructor(name: string, read: Effect.Effect<A, E>) {
    this.name = name
    this.read = read
  }

  [Equal.symbol](that: unknown): boolean {
    return that instanceof PendingRead && that.name === this.name
  }

  [Hash.symbol](): number {
    return Hash.string(this.name)
  }
}

/** Beyond this number, concurrent reads are not shared. */
const MOST_SHARED = 1000

/** Concurrent identical reads share one call. An answer is cached for `life`, by default not at all; a failure is never cached. */
export const coalescedReads = <A, E>(life: (answer: A) => Duration.Duration = () => Duration.zero) =>
  Effect.map(
    Cache.makeWith<PendingRead<A, E>, A, E>(({ read }) => read, {
      capacity: MOST_SHARED,
      timeToLive: (exit) => (Exit.isSuccess(exit) ? life(exit.value) : Duration.zero)
    }),
    (waiting) => (name: string, read: Effect.Effect<A, E>) => Cache.get(waiting, new PendingRead(name, read))
  )
