import { inspect } from "node:util"
import { expect } from "@effect/vitest"
import { Effect, Logger, Redacted, References, Tracer } from "effect"
import type { Reference } from "../../../src/domain/Ids.ts"
import { type MinorUnits, minor } from "../../../src/domain/Money.ts"
import { withCapturedCall } from "../../../src/runtime/CapturedCall.ts"
import type { ChargeOutcome, PayoutOutcome, StatusOutcome } from "../../../src/services/ports/Provider.ts"
import { LARGER_FEE } from "../../../src/simulator/Endings.ts"
import { collectionFee } from "../../../src/simulator/Fees.ts"
import { abortedAfter } from "../../support/PatientClock.ts"
import { ContractBench, collectionsOf, payoutsOf } from "./Fixture.ts"
import { askOrder, chargeOrder, payoutOrder, type Way } from "./Orders.ts"

/** What one payout or charge of an ending came to, and all that was said of it. */
export interface Played {
  readonly said: string
  readonly reference: Reference
  readonly outcome: PayoutOutcome | ChargeOutcome
  readonly amount: MinorUnits
  readonly fee: MinorUnits
  readonly ask: (providerReference: string | null) => Effect.Effect<StatusOutcome>
}

export type MoneyCall = "payout" | "charge"
const silent = new Set(["0003", "0004"])

export const played = Effect.fnUntraced(function* (kind: MoneyCall, way: Way, ending: string) {
  const { impatient, live } = yield* ContractBench
  const sender = silent.has(ending) ? impatient : live
  if (kind === "payout") {
    const order = yield* payoutOrder(payoutsOf(live), way, ending)
    const { outcome, said } = yield* overheard(payoutsOf(sender).send(order))
    const { reference } = order
    const fee = ending === "0014" ? minor(order.quote.fee + LARGER_FEE) : order.quote.fee
    const ask = (id: string | null) => Effect.flatMap(askOrder(way, reference, id), payoutsOf(live).fetchStatus)
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
  const { outcome: answered, said } = yield* overheard(collectionsOf(sender).charge(order))
  const outcome = yield* visited(answered)
  const { reference } = order
  const amount = ending === "0014" && way.isFixed !== true ? minor(order.amount - (order.amount + 9n) / 10n) : order.amount
  // Where nothing else leads to it, the record keeps what its answer named.
  const kept = live.guarantees.chargeLookup === undefined ? null : idOf(outcome)
  const ask = (id: string | null) => Effect.flatMap(askOrder(way, reference, id ?? kept), collectionsOf(live).fetchStatus)
  return {
    reference,
    outcome,
    said,
    amount,
    fee: minor(collectionFee(amount)),
    ask
  } satisfies Played
})

/** A payer who is sent to a page has been there: the charge is accepted. The page may break down, or never load. */
export const visited = (outcome: PayoutOutcome | ChargeOutcome): Effect.Effect<PayoutOutcome | ChargeOutcome> => {
  if (outcome._tag !== "NeedsRedirect") return Effect.succeed(outcome)
  const { redirectUrl, ...accepted } = outcome
  const visit = fetch(redirectUrl, { signal: abortedAfter(LOADING_MS) }).then((page) => page.text())
  return Effect.promise(() =>
    visit.then(
      () => undefined,
      () => undefined
    )
  ).pipe(Effect.as({ ...accepted, _tag: "Accepted" as const }))
}
const LOADING_MS = 500

/** All that a call says: its outcome, its log lines and spans, and what is kept of what was sent and received. */
const overheard = Effect.fnUntraced(function* <A>(call: Effect.Effect<A>) {
  const heard: Array<unknown> = []
  const logger = Logger.make(({ message, fiber }) => void heard.push(message, fiber.getRef(References.CurrentLogAnnotations)))
  const span: Tracer.Tracer["span"] = (options) => {
    const made = new Tracer.NativeSpan(options)
    heard.push(made.attributes)
    return made
  }
  const { outcome, raw } = yield* withCapturedCall(call).pipe(
    Effect.provide(Logger.layer([logger])),
    Effect.provideService(Tracer.Tracer, Tracer.make({ span }))
  )
  expect(raw).not.toBeNull()
  return { outcome, said: inspect([heard, outcome, raw], { depth: 9, maxStringLength: null, maxArrayLength: null }) }
})

/** Whom the money is from or for is nowhere in it; the last four digits are nobody. */
export const expectDiscreet = ({ said }: Played, way: Way, ending: string) => {
  const party = way.party(ending)
  const number = Redacted.value(party._tag === "momo" ? party.msisdn : party._tag === "bank" ? party.accountNumber : party.value)
  expect(said).not.toContain(number.slice(-MASKED_LENGTH))
}
const MASKED_LENGTH = 7

export const idOf = (outcome: PayoutOutcome | ChargeOutcome): string | null =>
  "providerReference" in outcome ? (outcome.providerReference ?? null) : null
