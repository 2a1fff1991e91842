import { expect, type Vitest } from "@effect/vitest"
import { Clock, Context, Effect, Layer } from "effect"
import { LatestTime } from "../../../src/runtime/LatestTime.ts"
import type { ChargeOutcome, PayoutOutcome, StatusOutcome } from "../../../src/services/ports/Provider.ts"
import { sendInTime } from "../../../src/services/routing/Failover.ts"
import { eventually } from "../../support/SignedClient.ts"
import { ContractBench, collectionsOf, IMPATIENCE_MS, payoutsOf } from "./Fixture.ts"
import { answeredAfter, type Fault, lostAnswer, openLine, silent, spoiled, unanswered, unheard } from "./Line.ts"
import { type Abilities, askOrder, chargeOrder, payoutOrder, type Way } from "./Orders.ts"
import { visited } from "./Play.ts"

type MoneyCall = "payout" | "charge"

/** One way out and one way in, and which of a fresh adapter's requests is the one that moves the money. */
interface Case {
  readonly kind: MoneyCall
  readonly way: Way
  readonly money: number
}

class MoneyRequests extends Context.Service<MoneyRequests, ReadonlyArray<Case>>()("test/MoneyRequests") {
  static readonly layer = (abilities: Abilities) =>
    Layer.effect(
      MoneyRequests,
      Effect.forEach(kindsOf(abilities), ({ kind, way }) =>
        Effect.map(moneyRequest(kind, way), (money) => ({ kind, way, money }))
      )
    )
}

const kindsOf = ({ charges: [charge], payouts: [payout] }: Abilities) => [
  ...(payout === undefined ? [] : [{ kind: "payout", way: payout } as const]),
  ...(charge === undefined ? [] : [{ kind: "charge", way: charge } as const])
]

/** A token, a recipient, the money, and more than anybody needs. */
const MOST_REQUESTS = 6

/** It is the first whose loss still leaves a transaction at the provider. */
const moneyRequest = Effect.fnUntraced(function* (kind: MoneyCall, way: Way) {
  const { live } = yield* ContractBench
  const isUnaskable = kind === "charge" && live.guarantees.chargeLookup !== undefined
  for (let number = 1; number <= MOST_REQUESTS; number++) {
    const { ask, line, outcome } = yield* sent({ kind, way, fault: lostAnswer, number, isLasting: false })
    if (line.reached() && (isUnaskable ? outcome._tag === "Unknown" : (yield* ask)._tag !== "NotFound")) return number
  }
  return yield* Effect.die(new Error(`no request of a ${kind} leaves a transaction`))
})

/** Which of an adapter's requests meets the fault, and whether the line stays bad after it. */
interface FaultyCall extends Pick<Case, "kind" | "way"> {
  readonly fault: Fault
  readonly number: number
  readonly isLasting: boolean
}

/** One payout or charge by an adapter that has not called before, over a bad line; questions go over a good one. */
const sent = Effect.fnUntraced(function* ({ fault, isLasting, kind, number, way }: FaultyCall) {
  const { baseUrl, executions, live, open } = yield* ContractBench
  const line = yield* openLine(baseUrl, fault, number, isLasting)
  const adapter = (yield* open(line.baseUrl, fault.end === "silence" ? IMPATIENCE_MS : undefined)).live
  if (kind === "payout") {
    const order = yield* payoutOrder(payoutsOf(live), way, "1234")
    const outcome: PayoutOutcome | ChargeOutcome = yield* justRecorded(payoutsOf(adapter).send(order))
    const ask = Effect.flatMap(askOrder(way, order.reference), payoutsOf(live).fetchStatus)
    return { outcome, line, ask, executions: executions(order.reference), isUnseen: false }
  }
  const order = chargeOrder(way, "1234")
  const answered: PayoutOutcome | ChargeOutcome = yield* justRecorded(collectionsOf(adapter).charge(order))
  const outcome = yield* visited(answered)
  const ask = Effect.flatMap(askOrder(way, order.reference), collectionsOf(live).fetchStatus)
  const isUnseen = way.redirect && answered._tag !== "NeedsRedirect"
  return { outcome, line, ask, executions: executions(order.reference), isUnseen }
})

/** As the gateway sends what it has recorded this moment. */
const justRecorded = <A>(call: Effect.Effect<A>) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.map(sendInTime(now, call), ({ outcome }) => outcome))

type Sent = Effect.Success<ReturnType<typeof sent>>

/** Nobody pays on a page to which nobody was sent. */
const isTrue = Effect.fnUntraced(function* ({ ask, executions, isUnseen }: Sent, arrived: "Succeeded" | "NotFound") {
  const truth: StatusOutcome["_tag"] = arrived === "Succeeded" && isUnseen ? "StillPending" : arrived
  yield* eventually(ask, ({ _tag }) => _tag === truth)
  expect(yield* executions).toHaveLength(truth === "Succeeded" ? 1 : 0)
})

/** The request that moves the money met a fault: what is not known is Unknown, and a question finds what is true. */
const onTheMoney = Effect.fnUntraced(function* ({ kind, money, way }: Case, fault: Fault, lasting: boolean) {
  const one = yield* sent({ kind, way, fault, number: money, isLasting: lasting })
  const isWhole = spoiled.includes(fault) && !one.line.hadBody()
  expect(believable(fault, lasting && !isWhole)).toContain(one.outcome._tag)
  yield* isTrue(one, fault.heard ? "Succeeded" : "NotFound")
})

/** Over a line that is good again the adapter may have looked for the truth itself. A reset may come before the first byte is written. */
const believable = ({ atOnce, heard }: Fault, stays: boolean): ReadonlyArray<string> =>
  heard && !stays ? ["Unknown", "Accepted", "Succeeded"] : ["Unknown", ...(atOnce ? ["NotSent"] : [])]

/** A request before it met a fault: no money was asked for, or the step could be done without. */
const before = Effect.fnUntraced(function* ({ kind, way }: Case, fault: Fault, number: number) {
  const one = yield* sent({ kind, way, fault, number, isLasting: false })
  expect(["NotSent", "Refused", "Accepted", "Succeeded"]).toContain(one.outcome._tag)
  const isSent = one.outcome._tag === "Accepted" || one.outcome._tag === "Succeeded"
  yield* isTrue(one, isSent ? "Succeeded" : "NotFound")
})

/** Longer than a payout is sent after it was recorded. */
const SUSPENDED_MS = 31_000

/** The machine is suspended once so many requests were answered, and at 0 before the first leaves: no money is asked for after that. */
const suspended = Effect.fnUntraced(function* ({ kind, way }: Case, after: number) {
  let isAsleep = false
  const fault = answeredAfter(() => (isAsleep = true))
  const latest = (clock: Clock.Clock) => {
    const now = clock.currentTimeMillisUnsafe()
    const seen = isAsleep ? now + SUSPENDED_MS : now
    if (after === 0) isAsleep = true
    return seen
  }
  const one = yield* Effect.provideService(sent({ kind, way, fault, number: after, isLasting: false }), LatestTime, latest)
  expect(isAsleep).toBe(true)
  expect(one.outcome).toMatchObject({ _tag: "NotSent" })
  yield* isTrue(one, "NotFound")
})

const earlier = ({ money }: Case): ReadonlyArray<number> => Array.from({ length: money - 1 }, (_, index) => index + 1)

/** Every way in which a line can be bad, at every request of a payout and of a charge. */
export const faults = (outer: Vitest.MethodsNonLive<ContractBench>, abilities: Abilities) =>
  outer.layer(MoneyRequests.layer(abilities), { concurrent: true })(
    "what was sent and not answered is unknown and never refused:",
    (it) => {
      for (const fault of [...unheard, ...unanswered, ...spoiled, ...silent])
        it.effect(fault.name, () =>
          Effect.gen(function* () {
            const cases = (yield* MoneyRequests).flatMap((one) => [
              onTheMoney(one, fault, true),
              onTheMoney(one, fault, false),
              ...(fault.end === "silence" ? [] : earlier(one).map((number) => before(one, fault, number)))
            ])
            yield* Effect.all(cases, { concurrency: "unbounded", discard: true })
          })
        )

      it.effect("and after a suspension no money leaves, whichever of its requests had gone out before", () =>
        Effect.gen(function* () {
          const cases = (yield* MoneyRequests).flatMap((one) => [0, ...earlier(one)].map((after) => suspended(one, after)))
          yield* Effect.all(cases, { concurrency: "unbounded", discard: true })
        })
      )
    }
  )
