import type { Abilities, Way } from "../../../test/providers/contract/Orders.ts"
import type { Spoken } from "../HostileLine.ts"
import { absent, MINUTE, oneOfEach, type Plan, type PlannedKind, type Provided, SECOND } from "./Plan.ts"

// Cases beside those that seeds choose. Each choice has its reason, so that no luck decides whether a mistake of its kind is noticed.

interface Story {
  readonly name: string
  readonly kind: PlannedKind
  /** Undefined where the provider has no such corridor. */
  readonly way: (abilities: Abilities, provided: Provided) => Way | undefined
  readonly happens: (provided: Provided) => Partial<Plan>
}

export const storiesOf = (provided: Provided): ReadonlyArray<Plan> =>
  stories.flatMap(({ happens, kind, name, way: wayOf }) => {
    const way = wayOf(provided.abilities, provided)
    if (way === undefined) return []
    return [{ ...ordinary, kind, way, name: `story, ${name}: ${kind} by ${way.method} in ${way.country}`, ...happens(provided) }]
  })

/** The line is honest, and whatever happens is heard at once. */
const ordinary: Omit<Plan, "kind" | "way" | "name"> = {
  plot: "story",
  ending: "1234",
  line: { twist: () => null, name: "an honest line", hasBitten: () => false },
  honestAfterMs: 0,
  isOvertaken: false,
  isBroken: false,
  isStale: false,
  turnsAfterMs: null,
  contradictsAfterMs: null,
  visitsAfterMs: null,
  repeatsAfterMs: null,
  clicksAfterMs: null,
  callback: () => [0]
}

const paid = ({ payouts: [first] }: Abilities) => first
const prompted = ({ charges }: Abilities) => oneOfEach(charges).find(({ redirect }) => !redirect)
const prompting: Story["way"] = (abilities, { wrongCode }) => (wrongCode === null ? undefined : prompted(abilities))
const onPage = ({ charges }: Abilities) => oneOfEach(charges).find(({ redirect }) => redirect)
const onPageAlone: Story["way"] = (abilities) => (prompted(abilities) === undefined ? onPage(abilities) : undefined)
const exchanged = ({ exchange, payouts: [first] }: Abilities): Way | undefined =>
  exchange === undefined || first === undefined
    ? undefined
    : { ...first, country: "no country", currency: exchange.currency, method: "wallet", amount: exchange.amount }

/** Executed, its answer lost, and not found for longer than it takes to ask often enough, and for less than the provider may need to show it. */
const lost = ({ absences }: Provided): Partial<Plan> => ({
  line: absent(absences),
  honestAfterMs: 9 * MINUTE,
  isBroken: true,
  callback: () => []
})

/** Executed, its code called wrong, and not found for a while. */
const calledWrong = ({ absences, wrongCode }: Provided): Partial<Plan> => {
  const hidden = absent(absences)
  const change = (spoken: Spoken) => wrongCode ?? spoken
  return {
    hasCode: true,
    line: { ...hidden, twist: (asked) => (asked.method === "POST" ? { change } : hidden.twist(asked)) },
    honestAfterMs: 50 * SECOND,
    callback: () => []
  }
}

const stories: ReadonlyArray<Story> = [
  { name: "lost", kind: "payout", way: paid, happens: lost },
  { name: "lost", kind: "charge", way: prompted, happens: lost },
  { name: "made, and its code called wrong", kind: "charge", way: prompting, happens: calledWrong },
  {
    name: "made, and its code called wrong, and the payer begins anew",
    kind: "charge",
    way: prompting,
    // Later than the last order, and sooner than the code expires.
    happens: (provided) => ({ ...calledWrong(provided), clicksAfterMs: 5 * MINUTE })
  },
  // Weeks later it may be taken back: of a provider that has pages alone no seed need pay one.
  { name: "paid on its page", kind: "charge", way: onPageAlone, happens: () => ({ visitsAfterMs: 30 * SECOND }) },
  {
    name: "paid on a page that expired",
    kind: "charge",
    way: onPage,
    happens: () => ({ visitsAfterMs: 90 * MINUTE, callback: () => [] })
  },
  {
    name: "approved after it expired",
    kind: "charge",
    way: prompted,
    happens: () => ({ ending: "0010", turnsAfterMs: 22 * MINUTE, callback: () => [] })
  },
  {
    name: "open for ever, and a callback says that it succeeded",
    kind: "payout",
    way: paid,
    happens: () => ({ ending: "0010", contradictsAfterMs: 8 * SECOND })
  },
  { name: "failed with its fee", kind: "payout", way: paid, happens: () => ({ ending: "0002" }) },
  {
    name: "told three times, and the payer clicks again",
    kind: "charge",
    way: prompted,
    happens: () => ({ clicksAfterMs: 2 * MINUTE, callback: () => [0, 20 * SECOND, 10 * MINUTE] })
  },
  { name: "at another rate than one", kind: "exchange", way: exchanged, happens: () => ({}) }
]
