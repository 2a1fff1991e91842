import { Cache, Duration, Effect, Equal, Hash } from "effect"

/** A read with what is asked; two are the same when their names are. */
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

/** More at a time are asked each by itself. */
const MOST_SHARED = 1000

/** Identical reads that wait together share one call. Nothing is kept once it was answered, whatever the answer. */
export const coalescedReads = <A, E>() =>
  Effect.map(
    Cache.makeWith<PendingRead<A, E>, A, E>(({ read }) => read, { capacity: MOST_SHARED, timeToLive: () => Duration.zero }),
    (waiting) => (name: string, read: Effect.Effect<A, E>) => Cache.get(waiting, new PendingRead(name, read))
  )
