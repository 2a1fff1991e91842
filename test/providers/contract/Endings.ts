import { expect, type Vitest } from "@effect/vitest"
import { Effect, Option } from "effect"
import { minor } from "../../../src/domain/Money.ts"
import { collectionFee } from "../../../src/simulator/Fees.ts"
import { eventually } from "../../support/SignedClient.ts"
import { ContractBench, collectionsOf, verified } from "./Fixture.ts"
import { feeless, openLine, paidAtOnce } from "./Line.ts"
import { type Abilities, askOrder, chargeOrder, type Way } from "./Orders.ts"
import { expectDiscreet, idOf, type MoneyCall, type Played, played } from "./Play.ts"
import { type Row, refusals, rows } from "./Table.ts"

/** What the answer must say beside its tag. */
const expected = (
  later: Row["later"],
  { currency }: Way,
  { amount, fee }: Played,
  named: Pick<Abilities, "namesAmounts"> & { readonly fee: boolean }
) => {
  switch (later) {
    case "Succeeded":
      return { _tag: "Succeeded", amount: named.namesAmounts === false ? null : amount, currency, ...(named.fee ? { fee } : {}) }
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
          // Where nobody names an amount a payer approves the whole one, or nothing.
          const isWhole = kind === "charge" && abilities.namesAmounts === false
          const asked = isWhole ? { ...one, fee: minor(collectionFee(way.amount)) } : one
          expect(yield* one.ask(idOf(one.outcome))).toMatchObject(expected(later, way, asked, { ...abilities, fee: named }))
          const moved = (yield* executions(one.reference)).map(({ direction }) => direction)
          const wanted = { never: [], once: [directions[kind]], "once, and sent back": [directions[kind], "return"] }
          expect(moved).toStrictEqual(wanted[row.executed])
          const calledBack = kind === "payout" && abilities.callsBack?.payouts === false ? { ...row, callbacks: null } : row
          yield* expectCallbacks(calledBack, one, abilities)
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

  if (chargeWay !== undefined)
    it.effect("a charge is successful with its fee, or says that nobody knows it, so that the whole amount is not credited", () =>
      Effect.gen(function* () {
        const { baseUrl, open } = yield* ContractBench
        const one = yield* played("charge", chargeWay, "1234")
        const { _tag } = yield* eventually(one.ask(null), ({ _tag }) => _tag === "Succeeded")
        expect(_tag).toBe("Succeeded")
        const line = yield* openLine(baseUrl, feeless, 1, true)
        const { fetchStatus } = collectionsOf((yield* open(line.baseUrl)).live)
        const answer = yield* Effect.flatMap(askOrder(chargeWay, one.reference, idOf(one.outcome)), fetchStatus)
        // A fee that the contract names needs no word of the provider's. An answer that must have one is none without it.
        expect(answer).toMatchObject(
          answer._tag === "Succeeded" ? { fee: expect.toBeOneOf([one.fee, null]) } : { _tag: "Unknown", reason: "bad_response" }
        )
      })
    )

  const { paidAtOnce: paid } = abilities
  if (chargeWay !== undefined && paid !== undefined)
    it.effect("a charge that is paid in the answer, whose fee is not named yet, keeps the provider's own handle", () =>
      Effect.gen(function* () {
        const { baseUrl, open } = yield* ContractBench
        const line = yield* openLine(baseUrl, paidAtOnce(paid), 1, true)
        const outcome = yield* collectionsOf((yield* open(line.baseUrl)).live).charge(chargeOrder(chargeWay, "1234"))
        expect(idOf(outcome)).toBeTruthy()
      })
    )
}

const nobody = { payout: "invalid_destination", charge: "payer_not_found" } as const

/** A payout that is accepted has a handle, by which nobody takes it for never sent; an echo of the amount is exact, or is not there. */
const expectTracked = (kind: MoneyCall, { outcome }: Played, { amount, currency }: Way) => {
  if (outcome._tag !== "Accepted") return
  if (kind === "payout") expect(outcome.providerReference).toBeTruthy()
  if (outcome.observedAmount === null) return
  expect([outcome.observedAmount, outcome.observedCurrency]).toStrictEqual([amount, currency])
}

/** Genuine callbacks point at their transaction, and a forged one verifies only where nothing is signed. */
const expectCallbacks = Effect.fnUntraced(function* (row: Row, one: Played, { callbackAuth }: Abilities) {
  if (row.callbacks === null) return
  const { callbacks, live } = yield* ContractBench
  const answer = yield* one.ask(null)
  const names = [one.reference, idOf(one.outcome), "providerReference" in answer ? answer.providerReference : null]
  const forged = row.ending === "0012" ? 1 : 0
  const came = yield* callbacks(names, row.callbacks + forged)
  expect(came).toHaveLength(row.callbacks + forged)
  const hints = (yield* Effect.forEach(came, (callback) => verified(live, callback))).flatMap(Option.toArray)
  expect(hints).toHaveLength(row.callbacks + (callbackAuth === "none" ? forged : 0))
  for (const { providerReference, reference } of hints)
    expect(reference === one.reference || (providerReference !== null && names.includes(providerReference))).toBe(true)
})
