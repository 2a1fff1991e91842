import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import type { Reference } from "../../src/domain/Ids.ts"
import type { Answer } from "../../src/services/ports/Provider.ts"
import { opened, quoted, settled } from "./EversendDesk.ts"
import { askOrder, chargeOrder, momo, newReference, payoutOrder } from "./EversendOrders.ts"

const succeeded: Expected = { _tag: "Succeeded", amount: 20_000n, currency: "UGX", fee: 1000n }
const charged: Expected = { _tag: "Succeeded", amount: 20_000n, currency: "UGX", fee: 300n }
const accepted = { _tag: "Accepted", observedAmount: 20_000n, observedCurrency: "UGX" }

type Expected = Partial<Record<string, unknown>> & { readonly _tag: Answer["_tag"] }

const rows: ReadonlyArray<
  readonly [ending: string, outcome: Partial<Record<string, unknown>>, later: Expected, laterCharged: Expected]
> = [
  ["1234", accepted, succeeded, charged],
  [
    "0002",
    accepted,
    { _tag: "Refused", failure: { code: "provider_rejected" } },
    { _tag: "Refused", failure: { code: "unknown" } }
  ],
  ["0003", { _tag: "Unknown", reason: "timeout" }, succeeded, charged],
  ["0004", { _tag: "Unknown", reason: "timeout" }, { _tag: "NotFound" }, { _tag: "NotFound" }],
  ["0005", { _tag: "Unknown", reason: "unavailable" }, succeeded, charged],
  ["0006", { _tag: "Unknown", reason: "bad_response" }, succeeded, charged],
  ["0007", { _tag: "Unknown", reason: "unavailable" }, { _tag: "NotFound" }, { _tag: "NotFound" }],
  ["0008", accepted, succeeded, charged],
  ["0009", accepted, succeeded, charged],
  ["0010", accepted, { _tag: "StillPending" }, { _tag: "StillPending" }],
  ["0011", accepted, succeeded, charged],
  ["0012", accepted, { _tag: "StillPending" }, { _tag: "StillPending" }],
  ["0015", accepted, { _tag: "Returned", amount: 20_000n, fee: 0n }, { _tag: "Returned", amount: 20_000n, fee: 0n }],
  ["0017", { _tag: "Unknown", reason: "unavailable" }, { _tag: "NotFound" }, { _tag: "NotFound" }]
]

describe("the endings", () => {
  for (const [ending, outcome, later, laterCharged] of rows) {
    it.live(`${ending}, a payout: ${outcome._tag}, then ${later._tag}`, () =>
      Effect.gen(function* () {
        const { payouts } = yield* opened(ending)
        const order = payoutOrder({ quote: yield* quoted(payouts), destination: momo(ending) })
        expect(yield* payouts.send(order)).toMatchObject(outcome)
        expect(yield* settled(payouts.ask(askOrder(order.reference)), later._tag)).toMatchObject(later)
      })
    )

    it.live(`${ending}, a collection: ${outcome._tag}, then ${laterCharged._tag}`, () =>
      Effect.gen(function* () {
        const { collections } = yield* opened(ending)
        const order = chargeOrder(ending)
        expect(yield* collections.charge(order)).toMatchObject(outcome)
        expect(yield* settled(collections.ask(askOrder(order.reference)), laterCharged._tag)).toMatchObject(laterCharged)
      })
    )
  }

  it.live("0001, 0013, 0016: a refused payout is a refusal, after a lookup that found nothing", () =>
    Effect.gen(function* () {
      const { payouts, simulator } = yield* opened("0001")
      const refusals = [
        ["0001", { kind: "other", failure: { code: "provider_rejected" } }],
        ["0013", { kind: "pool", failure: { code: "provider_rejected" } }],
        ["0016", { kind: "party", failure: { code: "invalid_destination" } }]
      ] as const
      for (const [ending, refusal] of refusals) {
        const order = payoutOrder({ quote: yield* quoted(payouts), destination: momo(ending) })
        expect(yield* payouts.send(order)).toMatchObject({ _tag: "Refused", providerReference: null, ...refusal })
        expect(yield* Effect.promise(() => simulator.executions(order.reference))).toEqual([])
      }
    })
  )

  it.live("0001, 0013, 0014, 0016, a collection: failed in the answer, ordinary, smaller, and no such payer", () =>
    Effect.gen(function* () {
      const { collections } = yield* opened("0001")
      const charge = (ending: string, reference: Reference) => collections.charge(chargeOrder(ending, { reference }))
      expect(yield* charge("0001", newReference())).toMatchObject({ _tag: "Refused", providerReference: expect.any(String) })
      expect(yield* charge("0016", newReference())).toMatchObject({
        _tag: "Refused",
        kind: "party",
        failure: { code: "payer_not_found" }
      })
      const [ordinary, smaller] = [newReference(), newReference()]
      expect(yield* charge("0013", ordinary)).toMatchObject(accepted)
      expect(yield* settled(collections.ask(askOrder(ordinary)), "Succeeded")).toMatchObject(charged)
      expect(yield* charge("0014", smaller)).toMatchObject(accepted)
      expect(yield* settled(collections.ask(askOrder(smaller)), "Succeeded")).toMatchObject({ amount: 18_000n, fee: 270n })
    })
  )

  it.live("0014: a payout's success names the larger fee", () =>
    Effect.gen(function* () {
      const { payouts } = yield* opened("0014")
      const order = payoutOrder({ quote: yield* quoted(payouts), destination: momo("0014") })
      const outcome = yield* payouts.send(order)
      const id = outcome._tag === "Accepted" ? outcome.providerReference : null
      expect(id).not.toBeNull()
      expect(yield* settled(payouts.ask(askOrder(order.reference, id)), "Succeeded")).toMatchObject({ ...succeeded, fee: 1200n })
    })
  )
})
