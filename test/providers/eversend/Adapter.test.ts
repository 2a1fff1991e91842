import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { describe } from "vitest"
import { LARGEST_AMOUNT, minor } from "../../../src/domain/Money.ts"
import type { Destination } from "../../../src/domain/Party.ts"
import type { PayoutOperations, QuoteOrder } from "../../../src/services/ports/Provider.ts"
import { startSimulator } from "../../simulator/eversend/SimulatorFixture.ts"
import { eventually } from "../../support/SignedClient.ts"
import {
  askOrder,
  bank,
  chargeOrder,
  collectionsOf,
  corridor,
  open,
  payoutOrder,
  payoutsOf,
  quoteOrder,
  wallet
} from "./Orders.ts"

// What is particular to Eversend; what every adapter does is in Contract.test.ts.

/** The adapter before a simulator of its own. */
const opened = Effect.gen(function* () {
  const started = Effect.promise(() => startSimulator())
  const simulator = yield* Effect.acquireRelease(started, ({ stop }) => Effect.promise(stop))
  const adapter = yield* open(simulator.eversendBaseUrl)
  return { simulator, payouts: payoutsOf(adapter), collections: collectionsOf(adapter) }
})

const quoted = Effect.fnUntraced(function* (payouts: PayoutOperations, change: Partial<QuoteOrder> = {}) {
  const quote = yield* payouts.quote(quoteOrder(change))
  return "_tag" in quote ? yield* Effect.die(new Error(quote.note)) : quote
})

const accepted = { _tag: "Accepted", observedAmount: 20_000n, observedCurrency: "UGX" }

describe("a charge", () => {
  it.live("may be of any amount that the gateway takes", () =>
    Effect.gen(function* () {
      const { collections } = yield* opened
      const amount = minor(LARGEST_AMOUNT)
      expect(yield* collections.charge(chargeOrder("1234", { amount }))).toMatchObject({ ...accepted, observedAmount: amount })
    })
  )
})

describe("quotes", () => {
  it.live("are exact within one currency, and across two by source and by destination", () =>
    Effect.gen(function* () {
      const { payouts } = yield* opened
      expect(yield* payouts.quote(quoteOrder())).toMatchObject({
        principal: 20_000n,
        fee: 1000n,
        destinationAmount: 20_000n,
        destinationCurrency: "UGX",
        rate: null,
        expiresInMs: 1_740_000
      })
      const kenya = { destinationCurrency: "KES", destinationCountry: "KE" } as const
      const bySource = yield* quoted(payouts, kenya)
      expect(bySource).toMatchObject({ principal: 20_000n, destinationCurrency: "KES", rate: expect.any(String) })
      const byDestination = yield* quoted(payouts, { ...kenya, amount: minor(12_345n), amountType: "DESTINATION" })
      expect(byDestination).toMatchObject({ destinationAmount: 12_345n, destinationCurrency: "KES" })
    })
  )

  it.live("are refused for what Eversend does not quote, and not requested for a wallet without its owner", () =>
    Effect.gen(function* () {
      const { payouts } = yield* opened
      expect(yield* payouts.quote(quoteOrder({ amount: minor(499n) }))).toMatchObject({ _tag: "QuoteRefused", kind: "other" })
      const own = corridor("payout", "wallet")
      expect(yield* payouts.quote(quoteOrder({ corridor: own }))).toMatchObject({ _tag: "QuoteRefused", kind: "no_recipient" })
      expect(yield* payouts.quote(quoteOrder({ corridor: own, destination: wallet("0016") }))).toMatchObject({
        _tag: "QuoteRefused",
        kind: "party"
      })
    })
  )
})

describe("recipients that Eversend addresses in its own way", () => {
  const ways: ReadonlyArray<readonly [string, "momo" | "bank" | "wallet", Destination]> = [
    ["a bank account of one word", "bank", bank("1234", "ACME")],
    [
      "a wallet by its phone",
      "wallet",
      { _tag: "wallet", country: "UG", identifier: "msisdn", value: Redacted.make("256700001234") }
    ],
    [
      "a wallet by e-mail",
      "wallet",
      { _tag: "wallet", country: "UG", identifier: "email", value: Redacted.make("jane@example.com") }
    ]
  ]
  for (const [name, method, destination] of ways) {
    it.live(`pays out to ${name}, once`, () =>
      Effect.gen(function* () {
        const { payouts, simulator } = yield* opened
        const own = corridor("payout", method)
        const quote = yield* quoted(payouts, { corridor: own, destination })
        const order = payoutOrder({ corridor: own, quote, destination })
        expect(yield* payouts.send(order)).toMatchObject(accepted)
        const answer = yield* eventually(payouts.fetchStatus(askOrder(order.reference)), ({ _tag }) => _tag === "Succeeded")
        expect(answer).toMatchObject({ amount: 20_000n, fee: quote.fee })
        expect(yield* Effect.promise(() => simulator.executions(order.reference))).toHaveLength(1)
      })
    )
  }
})
