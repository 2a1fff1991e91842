import { randomUUID } from "node:crypto"
import { expect, layer } from "@effect/vitest"
import { Effect } from "effect"
import { describe } from "vitest"
import { open, uganda } from "../../providers/mtn/Orders.ts"
import { eventually } from "../../support/SignedClient.ts"
import { MtnBench, movement } from "./SimulatorFixture.ts"

const TRANSFER = "/transfer"
const REQUEST = "/requesttopay"

layer(MtnBench.layer(), { excludeTestServices: true })("MTN as its wire shows it", (it) => {
  describe("a movement", () => {
    it.effect("is accepted with 202 and an empty body, and then has the status that is asked for", () =>
      Effect.gen(function* () {
        const { call, executions } = yield* MtnBench
        const id = randomUUID()
        const body = movement("disbursement", "order-1")
        expect(yield* call("POST", TRANSFER, { body, headers: { "x-reference-id": id } })).toMatchObject({
          status: 202,
          text: ""
        })
        const status = yield* eventually(call("GET", `${TRANSFER}/${id}`), ({ text }) => text.includes("SUCCESSFUL"))
        expect(status.json).toStrictEqual({
          financialTransactionId: expect.stringMatching(/^\d+$/),
          externalId: "order-1",
          amount: "20000",
          currency: "UGX",
          payee: { partyIdType: "MSISDN", partyId: "256700001234" },
          payerMessage: "lunch",
          payeeNote: "lunch",
          status: "SUCCESSFUL"
        })
        expect(yield* executions("order-1")).toMatchObject([{ reference: id, direction: "payout", amount_minor: 20_000 }])
        expect((yield* call("GET", `/requesttopay/${id}`, { product: "collection" })).status).toBe(404)
      })
    )

    it.effect("is made once for one X-Reference-Id, however many requests come at once", () =>
      Effect.gen(function* () {
        const { call, executions } = yield* MtnBench
        const headers = { "x-reference-id": randomUUID() }
        const post = call("POST", TRANSFER, { body: movement("disbursement", "order-2"), headers })
        const answers = yield* Effect.all([post, post, post], { concurrency: "unbounded" })
        expect(answers.map(({ status }) => status).sort()).toStrictEqual([202, 409, 409])
        expect((yield* post).json).toMatchObject({ code: "RESOURCE_ALREADY_EXIST" })
        yield* eventually(executions("order-2"), ({ length }) => length === 1)
      })
    )

    it.effect("fails after acceptance for lack of money or of an account", () =>
      Effect.gen(function* () {
        const { about, call } = yield* MtnBench
        const cases = [
          ["disbursement", TRANSFER, "0013", "NOT_ENOUGH_FUNDS"],
          ["disbursement", TRANSFER, "0016", "PAYEE_NOT_FOUND"],
          ["collection", REQUEST, "0016", "PAYER_NOT_FOUND"]
        ] as const
        for (const [product, path, ending, reason] of cases) {
          const [id, externalId] = [randomUUID(), `${product}-${ending}`]
          const body = movement(product, externalId, ending)
          expect((yield* call("POST", path, { product, body, headers: { "x-reference-id": id } })).status).toBe(202)
          const { json } = yield* call("GET", `${path}/${id}`, { product })
          expect(json).toMatchObject({ status: "FAILED", reason })
          expect(JSON.parse((yield* about(externalId, 1))[0]?.body ?? "")).toStrictEqual(json)
        }
      })
    )

    it.effect("beyond the account's balance fails, and takes nothing", () =>
      Effect.gen(function* () {
        const { call } = yield* MtnBench
        const id = randomUUID()
        const before = (yield* call("GET", "/account/balance")).json
        const body = movement("disbursement", "order-3", "1234", { amount: "1000000000000" })
        yield* call("POST", TRANSFER, { body, headers: { "x-reference-id": id } })
        expect((yield* call("GET", `${TRANSFER}/${id}`)).json).toMatchObject({ status: "FAILED", reason: "NOT_ENOUGH_FUNDS" })
        expect((yield* call("GET", "/account/balance")).json).toStrictEqual(before)
      })
    )

    it.effect("sends one unsigned callback, by POST or PUT, whatever the answer to it", () =>
      Effect.gen(function* () {
        const { about, call } = yield* MtnBench
        yield* call("POST", TRANSFER, { body: movement("disbursement", "order-4") })
        yield* call("POST", REQUEST, { product: "collection", body: movement("collection", "order-5") })
        const told = [(yield* about("order-4", 1))[0], (yield* about("order-5", 1))[0]]
        expect(told.map((one) => one?.method)).toStrictEqual(["POST", "PUT"])
      })
    )
  })

  describe("is refused", () => {
    const cases = [
      ["without an X-Reference-Id", { headers: { "x-reference-id": "" } }, 400, "BAD_REQUEST"],
      [
        "by one that is no UUID of version 4",
        { headers: { "x-reference-id": "6ba7b810-9dad-11d1-80b4-00c04fd430c8" } },
        400,
        "BAD_REQUEST"
      ],
      ["in another currency", { change: { currency: "GHS" } }, 500, "INVALID_CURRENCY"],
      ["in another environment", { environment: "mtnrwanda" }, 500, "NOT_ALLOWED_TARGET_ENVIRONMENT"],
      ["with a foreign callback host", { headers: { "x-callback-url": "https://a.example" } }, 500, "INVALID_CALLBACK_URL_HOST"],
      ["with an amount that is a number", { change: { amount: 20_000 } }, 400, "BAD_REQUEST"],
      ["with a fraction of a shilling", { change: { amount: "20000.5" } }, 400, "BAD_REQUEST"],
      ["of nothing", { change: { amount: "0" } }, 400, "BAD_REQUEST"],
      ["with an apostrophe", { change: { payeeNote: "It's" } }, 400, "BAD_REQUEST"],
      ["with a long message", { change: { payerMessage: "x".repeat(161) } }, 400, "BAD_REQUEST"],
      ["to a number with a plus", { change: { payee: { partyIdType: "MSISDN", partyId: "+256700001234" } } }, 400, "BAD_REQUEST"]
    ] as const
    for (const [name, wish, status, code] of cases) {
      it.effect(name, () =>
        Effect.gen(function* () {
          const { call } = yield* MtnBench
          const body = movement("disbursement", "refused", "1234", "change" in wish ? wish.change : {})
          const answer = yield* call("POST", TRANSFER, { ...wish, body })
          expect([answer.status, answer.json]).toMatchObject([status, { code }])
        })
      )
    }

    it.effect("by the API gateway for another product's key or token, and for an unknown path", () =>
      Effect.gen(function* () {
        const { call } = yield* MtnBench
        const foreign = { "ocp-apim-subscription-key": "collection-key" }
        expect((yield* call("GET", "/account/balance", { headers: foreign })).status).toBe(401)
        expect((yield* call("GET", "/account/balance", { headers: { authorization: "Bearer a.b" } })).status).toBe(401)
        expect((yield* call("GET", "/account/nothing")).status).toBe(404)
      })
    )
  })

  it.effect("has a wallet for each product, which payouts and collections change separately", () =>
    Effect.gen(function* () {
      const { call } = yield* MtnBench
      const read = { product: "collection" } as const
      const [pay, collect] = [(yield* call("GET", "/account/balance")).json, (yield* call("GET", "/account/balance", read)).json]
      yield* call("POST", TRANSFER, {
        environment: "mtnghana",
        body: movement("disbursement", "order-6", "1234", { amount: "10.50", currency: "GHS" })
      })
      yield* call("POST", REQUEST, {
        ...read,
        environment: "mtnghana",
        body: movement("collection", "order-7", "1234", { amount: "10.50", currency: "GHS" })
      })
      const ghana = { environment: "mtnghana" }
      expect((yield* call("GET", "/account/balance", ghana)).json).toStrictEqual({
        availableBalance: "9999999984.50",
        currency: "GHS"
      })
      const collected = { availableBalance: "10000000010.34", currency: "GHS" }
      yield* eventually(call("GET", "/account/balance", { ...read, ...ghana }), ({ text }) => text === JSON.stringify(collected))
      expect((yield* call("GET", "/account/balance")).json).toStrictEqual(pay)
      expect((yield* call("GET", "/account/balance", read)).json).toStrictEqual(collect)
    })
  )

  it.effect("answers the adapter with both wallets of each country, and the countries", () =>
    Effect.gen(function* () {
      const { baseUrl, control } = yield* MtnBench
      const { reference } = yield* open(baseUrl)
      const balances = reference?.balances ?? Effect.die("absent")
      const wallets = yield* balances
      expect(wallets.map(({ currency, pending }) => [currency, pending])).toStrictEqual([
        [uganda.currency, null],
        [uganda.currency, null],
        ["GHS", null],
        ["GHS", null]
      ])
      expect(wallets.every(({ available }) => available > 0n)).toBe(true)
      yield* control("next", { provider: "mtn", operation: "balance", ending: "0006" })
      expect(yield* Effect.flip(balances)).toMatchObject({ _tag: "provider_error" })
      expect(yield* reference?.countries ?? Effect.die("absent")).toStrictEqual([
        { country: "UG", name: "Uganda", phonePrefix: "+256", methods: ["momo"] },
        { country: "GH", name: "Ghana", phonePrefix: "+233", methods: ["momo"] }
      ])
      expect([reference?.banks, reference?.resolve]).toStrictEqual([undefined, undefined])
    })
  )
})
