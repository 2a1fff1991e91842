import { expect, type Vitest } from "@effect/vitest"
import { Effect } from "effect"
import { LARGEST_AMOUNT, minor } from "../../../src/domain/Money.ts"
import { eventually } from "../../support/SignedClient.ts"
import { ContractBench, collectionsOf, payoutsOf } from "./Fixture.ts"
import { type Abilities, askOrder, chargeOrder, orderOn, payoutOrder, quoteOrder } from "./Orders.ts"
import { visited } from "./Play.ts"

const MANY = 20

/** Amounts at their limits, across currencies, and many at once. */
export const amounts = (it: Vitest.MethodsNonLive<ContractBench>, { charges: [taken], payouts: [paid] }: Abilities) => {
  if (paid !== undefined) {
    it.effect("quotes the same by source and by destination within one currency, and across two with a rate or not at all", () =>
      Effect.gen(function* () {
        const { quote } = payoutsOf((yield* ContractBench).live)
        const order = quoteOrder(paid, "1234")
        const bySource = yield* quote(order)
        const byDestination = yield* quote({ ...order, amountType: "DESTINATION" })
        const sums = { principal: paid.amount, destinationAmount: paid.amount, destinationCurrency: paid.currency, rate: null }
        expect(bySource).toMatchObject(sums)
        expect(byDestination).toMatchObject(sums)
        for (const amountType of ["SOURCE", "DESTINATION"] as const) {
          const across = yield* quote({
            ...order,
            amountType,
            corridor: { ...order.corridor, destinationCurrencies: [paid.currency, "NGN"] },
            destinationCurrency: "NGN",
            destinationCountry: "NG",
            destination: null
          })
          const isQuoted = !("_tag" in across)
          expect(across).toMatchObject(
            isQuoted
              ? { destinationCurrency: "NGN", rate: expect.stringMatching(/^\d+(\.\d+)?$/) }
              : { _tag: "QuoteRefused", kind: "other" }
          )
        }
      })
    )

    it.effect("the largest payout is quoted and sent exactly, or refused", () =>
      Effect.gen(function* () {
        const { executions, live } = yield* ContractBench
        const quoted = yield* Effect.result(payoutsOf(live).quote({ ...quoteOrder(paid, "1234"), amount: minor(LARGEST_AMOUNT) }))
        const quote = quoted._tag === "Success" && !("_tag" in quoted.success) ? quoted.success : undefined
        if (quote === undefined) return
        expect(quote.principal).toBe(LARGEST_AMOUNT)
        const order = orderOn(quote, paid, "1234")
        expect(["Refused", "Accepted", "Succeeded", "Unknown"]).toContain((yield* payoutsOf(live).send(order))._tag)
        for (const { amount_minor } of yield* executions(order.reference)) expect(BigInt(amount_minor)).toBe(LARGEST_AMOUNT)
      })
    )

    it.effect(`${MANY} payouts at once are executed once each`, () =>
      Effect.gen(function* () {
        const { baseUrl, executions, open } = yield* ContractBench
        const { live } = yield* open(baseUrl)
        const orders = yield* Effect.all(Array.from({ length: MANY }, () => payoutOrder(payoutsOf(live), paid, "1234")))
        yield* Effect.forEach(orders, (order) => payoutsOf(live).send(order), { concurrency: "unbounded" })
        for (const { reference } of orders) {
          const ask = Effect.flatMap(askOrder(paid, reference), payoutsOf(live).fetchStatus)
          yield* eventually(ask, ({ _tag }) => _tag === "Succeeded")
          expect(yield* executions(reference)).toHaveLength(1)
        }
      })
    )
  }

  if (taken !== undefined)
    it.effect("the largest charge is exact or refused", () =>
      Effect.gen(function* () {
        const { executions, live } = yield* ContractBench
        const order = { ...chargeOrder(taken, "1234"), amount: minor(LARGEST_AMOUNT) }
        const outcome = yield* Effect.flatMap(collectionsOf(live).charge(order), visited)
        expect(["Refused", "Accepted", "Succeeded", "Unknown"]).toContain(outcome._tag)
        if (outcome._tag === "Accepted" && outcome.observedAmount !== null) expect(outcome.observedAmount).toBe(LARGEST_AMOUNT)
        for (const { amount_minor } of yield* executions(order.reference)) expect(BigInt(amount_minor)).toBe(LARGEST_AMOUNT)
      })
    )
}
