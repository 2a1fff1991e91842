import { type Abilities, type Way } from "../../../test/providers/contract/Orders.ts"
import { type Random, seeded } from "../../../test/support/Random.ts"
import { type Kind, pickOf, planned } from "../Case.ts"
import type { Spoken } from "../HostileLine.ts"

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE

/** When the line is honest again, after the first request: at once, soon, after hours, or when a person already has the case. */
const HONEST_AFTER = [0, 0, 50 * SECOND, 50 * SECOND, 9 * MINUTE, 9 * MINUTE, 150 * MINUTE, 30 * HOUR] as const

// Without those that never answer: nobody moves the story's clock while it waits for an answer.
const ENDINGS = [
  ...(["1234", "1234", "1234", "1234", "0001", "0002", "0002", "0005", "0006", "0007", "0008"] as const),
  ...(["0009", "0010", "0011", "0012", "0013", "0014", "0015", "0016", "0017"] as const)
] as const

/** What the outside does to one payment, chosen by the seed alone. */
export interface Plan {
  readonly seed: number
  readonly kind: Kind
  readonly way: Way
  readonly ending: string
  readonly name: string
  readonly line: ReturnType<typeof planned>
  readonly honestAfterMs: number
  /** To the order: its callbacks come before its answer; its connection breaks in place of the answer; its token has ended. */
  readonly isOvertaken: boolean
  readonly isBroken: boolean
  readonly isStale: boolean
  /** The provider changes its mind, so long after the first request. */
  readonly turnsAfterMs: number | null
  /** The payer goes to the page. */
  readonly visitsAfterMs: number | null
  /** The tenant sends the same again, with its key; and the payer clicks once more, with another. */
  readonly repeatsAfterMs: number | null
  readonly clicksAfterMs: number | null
  /** Of each callback: how long after it left it comes, and how often. */
  readonly callback: () => ReadonlyArray<number>
}

export interface Provided {
  readonly abilities: Abilities
  readonly refusals: Readonly<Record<Kind, ReadonlyArray<Spoken>>>
  readonly isInferred: boolean
}

export const planOf = (seed: number, { abilities, isInferred, refusals }: Provided): Plan => {
  const random = seeded(seed)
  const kind: Kind = random.chance(0.5) ? "payout" : "charge"
  const way = pickOf(random, kind === "payout" ? abilities.payouts : oneOfEach(abilities.charges))
  const ending = random.pick(ENDINGS)
  const line = planned(random, refusals[kind], isInferred)
  const honestAfterMs = random.pick(HONEST_AFTER)
  const some = (share: number, ...after: readonly [number, ...ReadonlyArray<number>]) =>
    random.chance(share) ? random.pick(after) : null
  const delays = seeded(~seed)
  return {
    seed,
    kind,
    way,
    ending,
    line,
    honestAfterMs,
    name: `${kind} ${ending} by ${way.method} in ${way.country}: ${line.name}, honest after ${honestAfterMs / SECOND} s`,
    isOvertaken: random.chance(0.2),
    isBroken: random.chance(0.1),
    isStale: random.chance(0.1),
    turnsAfterMs: some(0.2, 5 * MINUTE, 22 * MINUTE, 12 * HOUR, 47 * HOUR),
    visitsAfterMs: way.redirect ? some(0.8, 30 * SECOND, 20 * MINUTE, 3 * HOUR) : null,
    repeatsAfterMs: some(0.3, 30 * SECOND, 10 * MINUTE),
    clicksAfterMs: kind === "charge" ? some(0.4, 10 * SECOND, 2 * MINUTE, 14 * MINUTE, 17 * MINUTE, 40 * MINUTE) : null,
    callback: () => comings(delays)
  }
}

const comings = (random: Random): ReadonlyArray<number> => {
  if (random.chance(0.2)) return []
  const one = () => random.pick([0, 0, 0, 20 * SECOND, 10 * MINUTE, 5 * HOUR, 50 * HOUR])
  return random.chance(0.3) ? [one(), one()] : [one()]
}

/** A corridor has one way in which its payers pay. */
export const oneOfEach = (ways: ReadonlyArray<Way>): ReadonlyArray<Way> =>
  ways.filter((one, at) => ways.findIndex((other) => other.country === one.country && other.method === one.method) === at)
