import { inspect } from "node:util"
import { expect, type Vitest } from "@effect/vitest"
import { Effect, Logger, Option, Redacted, References, Tracer } from "effect"
import type { Reference } from "../../src/domain/Ids.ts"
import { type MinorUnits, minor } from "../../src/domain/Money.ts"
import { LARGER_FEE } from "../../src/providers/simulation/Endings.ts"
import { collectionFee } from "../../src/providers/simulation/Fees.ts"
import type { Answer, ChargeOutcome, PayoutOutcome } from "../../src/services/ports/Provider.ts"
import { trailed } from "../../src/services/ports/ProviderTrail.ts"
import { eventually } from "../support/SignedClient.ts"
import { ContractBench, collectionsOf, payoutsOf, verified } from "./ContractBench.ts"
import { type Abilities, askOrder, chargeOrder, payoutOrder, type Way } from "./ContractOrders.ts"

type Tag<F extends { readonly _tag: string }> = F["_tag"]

interface Row {
  readonly ending: string
  readonly promise: string
  /** What the call itself may answer. */
  readonly answers: ReadonlyArray<Tag<PayoutOutcome>>
  /** What a question answers afterwards. */
  readonly later: Tag<Answer>
  readonly executed: "once" | "never" | "once, and sent back"
  /** Callbacks of the provider's own, forged ones not counted; null where its manners decide. */
  readonly callbacks: number | null
}

/** Silence becomes the truth only where the adapter looked it up. */
const unheard = ["Unknown", "Accepted", "Succeeded"] as const
const taken = ["Accepted", "Succeeded"] as const
const nothing = ["Unknown"] as const

const rows: ReadonlyArray<Row> = [
  { ending: "1234", promise: "succeeds", answers: taken, later: "Succeeded", executed: "once", callbacks: 1 },
  {
    ending: "0002",
    promise: "is accepted and then fails",
    answers: ["Accepted"],
    later: "Refused",
    executed: "never",
    callbacks: 1
  },
  { ending: "0003", promise: "is executed in silence", answers: unheard, later: "Succeeded", executed: "once", callbacks: 1 },
  { ending: "0004", promise: "is never heard of", answers: nothing, later: "NotFound", executed: "never", callbacks: 0 },
  { ending: "0005", promise: "is executed under HTTP 500", answers: unheard, later: "Succeeded", executed: "once", callbacks: 1 },
  { ending: "0006", promise: "is executed under garbage", answers: unheard, later: "Succeeded", executed: "once", callbacks: 1 },
  { ending: "0007", promise: "is reset", answers: nothing, later: "NotFound", executed: "never", callbacks: 0 },
  { ending: "0008", promise: "succeeds without a callback", answers: taken, later: "Succeeded", executed: "once", callbacks: 0 },
  { ending: "0009", promise: "tells of its success thrice", answers: taken, later: "Succeeded", executed: "once", callbacks: 3 },
  { ending: "0010", promise: "stays pending", answers: ["Accepted"], later: "StillPending", executed: "never", callbacks: 0 },
  { ending: "0011", promise: "tells in the wrong order", answers: taken, later: "Succeeded", executed: "once", callbacks: 2 },
  {
    ending: "0012",
    promise: "is pending, whatever callbacks say",
    answers: ["Accepted"],
    later: "StillPending",
    executed: "never",
    callbacks: 1
  },
  { ending: "0014", promise: "succeeds differently", answers: taken, later: "Succeeded", executed: "once", callbacks: 1 },
  {
    ending: "0015",
    promise: "succeeds and is sent back",
    answers: taken,
    later: "Returned",
    executed: "once, and sent back",
    callbacks: null
  },
  {
    ending: "0017",
    promise: "meets HTTP 503",
    answers: ["Unknown", "NotSent"],
    later: "NotFound",
    executed: "never",
    callbacks: 0
  }
]

const refusals = [
  { ending: "0001", promise: "is refused in the answer", answers: ["Refused"], kinds: ["party", "other", "limit"] },
  { ending: "0013", promise: "meets an empty pool", answers: ["Refused", "Accepted"], kinds: ["pool"] },
  { ending: "0016", promise: "has nobody at its other end", answers: ["Refused", "Accepted"], kinds: ["party"] }
] as const

/** What one payout or charge of an ending came to, and all that was said of it. */
interface Played {
  readonly said: string
  readonly reference: Reference
  readonly outcome: PayoutOutcome | ChargeOutcome
  readonly amount: MinorUnits
  readonly fee: MinorUnits
  readonly ask: (providerReference: string | null) => Effect.Effect<Answer>
}

type Kind = "payout" | "charge"
const silent = new Set(["0003", "0004"])

const played = Effect.fnUntraced(function* (kind: Kind, way: Way, ending: string) {
  const { impatient, live } = yield* ContractBench
  const sender = silent.has(ending) ? impatient : live
  if (kind === "payout") {
    const order = yield* payoutOrder(payoutsOf(live), way, ending)
    const { outcome, said } = yield* overheard(payoutsOf(sender).send(order))
    const { reference } = order
    const fee = ending === "0014" ? minor(order.quote.fee + LARGER_FEE) : order.quote.fee
    const ask = (id: string | null) => Effect.flatMap(askOrder(way, reference, id), payoutsOf(live).ask)
    return {
      reference,
      outcome,
      said,
      amount: order.quote.principal,
      fee,
      ask
    } satisfies Played
  }
  const order = chargeOrder(way, ending)
  const { outcome, said } = yield* overheard(collectionsOf(sender).charge(order))
  const { reference } = order
  const amount = ending === "0014" ? minor(order.amount - (order.amount + 9n) / 10n) : order.amount
  const ask = (id: string | null) => Effect.flatMap(askOrder(way, reference, id), collectionsOf(live).ask)
  return {
    reference,
    outcome,
    said,
    amount,
    fee: minor(collectionFee(amount)),
    ask
  } satisfies Played
})

/** All that a call says: its outcome, its log lines and spans, and what is kept of what was sent and received. */
const overheard = Effect.fnUntraced(function* <A>(call: Effect.Effect<A>) {
  const heard: Array<unknown> = []
  const logger = Logger.make(({ message, fiber }) => void heard.push(message, fiber.getRef(References.CurrentLogAnnotations)))
  const span: Tracer.Tracer["span"] = (options) => {
    const made = new Tracer.NativeSpan(options)
    heard.push(made.attributes)
    return made
  }
  const { outcome, raw } = yield* trailed(call).pipe(
    Effect.provide(Logger.layer([logger])),
    Effect.provideService(Tracer.Tracer, Tracer.make({ span }))
  )
  expect(raw).not.toBeNull()
  return { outcome, said: inspect([heard, outcome, raw], { depth: 9, maxStringLength: null, maxArrayLength: null }) }
})

/** Whom the money is from or for is nowhere in it; the last four digits are nobody. */
const expectDiscreet = ({ said }: Played, way: Way, ending: string) => {
  const party = way.party(ending)
  const number = Redacted.value(party._tag === "momo" ? party.msisdn : party._tag === "bank" ? party.accountNumber : party.value)
  expect(said).not.toContain(number.slice(-MASKED_LENGTH))
}
const MASKED_LENGTH = 7

/** What the answer must say beside its tag. */
const expected = (later: Row["later"], way: Way, { amount, fee }: Played, named: boolean) => {
  switch (later) {
    case "Succeeded":
      return { _tag: "Succeeded", amount, currency: way.currency, ...(named ? { fee } : {}) }
    case "Returned":
      return { _tag: "Returned", amount, fee: 0n }
    default:
      return { _tag: later }
  }
}

const directions = { payout: "payout", charge: "collection" } as const

/** Every ending of the simulator's table, for payouts and charges. */
export const endings = (it: Vitest.MethodsNonLive<ContractBench>, abilities: Abilities) => {
  const kinds = [
    { kind: "payout", way: abilities.payouts[0], named: abilities.namesFees.payouts, sentBack: abilities.sentBack.payouts },
    { kind: "charge", way: abilities.charges[0], named: true, sentBack: abilities.sentBack.charges }
  ] as const

  for (const { kind, named, sentBack, way } of kinds) {
    if (way === undefined) continue
    for (const row of rows) {
      it.effect(`a ${kind} ending in ${row.ending} ${row.promise}, executed ${row.executed}`, () =>
        Effect.gen(function* () {
          const { executions } = yield* ContractBench
          const one = yield* played(kind, way, row.ending)
          expect(row.answers).toContain(one.outcome._tag)
          expectTracked(kind, one, way)
          expectDiscreet(one, way, row.ending)
          if (row.executed === "once, and sent back") yield* eventually(executions(one.reference), ({ length }) => length === 2)
          const later = row.later === "Returned" ? sentBack : row.later
          yield* eventually(one.ask(null), ({ _tag }) => _tag === later)
          expect(yield* one.ask(idOf(one.outcome))).toMatchObject(expected(later, way, one, named))
          const moved = (yield* executions(one.reference)).map(({ direction }) => direction)
          const wanted = { never: [], once: [directions[kind]], "once, and sent back": [directions[kind], "return"] }
          expect(moved).toStrictEqual(wanted[row.executed])
          yield* expectCallbacks(row, one, abilities)
        })
      )
    }

    // A charge takes nothing from the pool.
    for (const { answers, ending, kinds: fitting, promise } of refusals.filter(
      ({ ending }) => kind === "payout" || ending !== "0013"
    )) {
      it.effect(`a ${kind} ending in ${ending} ${promise}, and is never executed`, () =>
        Effect.gen(function* () {
          const { executions } = yield* ContractBench
          const one = yield* played(kind, way, ending)
          expect(answers).toContain(one.outcome._tag)
          expectDiscreet(one, way, ending)
          const refusal =
            one.outcome._tag === "Refused" ? one.outcome : yield* eventually(one.ask(null), ({ _tag }) => _tag === "Refused")
          expect(refusal).toMatchObject({ _tag: "Refused" })
          if (refusal._tag !== "Refused") return
          // Some wires have one word for every refused charge.
          expect([...fitting, ...(kind === "charge" ? ["other"] : [])]).toContain(refusal.kind)
          if (refusal.kind === "party") expect(refusal.failure.code).toBe(nobody[kind])
          // Refused at once, it may be unknown there; it is never live or done.
          expect(["Refused", "NotFound"]).toContain((yield* one.ask(idOf(one.outcome)))._tag)
          expect(yield* executions(one.reference)).toStrictEqual([])
        })
      )
    }
  }

  const [chargeWay] = abilities.charges
  if (chargeWay !== undefined)
    it.effect("a charge ending in 0013 is an ordinary success", () =>
      Effect.gen(function* () {
        const one = yield* played("charge", chargeWay, "0013")
        yield* eventually(one.ask(null), ({ _tag }) => _tag === "Succeeded")
      })
    )
}

const nobody = { payout: "invalid_destination", charge: "payer_not_found" } as const

/** A payout that is accepted has a handle, by which nobody takes it for never sent; an echo of the amount is exact, or is not there. */
const expectTracked = (kind: Kind, { outcome }: Played, { amount, currency }: Way) => {
  if (outcome._tag !== "Accepted") return
  if (kind === "payout") expect(outcome.providerReference).toBeTruthy()
  if (outcome.observedAmount === null) return
  expect([outcome.observedAmount, outcome.observedCurrency]).toStrictEqual([amount, currency])
}

export const idOf = (outcome: PayoutOutcome | ChargeOutcome): string | null =>
  "providerReference" in outcome ? outcome.providerReference : null

/** Genuine callbacks point at their transaction, and a forged one verifies only where nothing is signed. */
const expectCallbacks = Effect.fnUntraced(function* (row: Row, one: Played, { webhookAuth }: Abilities) {
  if (row.callbacks === null) return
  const { callbacks, live } = yield* ContractBench
  const answer = yield* one.ask(null)
  const names = [one.reference, idOf(one.outcome), "providerReference" in answer ? answer.providerReference : null]
  const forged = row.ending === "0012" ? 1 : 0
  const came = yield* callbacks(names, row.callbacks + forged)
  expect(came).toHaveLength(row.callbacks + forged)
  const hints = (yield* Effect.forEach(came, (callback) => verified(live, callback))).flatMap(Option.toArray)
  expect(hints).toHaveLength(row.callbacks + (webhookAuth === "none" ? forged : 0))
  for (const { providerReference, reference } of hints)
    expect(reference === one.reference || (providerReference !== null && names.includes(providerReference))).toBe(true)
})
