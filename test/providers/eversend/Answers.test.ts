import { expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { describe } from "vitest"
import { answer, type Behaviour, chargeAnswer, listAnswer, reset, silence, stub, transaction } from "../ProviderStub.ts"
import { askOrder, chargeOrder, collectionsOf, corridor, open, payoutOrder, payoutsOf, quoteOrder } from "./Orders.ts"

const TIMEOUT_MS = 10_000
const SEARCH = "GET /transactions?"

describe("a payout that was delivered", () => {
  const { reference } = payoutOrder()
  const delivered = { status: "successful", destinationAmount: "360.005" }
  it.effect.each([
    ["what its recipient got in another currency", "KES", { amount: 36_000n, currency: "KES", raw: "360.005" }],
    ["nothing of what its recipient got in its own", "UGX", undefined]
  ] as const)("is reported with %s", ([, destinationCurrency, exchanged]) =>
    Effect.gen(function* () {
      const found = transaction(reference, { ...delivered, destinationCurrency })
      const server = yield* stub({ [SEARCH]: [answer(200, listAnswer(found))] })
      const fact = yield* payoutsOf(yield* open(server.baseUrl)).fetchStatus(askOrder(reference))
      expect(fact).toMatchObject({ _tag: "Succeeded", amount: 20_000n })
      expect("exchanged" in fact ? fact.exchanged : undefined).toEqual(exchanged)
    })
  )
})

describe("a charge", () => {
  const CHARGE = "POST /collections/momo"
  const ghana = corridor("collection", "momo", "GH", "GHS")
  const order = chargeOrder("1234", { corridor: ghana, redirectUrl: "https://shop.example/back" })
  const { reference } = order
  const said = (change: object) => answer(200, chargeAnswer(reference, { currency: "GHS", amount: "200.00", ...change }))
  const page = "https://pay.example/1"
  const redirect = { _tag: "NeedsRedirect", redirectUrl: page, observedAmount: 20_000n, observedCurrency: "GHS" }
  const strange = { _tag: "Unknown", reason: "bad_response" }
  const cases: ReadonlyArray<readonly [string, Behaviour, object]> = [
    ["names its page as redirectUrl", said({ redirectUrl: page }), redirect],
    ["names its page as redirect_url", said({ redirect_url: page }), redirect],
    ["names its page as authorizationUrl", said({ redirectUrl: null, authorizationUrl: page }), redirect],
    ["names its page as paymentLink", said({ paymentLink: page }), redirect],
    ["names no page where one is needed", said({}), strange],
    ["names a page that is none", said({ redirectUrl: "javascript:alert(1)" }), strange],
    ["fails at once", said({ status: "failed" }), { _tag: "Refused", kind: "other", failure: { code: "unknown" } }],
    [
      "is paid at once, without a fee",
      said({ status: "successful", redirectUrl: page }),
      { ...redirect, providerReference: "BE1" }
    ],
    [
      "is refused for the form of its number",
      answer(400, { message: { message: "phone number must be a valid international format" } }),
      { _tag: "Refused", kind: "party", failure: { code: "payer_not_found" } }
    ],
    [
      "is refused for the form of its payer",
      answer(400, { message: "customer must be a string" }),
      { _tag: "Refused", kind: "other" }
    ],
    ["may have been made where its payer is not found", answer(404, { message: "Account not found" }), strange],
    [
      "may have been made after other words",
      answer(400, { error: "read ECONNRESET" }),
      { _tag: "Unknown", reason: "bad_response" }
    ],
    ["may have been made after no words", answer(402, {}), { _tag: "Unknown", reason: "bad_response" }],
    ["answers with an error", answer(500, {}), { _tag: "Unknown", reason: "unavailable" }],
    ["breaks off", reset, { _tag: "Unknown", reason: "unavailable" }]
  ]
  for (const [name, behaviour, expected] of cases) {
    it.effect(name, () =>
      Effect.gen(function* () {
        const server = yield* stub({ [CHARGE]: [behaviour], [SEARCH]: [answer(200, listAnswer())] })
        expect(yield* collectionsOf(yield* open(server.baseUrl)).charge(order)).toMatchObject(expected)
        expect(server.seen.filter(({ line }) => line.startsWith(CHARGE))).toHaveLength(1)
      })
    )
  }

  it.effect("is not refused where it was made all the same", () =>
    Effect.gen(function* () {
      const made = transaction(reference, { type: "collection", currency: "GHS", status: "pending" })
      for (const status of [400, 402, 404]) {
        const server = yield* stub({ [CHARGE]: [answer(status, { error: "no" })], [SEARCH]: [answer(200, listAnswer(made))] })
        expect(yield* collectionsOf(yield* open(server.baseUrl)).charge(order)).toMatchObject({ _tag: "Accepted" })
      }
    })
  )

  it.effect("sends the amount as an exact JSON number", () =>
    Effect.gen(function* () {
      const server = yield* stub({ [CHARGE]: [said({ redirectUrl: page })] })
      yield* collectionsOf(yield* open(server.baseUrl)).charge(order)
      expect(server.seen.at(-1)?.body).toContain('"amount":200.00,')
      expect(server.seen.at(-1)?.headers).not.toHaveProperty("traceparent")
    })
  )
})

describe("a status question", () => {
  const { reference } = payoutOrder()
  const asked = Effect.fnUntraced(function* (
    behaviours: Readonly<Record<string, ReadonlyArray<Behaviour>>>,
    id: string | null = null
  ) {
    const server = yield* stub(behaviours)
    return { answer: yield* payoutsOf(yield* open(server.baseUrl)).fetchStatus(askOrder(reference, id)), server }
  })
  const full = Array.from({ length: 100 }, (_, index) => transaction(`OTHER${index}`))

  it.effect("reads one transaction as a list of one and as an object", () =>
    Effect.gen(function* () {
      const plain = { code: 200, data: transaction(reference, { status: "successful" }) }
      for (const said of [listAnswer(transaction(reference, { status: "successful" })), plain]) {
        const { answer: told } = yield* asked({ "GET /transactions/BP1": [answer(200, said)] }, "BP1")
        expect(told).toMatchObject({ _tag: "Succeeded", amount: 20_000n, fee: 1000n })
      }
    })
  )

  it.effect("does not believe a provider reference whose transaction has another reference of ours", () =>
    Effect.gen(function* () {
      const { answer: told } = yield* asked(
        {
          "GET /transactions/BP1": [answer(200, listAnswer(transaction("SOMEONEELSES", { status: "successful" })))],
          [SEARCH]: [answer(200, listAnswer())]
        },
        "BP1"
      )
      expect(told).toMatchObject({ _tag: "NotFound" })
    })
  )

  it.effect("continues to the page that has the transaction", () =>
    Effect.gen(function* () {
      const pages = [answer(200, listAnswer(...full)), answer(200, listAnswer(transaction(reference)))]
      const { answer: told, server } = yield* asked({ [SEARCH]: pages })
      expect(told).toMatchObject({ _tag: "StillPending", providerReference: "BP1" })
      expect(server.seen.map(({ line }) => new URLSearchParams(line.split("?")[1]).get("page"))).toEqual([null, "1", "2"])
    })
  )

  it.effect("does not take an endless list as not found", () =>
    Effect.gen(function* () {
      const { answer: told, server } = yield* asked({ [SEARCH]: [answer(200, listAnswer(...full))] })
      expect(told).toMatchObject({ _tag: "Unknown", reason: "bad_response" })
      expect(server.seen).toHaveLength(6)
    })
  )

  it.effect("reads a returned amount", () =>
    Effect.gen(function* () {
      const back = transaction(reference, { status: "successful", isRefunded: true, updatedAt: "2026-11-20T10:00:00.000Z" })
      const { answer: told } = yield* asked({ [SEARCH]: [answer(200, listAnswer(back))] })
      expect(told).toMatchObject({ _tag: "Returned", amount: 20_000n, fee: 0n, at: 1_795_168_800_000 })
    })
  )

  it.effect("learns nothing when the provider does not answer", () =>
    Effect.gen(function* () {
      const server = yield* stub({ [SEARCH]: [silence] })
      const fiber = yield* Effect.forkChild(payoutsOf(yield* open(server.baseUrl)).fetchStatus(askOrder(reference)))
      yield* server.arrived(SEARCH)
      yield* TestClock.adjust(TIMEOUT_MS)
      expect(yield* Fiber.join(fiber)).toMatchObject({ _tag: "Unknown", reason: "timeout" })
    })
  )
})

describe("a quotation", () => {
  const QUOTE = "POST /payouts/quotation"
  const quotation = (change: object) =>
    answer(200, {
      code: 200,
      data: {
        token: "t",
        quotation: {
          sourceCurrency: "UGX",
          sourceAmount: "20000",
          destinationCurrency: "UGX",
          destinationAmount: 20000,
          exchangeRate: 1,
          totalFees: "999.5",
          totalAmount: "20999.50",
          type: "momo",
          amount: "20000",
          ...change
        }
      }
    })
  const quoting = Effect.fnUntraced(function* (behaviour: Behaviour) {
    const server = yield* stub({ [QUOTE]: [behaviour] })
    return yield* payoutsOf(yield* open(server.baseUrl)).quote(quoteOrder())
  })

  it.effect("reserves a fee finer than the currency rounded up", () =>
    Effect.gen(function* () {
      expect(yield* quoting(quotation({}))).toMatchObject({ principal: 20_000n, fee: 1000n, rate: null, token: "t" })
    })
  )

  const unusable: ReadonlyArray<readonly [string, Behaviour]> = [
    ["whose sum is wrong", quotation({ totalAmount: "20999.51" })],
    ["for another amount", quotation({ sourceAmount: "20001", totalAmount: "21000.5" })],
    ["in another currency", quotation({ sourceCurrency: "KES" })],
    ["to another currency", quotation({ destinationCurrency: "KES" })],
    ["with a negative fee", quotation({ totalFees: "-1", totalAmount: "19999" })],
    ["that is not there", answer(200, { code: 200, data: {} })],
    ["answered by 401 twice", answer(401, {})],
    ["answered by 429", answer(429, {})],
    ["answered by 503", answer(503, {})],
    ["answered by a firewall's 403", answer(403, "<html>", "text/html")],
    ["answered by a proxy's 404", answer(404, "<html>", "text/html")],
    ["that breaks off", reset]
  ]
  for (const [name, behaviour] of unusable) {
    // The real clock: between two refused tokens a node waits a moment.
    it.live(`${name} is a provider error`, () =>
      Effect.gen(function* () {
        expect(yield* Effect.flip(quoting(behaviour))).toMatchObject({ _tag: "provider_error" })
      })
    )
  }

  for (const status of [400, 402, 403, 404]) {
    it.effect(`${status} is a refusal`, () =>
      Effect.gen(function* () {
        expect(yield* quoting(answer(status, {}))).toMatchObject({ _tag: "QuoteRefused", kind: "other" })
      })
    )
  }
})
