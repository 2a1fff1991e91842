import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { describe } from "vitest"
import type { Reference } from "../../src/domain/Ids.ts"
import { minor } from "../../src/domain/Money.ts"
import type { Destination } from "../../src/domain/Party.ts"
import type { Answer, Payouts, QuoteOrder } from "../../src/services/ports/Provider.ts"
import { startSimulator } from "./EversendBench.ts"
import {
  askOrder,
  bank,
  chargeOrder,
  collectionsOf,
  corridor,
  momo,
  newReference,
  open,
  payoutOrder,
  payoutsOf,
  quoteOrder,
  wallet
} from "./EversendOrders.ts"

const simulated = Effect.acquireRelease(
  Effect.promise(() => startSimulator()),
  ({ stop }) => Effect.promise(stop)
)

/** How long the calls take whose answer never comes. */
const IMPATIENT_MS = 500
const silent = new Set(["0003", "0004"])

const opened = Effect.fnUntraced(function* (ending: string) {
  const simulator = yield* simulated
  const provider = yield* open(simulator.eversendBaseUrl, silent.has(ending) ? { timeoutMs: IMPATIENT_MS } : {})
  return { simulator, payouts: payoutsOf(provider), collections: collectionsOf(provider) }
})

const quoted = Effect.fnUntraced(function* (payouts: Payouts, change: Partial<QuoteOrder> = {}) {
  const quote = yield* payouts.quote(quoteOrder(change))
  return "_tag" in quote ? yield* Effect.die(new Error(quote.note)) : quote
})

const ASKED_AT_MOST = 500

/** Asks until the answer is of one of these kinds. */
const settled = Effect.fnUntraced(function* (ask: Effect.Effect<Answer>, wanted: Answer["_tag"]) {
  for (let asked = 0; asked < ASKED_AT_MOST; asked++) {
    const answer = yield* ask
    if (answer._tag === wanted) return answer
  }
  return yield* Effect.die(new Error(`never ${wanted}`))
})

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
