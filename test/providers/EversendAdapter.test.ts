import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { describe } from "vitest"
import { minor } from "../../src/domain/Money.ts"
import type { Destination } from "../../src/domain/Party.ts"
import { opened, quoted, settled } from "./EversendDesk.ts"
import { askOrder, bank, chargeOrder, corridor, momo, newReference, payoutOrder, quoteOrder, wallet } from "./EversendOrders.ts"

const accepted = { _tag: "Accepted", observedAmount: 20_000n, observedCurrency: "UGX" }

describe("quotes", () => {
  it.live("within one currency, across two by source and by destination, and to the digit", () =>
    Effect.gen(function* () {
      const { payouts } = yield* opened("1234")
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

  it.live("what Eversend does not quote is refused, and a wallet without its owner is not even asked for", () =>
    Effect.gen(function* () {
      const { payouts } = yield* opened("1234")
      expect(yield* payouts.quote(quoteOrder({ amount: minor(499n) }))).toMatchObject({ _tag: "QuoteRefused", kind: "other" })
      const own = corridor("payout", "wallet")
      expect(yield* payouts.quote(quoteOrder({ corridor: own }))).toMatchObject({ _tag: "QuoteRefused", kind: "party" })
      expect(yield* payouts.quote(quoteOrder({ corridor: own, destination: wallet("0016") }))).toMatchObject({
        _tag: "QuoteRefused",
        kind: "party"
      })
    })
  )
})

describe("every way out and in", () => {
  const ways: ReadonlyArray<readonly [string, "momo" | "bank" | "wallet", Destination]> = [
    ["a phone", "momo", momo("1234")],
    ["a bank account", "bank", bank("1234")],
    ["a bank account of one word", "bank", bank("1234", "ACME")],
    ["a wallet", "wallet", wallet("1234")],
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
        const { payouts, simulator } = yield* opened("1234")
        const own = corridor("payout", method)
        const quote = yield* quoted(payouts, { corridor: own, destination })
        const order = payoutOrder({ corridor: own, quote, destination })
        expect(yield* payouts.send(order)).toMatchObject(accepted)
        expect(yield* settled(payouts.ask(askOrder(order.reference)), "Succeeded")).toMatchObject({
          amount: 20_000n,
          fee: quote.fee
        })
        expect(yield* Effect.promise(() => simulator.executions(order.reference))).toHaveLength(1)
      })
    )
  }

  it.live("sends the payer of Ghana to a page", () =>
    Effect.gen(function* () {
      const { collections } = yield* opened("1234")
      const order = chargeOrder("1234", {
        corridor: corridor("collection", "momo", "GH", "GHS"),
        source: { _tag: "momo", msisdn: Redacted.make("233200001234"), network: "MTN", country: "GH" },
        amount: minor(1050n),
        redirectUrl: "https://shop.example/back",
        payer: {
          firstName: Redacted.make("Jane"),
          lastName: null,
          email: Redacted.make("jane@example.com"),
          phone: null,
          externalId: "7"
        }
      })
      const outcome = yield* collections.charge(order)
      expect(outcome).toMatchObject({ _tag: "NeedsRedirect", observedAmount: 1050n, observedCurrency: "GHS" })
      if (outcome._tag !== "NeedsRedirect") return
      const ask = collections.ask({ ...askOrder(order.reference, outcome.providerReference), currency: "GHS" })
      expect(yield* ask).toMatchObject({ _tag: "StillPending" })
      yield* Effect.promise(async () => (await fetch(outcome.redirectUrl)).text())
      expect(yield* settled(ask, "Succeeded")).toMatchObject({ amount: 1050n, currency: "GHS" })
    })
  )

  it.live("finds by our reference although the identifier is wrong", () =>
    Effect.gen(function* () {
      const { payouts } = yield* opened("0010")
      const order = payoutOrder({ quote: yield* quoted(payouts), destination: momo("0010") })
      yield* payouts.send(order)
      expect(yield* payouts.ask(askOrder(order.reference, "BP0"))).toMatchObject({ _tag: "StillPending" })
    })
  )
})

it.live("a provider that refuses connections: nothing is sent, nothing is known, nothing is quoted", () =>
  Effect.gen(function* () {
    const { collections, payouts, simulator } = yield* opened("1234")
    const quote = yield* quoted(payouts)
    yield* Effect.promise(() => simulator.control("POST", "/down", { provider: "eversend", down: true }))
    expect(yield* payouts.send(payoutOrder({ quote }))).toMatchObject({ _tag: "NotSent" })
    expect(yield* collections.charge(chargeOrder("1234"))).toMatchObject({ _tag: "NotSent" })
    expect(yield* payouts.ask(askOrder(newReference()))).toMatchObject({ _tag: "Unknown", reason: "unavailable" })
    expect(yield* Effect.flip(payouts.quote(quoteOrder()))).toMatchObject({ _tag: "provider_error" })
  })
)
