import { isDeepStrictEqual } from "node:util"
import { Effect } from "effect"
import type { Reference } from "../../src/domain/Ids.ts"
import type { Adapter, ChargeOutcome, PayoutOutcome, StatusOutcome } from "../../src/services/ports/Provider.ts"
import type { Execution } from "../../src/simulator/Facts.ts"
import { type ContractBench, collectionsOf, payoutsOf } from "../../test/providers/contract/Fixture.ts"
import { type Abilities, askOrder, chargeOrder, orderOn, quoteOrder, type Way } from "../../test/providers/contract/Orders.ts"
import { idOf } from "../../test/providers/contract/Play.ts"
import { type Random, seeded } from "../../test/support/Random.ts"
import type { Asked, HostileLine, Spoken, Twist } from "./HostileLine.ts"
import type { Mutation } from "./LineMutations.ts"
import { inOtherWords, mutations, refusedWith, withoutRows } from "./Mutations.ts"

export type MoneyCall = "payout" | "charge"

/** A provider that pays and charges over a line that its cases spoil, one after another. */
export interface Scene {
  readonly bench: ContractBench["Service"]
  readonly abilities: Abilities
  readonly line: HostileLine
  /** Over the line; opened anew where a token is to be got over it as well. */
  readonly adapter: Effect.Effect<Adapter>
  /** What the provider says to a call that moves money when it refuses it. */
  readonly refusals: Readonly<Record<MoneyCall, ReadonlyArray<Spoken>>>
}

/** What was told while the line was bad, and what is true. */
export interface Heard {
  readonly name: string
  readonly kind: MoneyCall
  readonly way: Way
  readonly ending: string
  readonly reference: Reference
  /** Each with the time at which it was asked. */
  readonly facts: ReadonlyArray<PayoutOutcome | ChargeOutcome | StatusOutcome>
  /** What is found once the line is good again. */
  readonly found: StatusOutcome
  /** What is heard of it over the bad line, where that changes nothing that an answer means. */
  readonly again: StatusOutcome | null
  readonly executions: ReadonlyArray<Execution>
  /** The lists of a provider that documents none for it showed the movement only some questions later, or nothing of ours leads to it. */
  readonly isHidden: boolean
  /** What was done to the line, and whether that changed anything that was said. */
  readonly mutation: string
  readonly hasBitten: boolean
}

const endings = [
  ...(["1234", "1234", "1234", "1234", "0001", "0002", "0005", "0006", "0008"] as const),
  ...(["0010", "0013", "0014", "0014", "0015", "0016", "0017"] as const)
] as const
/** Of these nothing more is heard. */
const open: ReadonlySet<string> = new Set(["0010"])
const LONGEST_MS = 20_000
const PAUSE_MS = 5

export const played = Effect.fnUntraced(function* (scene: Scene, seed: number) {
  const random = seeded(seed)
  const { bench, line } = scene
  const { executions, live } = bench
  const kind: MoneyCall = random.chance(0.5) ? "payout" : "charge"
  const way = pickOf(random, kind === "payout" ? scene.abilities.payouts : scene.abilities.charges)
  const ending = random.pick(endings)
  const adapter = yield* scene.adapter
  const plan = planned(random, scene.refusals[kind], adapter.guarantees.lookup === "by_client_ref_inferred")
  const spoil = Effect.sync(() => void (line.twist = plan.twist))
  const mend = Effect.sync(() => void (line.twist = null))

  const made = yield* ordered(scene, kind, way, ending)
  // Where the provider does not quote for such a recipient nothing is sent.
  if (made === null) return null
  const { askBy, reference, send } = made
  yield* spoil
  const outcome = yield* send(adapter)
  const facts: Array<PayoutOutcome | ChargeOutcome | StatusOutcome> = [outcome]
  const ask = (of: Adapter) => askBy(of, idOf(outcome))
  for (let times = random.below(3); times > 0; times--) facts.push(yield* ask(adapter))
  yield* mend
  if (outcome._tag === "NeedsRedirect") yield* visited(outcome.redirectUrl)
  const isOpen = open.has(ending) || (way.redirect && outcome._tag !== "NeedsRedirect")
  const isUnaskable = kind === "charge" && live.guarantees.chargeLookup !== undefined
  const found = yield* settled(ask(live), isOpen, isUnaskable ? LATE_LOOKS : 0)
  yield* spoil
  const last = yield* ask(adapter)
  yield* mend
  // Over the adapter itself, too: what it made of the bad line must not stay.
  const recovered = yield* ask(adapter)
  return {
    name: `${kind} ${ending} by ${way.method} in ${way.country}: ${plan.name}`,
    kind,
    way,
    ending,
    reference,
    facts: [...facts, last, recovered],
    found,
    again: plan.isTolerable ? last : null,
    isHidden: plan.isHidden || isUnaskable,
    mutation: plan.mutation,
    hasBitten: plan.hasBitten(),
    executions: yield* executions(reference)
  } satisfies Heard
})

/** Nothing of the plan is left to chance once it is made: the same seed spoils the same answers. */
export const planned = (random: Random, refusals: ReadonlyArray<Spoken>, isInferred: boolean) => {
  if (isInferred && refusals.length > 0 && random.chance(HIDDEN_SHARE)) return hiding(random, refusals)
  const own = refusals.flatMap(refusedWith)
  const mutation: Mutation = random.chance(0.2) && own.length > 0 ? pickOf(random, own) : pickOf(random, mutations)
  const isRefusal = own.includes(mutation)
  const manner = random.pick(["always", "always", "first", "second", "some"])
  // A provider that turns a call away has not heard it, sometimes.
  const isTurnedAway = / (429|503)/.test(mutation.name) && random.chance(0.5)
  let number = 0
  const isMeant = ({ method }: Asked): boolean => {
    number += 1
    if (isRefusal) return method === "POST"
    if (manner === "first" || manner === "second") return number === (manner === "first" ? 1 : 2)
    return manner === "always" || random.chance(0.5)
  }
  const { change, hasBitten } = watched((spoken) => mutation.change(spoken, random) ?? spoken)
  const twist = (asked: Asked): Twist | null => {
    if (!isMeant(asked)) return null
    const instead = isTurnedAway
      ? mutation.change({ early: null, status: 200, headers: {}, body: Buffer.alloc(0) }, random)
      : null
    return instead === null ? { change } : { instead }
  }
  const times = isRefusal ? "to every order" : manner
  return {
    twist,
    name: `${mutation.name}, ${times}${isTurnedAway ? ", unheard" : ""}`,
    isTolerable: mutation.isTolerable,
    isHidden: false,
    mutation: mutation.name,
    // What stands in place of an answer changed it.
    hasBitten: () => isTurnedAway || hasBitten()
  }
}

const watched = (change: (spoken: Spoken) => Spoken) => {
  let bitten = false
  return {
    change: (spoken: Spoken): Spoken => {
      const made = change(spoken)
      if (!isDeepStrictEqual(made, spoken)) bitten = true
      return made
    },
    hasBitten: () => bitten
  }
}

/** An order that is refused although it was executed, by a provider whose lists show the movement only some questions later. */
const hiding = (random: Random, refusals: ReadonlyArray<Spoken>) => {
  const refused = inOtherWords(pickOf(random, refusals))
  const polls = 1 + random.below(LONGEST_HIDDEN)
  const emptied = watched((spoken) => withoutRows(spoken, random) ?? spoken)
  let asked = 0
  const twist = ({ method }: Asked): Twist | null => {
    if (method === "POST") return { change: (spoken) => refused.change(spoken, random) ?? spoken }
    asked += 1
    return asked <= polls ? { change: emptied.change } : null
  }
  const { hasBitten } = emptied
  const name = `${refused.name}, and hidden for ${polls} questions`
  return { twist, name, mutation: HIDDEN, hasBitten, isTolerable: false, isHidden: true }
}
export const HIDDEN = "a movement that shows some questions later"
const HIDDEN_SHARE = 0.1
const LONGEST_HIDDEN = 6

const ordered = Effect.fnUntraced(function* ({ bench: { live } }: Scene, kind: MoneyCall, way: Way, ending: string) {
  if (kind === "payout") {
    const quote = yield* Effect.orElseSucceed(payoutsOf(live).quote(quoteOrder(way, ending)), () => null)
    if (quote === null || "_tag" in quote) return null
    const order = orderOn(quote, way, ending)
    return {
      reference: order.reference,
      send: (adapter: Adapter): Effect.Effect<PayoutOutcome | ChargeOutcome> => payoutsOf(adapter).send(order),
      askBy: (adapter: Adapter, id: string | null) =>
        Effect.flatMap(askOrder(way, order.reference, id), payoutsOf(adapter).fetchStatus)
    }
  }
  const order = chargeOrder(way, ending)
  return {
    reference: order.reference,
    send: (adapter: Adapter): Effect.Effect<PayoutOutcome | ChargeOutcome> => collectionsOf(adapter).charge(order),
    askBy: (adapter: Adapter, id: string | null) =>
      Effect.flatMap(askOrder(way, order.reference, id), collectionsOf(adapter).fetchStatus)
  }
})

/** Where nothing of ours leads to a charge it is found by its payment alone: so often it may be not found before that. */
const LATE_LOOKS = 40

/** Asks until nothing more will come of it. */
const settled = Effect.fnUntraced(function* (ask: Effect.Effect<StatusOutcome>, isOpen: boolean, lateLooks: number) {
  let late = lateLooks
  const until = Date.now() + LONGEST_MS
  if (isOpen) yield* Effect.sleep(PAUSE_MS * PAUSE_MS)
  for (;;) {
    const found = yield* ask
    const isLast = isOpen ? found._tag !== "Unknown" : found._tag !== "Unknown" && found._tag !== "StillPending"
    const isLate = found._tag === "NotFound" && late-- > 0
    if ((isLast && !isLate) || Date.now() > until) return found
    yield* Effect.sleep(PAUSE_MS)
  }
})

export const visited = (url: string) =>
  Effect.promise(() =>
    fetch(url).then(
      (page) => page.text(),
      () => ""
    )
  )

export const pickOf = <A>(random: Random, all: ReadonlyArray<A>): A => {
  const one = all[random.below(all.length)]
  if (one === undefined) throw new Error("there is nothing to choose from")
  return one
}
