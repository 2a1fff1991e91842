import { Clock, Effect } from "effect"
import { type Random, seeded } from "../../test/support/Random.ts"
import { offBy } from "../../test/support/WrongClock.ts"
import { isDeclared } from "./Declared.ts"
import { MINUTE, OFF_AT_MOST_MS } from "./Movement.ts"

/**
 * In stories of these seeds the database's clock jumps by most of an hour, forward and back, and machines are suspended: everything on one stands
 * still, what it counts by as well, while the other goes on. Accounts are not swapped in them, and nothing is restored.
 */
export const UNSTEADY_FROM = 4_000_000

export const isUnsteady = (seed: number): boolean => seed >= UNSTEADY_FROM && !isDeclared(seed)

/** What the database's clock may be off by: after a failover it is another machine's. */
const DATABASE_OFF_MS = [-3_000, 0, 3_000] as const
/** Longer than any grace, window or lease that is told in minutes. */
const LARGE_OFF_MS = [-15 * MINUTE, -3_000, 0, 3_000, 40 * MINUTE] as const

/** How often the database's clock jumps, and to what, in stories of a seed. */
export const databaseJumps = (seed: number): { readonly share: number; readonly off: readonly [number, ...Array<number>] } =>
  isUnsteady(seed) ? { share: 0.1, off: [...LARGE_OFF_MS] } : { share: 0.05, off: [...DATABASE_OFF_MS] }

/** Two records may be so much nearer to each other, or further apart, than they were: as far as the clock jumps, and as long as a machine sleeps. */
export const offAtMost = (seed: number): number => (isUnsteady(seed) ? 24 * 60 * MINUTE : OFF_AT_MOST_MS)

/** How far the machine of each process is off: one ahead, one behind. Both take their time from the database. */
const OFF_MS = [11 * MINUTE, -11 * MINUTE]

/** The machines of the processes, which are suspended in some stories: the time of day goes on meanwhile, and the monotonic clock does not. */
export class Machines {
  readonly #random: Random | null
  readonly #slept = OFF_MS.map(() => 0n)
  #asleep: { readonly index: number; readonly since: bigint } | null = null

  constructor(seed: number) {
    this.#random = isUnsteady(seed) ? seeded(seed ^ 0x5bd1e995) : null
  }

  isAsleep(index: number): boolean {
    return this.#asleep?.index === index
  }

  clockOf(index: number, right: Clock.Clock): Clock.Clock {
    const own = offBy(right, OFF_MS[index] ?? 0)
    const monotonic = () => {
      const now = this.#asleep?.index === index ? this.#asleep.since : right.monotonicTimeNanosUnsafe()
      return now - (this.#slept[index] ?? 0n)
    }
    return { ...own, monotonicTimeNanosUnsafe: monotonic, monotonicTimeNanos: Effect.sync(monotonic) }
  }

  /** Now and then suspends one, or wakes the one that sleeps; answers which, and null where nothing changed. */
  readonly mayChange = Effect.suspend(() => {
    if (this.#random === null || !this.#random.chance(this.#asleep === null ? 0.15 : 0.25)) return Effect.succeed(null)
    return this.#asleep === null ? this.#suspend(this.#random.below(OFF_MS.length)) : this.wake
  })

  /** Wakes the one that sleeps. */
  readonly wake = Effect.map(Clock.Clock, (clock) => {
    if (this.#asleep === null) return null
    const { index, since } = this.#asleep
    this.#slept[index] = (this.#slept[index] ?? 0n) + clock.monotonicTimeNanosUnsafe() - since
    this.#asleep = null
    return { index, isAwake: true }
  })

  #suspend(index: number) {
    return Effect.map(Clock.Clock, (clock) => {
      this.#asleep = { index, since: clock.monotonicTimeNanosUnsafe() }
      return { index, isAwake: false }
    })
  }
}
