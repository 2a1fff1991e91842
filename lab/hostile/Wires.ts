import { Effect, Option, Redacted, Scope } from "effect"
import type { Adapter } from "../../src/services/ports/Provider.ts"
import type { KnownSimulator } from "../../src/simulator/SimulatorModule.ts"
import { collectionsOf, openBench, payoutsOf } from "../../test/providers/contract/Fixture.ts"
import {
  type Abilities,
  askOrder,
  chargeOrder,
  newReference,
  payerOf,
  payoutOrder
} from "../../test/providers/contract/Orders.ts"
import type { MoneyCall, Scene } from "./Case.ts"
import { type HostileLine, openHostileLine, type Spoken } from "./HostileLine.ts"

/** Of one case in so many the adapter has no token yet. */
const FRESH_EVERY = 6
/** By which a provider refuses at once: the call, the pool, the number. */
const REFUSED = ["0001", "0013", "0016"]

/** A provider's simulator with a line before it, and what it says when it refuses. */
export const openScene = Effect.fnUntraced(function* (
  known: KnownSimulator,
  abilities: Abilities
): Effect.fn.Return<Scene, never, Scope.Scope> {
  const bench = yield* openBench(known)
  const line = yield* openHostileLine(bench.baseUrl)
  const scope = yield* Scope.Scope
  const opened = Effect.provideService(bench.open(line.baseUrl), Scope.Scope, scope)
  const fresh = Effect.map(opened, ({ live }) => live)
  let adapter = yield* fresh
  let cases = 0
  const next = Effect.suspend(() => {
    cases += 1
    return cases % FRESH_EVERY === 0 ? Effect.map(fresh, (made) => (adapter = made)) : Effect.succeed(adapter)
  })
  const payout = yield* Effect.orDie(refusalsOf("payout", adapter, line, abilities))
  const charge = yield* Effect.orDie(refusalsOf("charge", adapter, line, abilities))
  // Where nothing of ours leads to a charge its refusal is believed: nothing else could tell.
  const isUnaskable = adapter.guarantees.chargeLookup !== undefined
  const ofCharges = isUnaskable ? [] : charge.length > 0 ? charge : payout
  return { bench, abilities, line, adapter: next, refusals: { payout, charge: ofCharges } }
})

/** What a provider says to a call that moves money when it refuses it. */
const refusalsOf = Effect.fnUntraced(function* (
  kind: MoneyCall,
  adapter: Adapter,
  line: Pick<HostileLine, "twist">,
  abilities: Abilities
) {
  const heard: Array<Spoken> = []
  const [paid] = abilities.payouts
  const [charged] = abilities.charges
  for (const ending of REFUSED) {
    const order = kind === "payout" && paid !== undefined ? yield* payoutOrder(payoutsOf(adapter), paid, ending) : null
    const posted: Array<Spoken> = []
    line.twist = ({ method }) => ({
      change: (spoken) => {
        if (method === "POST") posted.push(spoken)
        return spoken
      }
    })
    // Twice: what is refused for its token or its reference is heard, too.
    const outcome =
      order !== null
        ? yield* Effect.andThen(payoutsOf(adapter).send(order), payoutsOf(adapter).send(order))
        : charged !== undefined
          ? yield* collectionsOf(adapter).charge(chargeOrder(charged, ending))
          : null
    const isRefused = abilities.refusesUnder200 === true && outcome?._tag === "Refused"
    heard.push(...posted.filter(({ status }, at) => status >= 400 || (isRefused && at === posted.length - 1)))
    line.twist = null
  }
  return heard
})

/** What a provider says to a code that is wrong; null where it sends none. */
const wrongCodeOf = Effect.fnUntraced(function* (
  adapter: Adapter,
  line: Pick<HostileLine, "twist">,
  { charges: [charged] }: Abilities
) {
  const { charge, sendCode } = collectionsOf(adapter)
  if (sendCode === undefined || charged === undefined) return null
  const sent = yield* Effect.option(sendCode(payerOf(charged, "1234")))
  let heard: Spoken | null = null
  line.twist = ({ method }) => ({
    change: (spoken) => {
      if (method === "POST" && spoken.status >= 400) heard = spoken
      return spoken
    }
  })
  const pinId = Option.match(sent, { onNone: () => "", onSome: (code) => (code === "unknown" ? "" : code.pinId) })
  yield* charge(chargeOrder(charged, "1234", { pinId, pin: Redacted.make("no code") }))
  line.twist = null
  return heard
})

/** What a provider says to a question about a reference that it never heard of, by the method and the form of the question. */
export type Absences = ReadonlyMap<string, Spoken>

/** A path without what names one transaction. */
export const formOf = (path: string): string => path.replace(/\?.*$/, "").replace(/[^/]*\d[^/]*/g, "*")

const absencesOf = Effect.fnUntraced(function* (
  adapter: Adapter,
  line: Pick<HostileLine, "twist">,
  { charges, payouts }: Abilities
): Effect.fn.Return<Absences> {
  const heard = new Map<string, Spoken>()
  line.twist = ({ method, path }) => ({
    change: (spoken) => {
      heard.set(`${method} ${formOf(path)}`, spoken)
      return spoken
    }
  })
  for (const paid of payouts.slice(0, 1)) yield* payoutsOf(adapter).fetchStatus(yield* askOrder(paid, newReference()))
  for (const charged of charges.slice(0, 1)) yield* collectionsOf(adapter).fetchStatus(yield* askOrder(charged, newReference()))
  line.twist = null
  return heard
})

/** What a provider says to what it refuses, does not know, and cannot take. */
export const spokenBy = Effect.fnUntraced(function* (honest: Adapter, line: Pick<HostileLine, "twist">, abilities: Abilities) {
  const payout = yield* Effect.orDie(refusalsOf("payout", honest, line, abilities))
  // Where nothing of ours leads to a charge its refusal is believed: nothing else could tell.
  const isFound = honest.guarantees.chargeLookup === undefined
  const charge = isFound ? yield* Effect.orDie(refusalsOf("charge", honest, line, abilities)) : []
  const absences = yield* absencesOf(honest, line, abilities)
  return { refusals: { payout, charge }, absences, wrongCode: yield* wrongCodeOf(honest, line, abilities) }
})
