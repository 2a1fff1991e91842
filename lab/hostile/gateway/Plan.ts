import type { Abilities, Way } from "../../../test/providers/contract/Orders.ts"
import { type Random, seeded } from "../../../test/support/Random.ts"
import { type MoneyCall, pickOf, planned } from "../Case.ts"
import type { Asked, Spoken, Twist } from "../HostileLine.ts"
import { type Absences, formOf } from "../Wires.ts"

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR

/** The orders are placed one after another, and the last of them is so much younger, by the clock of the story: up to five minutes were seen. */
const ORDERED_WITHIN = 6 * MINUTE

/** Ages at which the gateway looks for work and the outside goes on: a little after what a gateway's schedule has. */
export const AGES: ReadonlyArray<number> = [
  ...[1, 4, 8, 16, 31, 46, 61, 121, 301].map((seconds) => seconds * SECOND),
  ...[10, 12, 15, 16, 17, 20, 22, 25, 30, 40, 45, 60].map((minutes) => minutes * MINUTE + SECOND),
  ...[75, 90, 120, 180, 210, 240, 300].map((minutes) => minutes * MINUTE + ORDERED_WITHIN),
  ...[6, 7, 12, 13, 18, 24, 25, 26, 30, 31, 36, 47, 48, 49, 50, 52, 60, 72, 73, 74, 96, 120, 122].map(
    (hours) => hours * HOUR + ORDERED_WITHIN
  )
]

export type PlannedKind = MoneyCall | "exchange"

/** When the line is honest again, after the first request: at once, soon, after hours, or when a person already has the case. */
const HONEST_AFTER = [0, 0, 50 * SECOND, 50 * SECOND, 9 * MINUTE, 9 * MINUTE, 150 * MINUTE, 30 * HOUR] as const
/** Sooner than a provider's "not found" proves anything. */
const SOON = [0, 50 * SECOND, 9 * MINUTE] as const
const LATER = [5 * MINUTE, 22 * MINUTE, 12 * HOUR, 47 * HOUR] as const

// Without those that never answer: nobody moves the story's clock while it waits for an answer.
const ENDINGS = [
  ...(["1234", "1234", "1234", "1234", "0001", "0002", "0002", "0005", "0006", "0007", "0008"] as const),
  ...(["0009", "0010", "0011", "0012", "0013", "0014", "0015", "0016", "0017"] as const)
] as const

/**
 * What a case is about, one after another by its seed, so that a few cases play each of these:
 *
 * - hidden: the answer to the order is lost, and until the line is honest the provider says that it knows no such reference
 * - late: the payer goes to the page when it has expired, or approves hours later, and nobody calls back
 * - contradicted: an authentic callback says what is not so
 * - unreachable: the first provider's address refuses the connection, and another one serves the corridor
 * - turned: success turns into failure, or failure into success, and nobody calls back
 * - repeated: the tenant sends an order again whose answer was lost
 * - clicked: the payer clicks again after a charge that succeeds
 */
const PLOTS = [
  ...(["any", "hidden", "any", "late", "contradicted", "any", "unreachable", "turned", "repeated", "clicked"] as const)
] as const
/** A story is chosen by nobody's luck (Stories.ts). */
type Plot = (typeof PLOTS)[number] | "story"

/** What the outside does to one payment or exchange. */
export interface Plan {
  readonly plot: Plot
  readonly kind: PlannedKind
  readonly way: Way
  readonly ending: string
  readonly name: string
  readonly line: Pick<ReturnType<typeof planned>, "twist" | "hasBitten" | "name">
  readonly honestAfterMs: number
  /** To the order: its callbacks come before its answer; its connection breaks in place of the answer; its token has ended. */
  readonly isOvertaken: boolean
  readonly isBroken: boolean
  readonly isStale: boolean
  /** The provider changes its mind, so long after the first request. */
  readonly turnsAfterMs: number | null
  /** An authentic callback says the contrary of what is so. */
  readonly contradictsAfterMs: number | null
  /** The payer goes to the page. */
  readonly visitsAfterMs: number | null
  /** The tenant sends the same again, with its key; and the payer clicks once more, with another. */
  readonly repeatsAfterMs: number | null
  readonly clicksAfterMs: number | null
  /** The payer is sent a code for each click, and says it. */
  readonly hasCode?: true
  /** Of each callback: how long after it left it comes, and how often. */
  readonly callback: () => ReadonlyArray<number>
}

export interface Provided {
  readonly abilities: Abilities
  readonly refusals: Readonly<Record<MoneyCall, ReadonlyArray<Spoken>>>
  readonly absences: Absences
  /** What the provider says to a wrong code; null where it sends none. */
  readonly wrongCode: Spoken | null
  readonly isInferred: boolean
}

/** Chosen by the seed alone. */
export const planOf = (seed: number, provided: Provided): Plan => {
  const random = seeded(seed)
  const plot = PLOTS[seed % PLOTS.length] ?? "any"
  const kind = kindOf(plot, random, provided)
  const way = wayOf(plot, kind, random, provided)
  const plan = { ...chance(seed, { kind, random, provided, way }), ...particular(plot, { kind, random, provided, way }) }
  const { ending, honestAfterMs, line } = plan
  const name = `${seed}, ${plot} ${kind} ${ending} by ${way.method} in ${way.country}: ${line.name}, honest after ${honestAfterMs / SECOND} s`
  return { ...plan, plot, kind, way, name }
}

const kindOf = (plot: Plot, random: Random, { abilities: { exchange } }: Provided): PlannedKind => {
  if (plot === "late" || plot === "clicked") return "charge"
  const mayExchange = exchange !== undefined && plot !== "contradicted" && plot !== "turned"
  return mayExchange && random.chance(EXCHANGES) ? "exchange" : random.chance(0.5) ? "payout" : "charge"
}
const EXCHANGES = 0.3

const wayOf = (plot: Plot, kind: PlannedKind, random: Random, { abilities }: Provided): Way => {
  const { charges, exchange, payouts } = abilities
  // What waits for its payer's visit is not there before.
  const all = oneOfEach(charges)
  const [direct, onPages] = [all.filter(({ redirect }) => !redirect), all.filter(({ redirect }) => redirect)]
  const late = onPages.length > 0 ? onPages : direct
  const charged = { any: all, unreachable: all, late }[plot as string] ?? (direct.length > 0 ? direct : all)
  const way = pickOf(random, kind === "charge" ? charged : payouts)
  if (kind !== "exchange" || exchange === undefined) return way
  const { amount, currency } = exchange
  return { country: "no country", currency, method: "wallet", redirect: false, amount, party: way.party }
}

interface Given {
  readonly kind: PlannedKind
  readonly way: Way
  readonly random: Random
  readonly provided: Provided
}

type Chosen = Omit<Plan, "plot" | "kind" | "way" | "name">

/** Whatever may happen to any payment. */
const chance = (seed: number, { kind, provided, random, way }: Given): Chosen => {
  const some = (share: number, ...after: readonly [number, ...ReadonlyArray<number>]) =>
    random.chance(share) ? random.pick(after) : null
  const delays = seeded(~seed)
  return {
    ending: random.pick(ENDINGS),
    line: planned(random, provided.refusals[kind === "charge" ? "charge" : "payout"], provided.isInferred),
    honestAfterMs: random.pick(HONEST_AFTER),
    isOvertaken: random.chance(0.2),
    isBroken: random.chance(0.1),
    isStale: random.chance(0.1),
    turnsAfterMs: kind === "exchange" ? null : some(0.2, ...LATER),
    contradictsAfterMs: null,
    visitsAfterMs: way.redirect ? some(0.8, 30 * SECOND, 20 * MINUTE, 3 * HOUR) : null,
    repeatsAfterMs: some(0.3, 30 * SECOND, 10 * MINUTE),
    clicksAfterMs: kind === "charge" ? some(0.4, 10 * SECOND, 2 * MINUTE, 14 * MINUTE, 17 * MINUTE, 40 * MINUTE) : null,
    callback: () => comings(delays)
  }
}

/** What the plot needs, in place of chance. */
const particular = (plot: Plot, { kind, provided, random, way }: Given): Partial<Chosen> => {
  const soon = { honestAfterMs: random.pick(SOON), isStale: false, turnsAfterMs: null } as const
  switch (plot) {
    case "hidden": {
      const isLong = provided.isInferred && kind === "payout"
      const honestAfterMs = random.pick([4 * MINUTE, isLong ? 150 * MINUTE : 9 * MINUTE])
      const ending = random.pick(["1234", "1234", "0002", "0010"])
      return {
        ...soon,
        ending,
        line: absent(provided.absences),
        honestAfterMs,
        isBroken: true,
        isOvertaken: false,
        callback: never
      }
    }
    case "late":
      return way.redirect
        ? { ...soon, ending: "1234", visitsAfterMs: random.pick([90 * MINUTE, 3 * HOUR]), clicksAfterMs: null, callback: never }
        : { ...soon, ending: "0010", turnsAfterMs: random.pick([22 * MINUTE, 12 * HOUR, 47 * HOUR]), callback: never }
    case "contradicted": {
      const ending = random.pick(["1234", "0002", "0010"])
      return { ...soon, ending, contradictsAfterMs: random.pick([SECOND, 8 * SECOND, 3 * MINUTE]), callback: twice }
    }
    case "unreachable":
      return { ...soon, ending: random.pick(["1234", "1234", "0002", "0014"]) }
    case "turned":
      return { ...soon, ending: random.pick(["1234", "0008", "0002"]), turnsAfterMs: random.pick(LATER), callback: never }
    case "repeated":
      return { ...soon, ending: random.pick(["1234", "0005", "0009"]), isBroken: true, repeatsAfterMs: 30 * SECOND }
    case "clicked":
      return { ...soon, ending: "1234", clicksAfterMs: random.pick([10 * SECOND, 2 * MINUTE, 14 * MINUTE]) }
    case "any":
    case "story":
      return {}
  }
}

/** The provider finds nothing by our reference, whatever it has. */
export const absent = (absences: Absences): Plan["line"] => {
  let bitten = false
  const twist = ({ method, path }: Asked): Twist | null => {
    const instead = absences.get(`${method} ${formOf(path)}`)
    if (instead === undefined) return null
    bitten = true
    return { instead }
  }
  return { twist, name: "it is not found", hasBitten: () => bitten }
}

const never = (): ReadonlyArray<number> => []
const twice = (): ReadonlyArray<number> => [0, 20 * SECOND]

const comings = (random: Random): ReadonlyArray<number> => {
  if (random.chance(0.2)) return []
  const one = () => random.pick([0, 0, 0, 20 * SECOND, 10 * MINUTE, 5 * HOUR, 50 * HOUR])
  return random.chance(0.3) ? [one(), one()] : [one()]
}

/** A corridor has one way in which its payers pay. */
export const oneOfEach = (ways: ReadonlyArray<Way>): ReadonlyArray<Way> =>
  ways.filter((one, at) => ways.findIndex((other) => other.country === one.country && other.method === one.method) === at)
