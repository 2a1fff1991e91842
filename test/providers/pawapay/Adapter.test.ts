import { generateKeyPairSync } from "node:crypto"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { ProviderError } from "../../../src/domain/errors/Retriable.ts"
import { paymentId } from "../../../src/providers/pawapay/Wire.ts"
import { newReference } from "../contract/Orders.ts"
import { answer, stub } from "../ProviderStub.ts"
import { askOrder, chargeOf, chargeOrder, open, overheard, payoutOf, payoutOrder } from "./Orders.ts"

const keys = { "GET /public-key/http": [answer(200, [])] }
const moneyCalls = (lines: ReadonlyArray<{ readonly line: string }>) =>
  lines.map(({ line }) => line).filter((line) => line !== "GET /public-key/http")

describe("calls to pawaPay", () => {
  it.live("send the token and the body, and nothing more, once", () =>
    Effect.gen(function* () {
      const order = payoutOrder()
      const accepted = { payoutId: paymentId(order.reference), status: "ACCEPTED" }
      const { baseUrl, seen } = yield* stub({ ...keys, "POST /payouts": [answer(200, accepted)] })
      const { payouts } = yield* open(`${baseUrl}/`)
      expect(yield* payouts.send(order)).toMatchObject({ _tag: "Accepted", providerReference: accepted.payoutId })
      expect(moneyCalls(seen)).toEqual(["POST /payouts"])
      const call = seen.find(({ line }) => line === "POST /payouts")
      expect(call?.headers).toMatchObject({ authorization: "Bearer the-token", "content-type": "application/json" })
      expect(JSON.parse(call?.body ?? "")).toEqual({
        payoutId: accepted.payoutId,
        amount: "20000",
        currency: "UGX",
        recipient: { type: "MMO", accountDetails: { provider: "MTN_MOMO_UGA", phoneNumber: "256770001234" } },
        clientReferenceId: order.reference
      })
    })
  )

  it.live("are not made for what pawaPay does not support", () =>
    Effect.gen(function* () {
      const { baseUrl, seen } = yield* stub(keys)
      const { collections, payouts } = yield* open(baseUrl)
      expect(yield* collections.charge(chargeOf("KE", "KES", "MPESA", 1050n))).toMatchObject({ _tag: "Refused", kind: "other" })
      expect(yield* payouts.send(payoutOf("TZ", "TZS", "TIGO", 10_001n))).toMatchObject({ _tag: "Refused", kind: "other" })
      const { errors, value } = yield* overheard(payouts.send(payoutOf("KE", "KES", "AIRTEL", 1000n)))
      expect(value).toMatchObject({ _tag: "Refused", kind: "config", failure: { code: "provider_rejected" } })
      expect(errors).toHaveLength(1)
      expect(moneyCalls(seen)).toEqual([])
    })
  )

  it.live("that meet an existing payment are followed at once by a status question, which decides", () =>
    Effect.gen(function* () {
      const order = chargeOrder()
      const depositId = paymentId(order.reference)
      const data = { depositId, status: "COMPLETED", amount: "20000", currency: "UGX", clientReferenceId: order.reference }
      const { baseUrl, seen } = yield* stub({
        ...keys,
        "POST /deposits": [answer(200, { depositId, status: "DUPLICATE_IGNORED" })],
        "GET /deposits": [answer(200, { status: "FOUND", data })]
      })
      const { collections } = yield* open(baseUrl)
      expect(yield* collections.charge(order)).toMatchObject({ _tag: "Succeeded", amount: 20_000n, currency: "UGX", fee: 300n })
      expect(moneyCalls(seen)).toEqual(["POST /deposits", `GET /deposits/${depositId}`])
    })
  )
})

describe("a status question", () => {
  const asked = Effect.fnUntraced(function* (data: object, then: object = data) {
    const reference = newReference()
    const found = (one: object) => answer(200, { status: "FOUND", data: { payoutId: paymentId(reference), ...one } })
    const { baseUrl, seen } = yield* stub({ ...keys, "GET /payouts": [found(data), found(then)] })
    const { payouts } = yield* open(baseUrl)
    const { errors, value } = yield* overheard(payouts.fetchStatus(askOrder(reference)))
    return { errors, fact: value, calls: moneyCalls(seen).length }
  })
  const completed = { status: "COMPLETED", amount: "100", currency: "UGX" }

  it.live("is not sure of a payment that failed for an unknown error", () =>
    Effect.gen(function* () {
      const failed = { status: "FAILED", failureReason: { failureCode: "UNKNOWN_ERROR" } }
      expect(yield* asked(failed)).toMatchObject({ fact: { _tag: "Refused", isUnsure: true }, calls: 1 })
      expect((yield* asked({ status: "FAILED" })).fact).not.toHaveProperty("isUnsure")
    })
  )

  it.live("that is answered with a new status is unknown, with an alarm and without a number in the log", () =>
    Effect.gen(function* () {
      const recipient = { type: "MMO", accountDetails: { provider: "MTN_MOMO_UGA", phoneNumber: "256770001234" } }
      const { errors, fact } = yield* asked({ ...completed, status: "REVERSED", recipient })
      expect(fact).toMatchObject({ _tag: "Unknown", reason: "bad_response" })
      expect(errors).toHaveLength(1)
      expect(errors[0]).toContain("REVERSED")
      expect(errors[0]).not.toContain("256770001234")
    })
  )
})

describe("reads of reference data", () => {
  const read = (path: string, body: unknown, status = 200) =>
    Effect.gen(function* () {
      const { baseUrl } = yield* stub({ ...keys, [path]: [answer(status, body)] })
      const { reference } = (yield* open(baseUrl)).provider
      if (reference?.balances === undefined || reference.countries === undefined) return yield* Effect.die(new Error("no reads"))
      return { balances: reference.balances, countries: reference.countries }
    })

  it.live("add up the wallets of a currency, and leave out currencies that the gateway does not have", () =>
    Effect.gen(function* () {
      const wallet = (country: string, currency: string, balance: string) => ({ country, currency, balance, provider: "" })
      const { balances } = yield* read("GET /wallet-balances", {
        balances: [
          wallet("CIV", "XOF", "1000"),
          wallet("ZMB", "ZMW", "21798.03"),
          wallet("BFA", "XOF", "250"),
          wallet("MWI", "MWK", "1")
        ]
      })
      expect(yield* balances).toEqual([
        { currency: "XOF", available: 1250n, pending: null },
        { currency: "ZMW", available: 2_179_803n, pending: null }
      ])
    })
  )

  it.live("list the countries in which payouts are open, in both forms of the configuration", () =>
    Effect.gen(function* () {
      const country = (iso3: string, operationTypes: unknown) => ({
        country: iso3,
        prefix: "000",
        displayName: { en: iso3 },
        providers: [{ provider: "P", currencies: [{ currency: "UGX", operationTypes }] }]
      })
      const { countries } = yield* read("GET /active-conf", {
        countries: [
          country("UGA", { DEPOSIT: {}, PAYOUT: { minAmount: "500" } }),
          country("KEN", [{ operationType: "PAYOUT", minTransactionLimit: "1" }]),
          country("RWA", { DEPOSIT: {} }),
          country("BEN", { PAYOUT: {} })
        ]
      })
      expect(yield* countries).toEqual([
        { country: "UG", name: "Uganda", phonePrefix: "+256", methods: ["momo"] },
        { country: "KE", name: "Kenya", phonePrefix: "+254", methods: ["momo"] }
      ])
    })
  )

  it.live("that fail are no answer about what was asked, and a wallet that cannot be read is left out", () =>
    Effect.gen(function* () {
      const { balances, countries } = yield* read("GET /wallet-balances", {
        balances: [{ country: "ZMB", balance: "-", currency: "ZMW" }]
      })
      expect(yield* balances).toStrictEqual([])
      expect(yield* Effect.flip(countries)).toStrictEqual(new ProviderError({}))
    })
  )
})

describe("the keys for callbacks", () => {
  const pem = () =>
    generateKeyPairSync("ec", { namedCurve: "prime256v1" }).publicKey.export({ type: "spki", format: "pem" }).toString()

  it.live("are read at the start with the account's token, and at most once soon after, however many callbacks fail", () =>
    Effect.gen(function* () {
      const { arrived, baseUrl, seen } = yield* stub({ "GET /public-key/http": [answer(200, [{ id: "K:1", key: pem() }])] })
      const { provider } = yield* open(baseUrl)
      yield* arrived("GET /public-key/http")
      const renew = provider.callbacks.refreshKeys ?? Effect.die(new Error("no renewal"))
      yield* Effect.all([renew, renew, renew], { concurrency: "unbounded" })
      yield* renew
      expect(seen.map(({ headers, line }) => [line, headers.authorization])).toEqual([
        ["GET /public-key/http", "Bearer the-token"]
      ])
    })
  )

  it.live("are not read when one is configured", () =>
    Effect.gen(function* () {
      const { baseUrl, seen } = yield* stub({})
      const callbackKey = generateKeyPairSync("ec", { namedCurve: "prime256v1" }).publicKey
      const { payouts, provider } = yield* open(baseUrl, { callbackKey, apiToken: Redacted.make("x") })
      yield* payouts.fetchStatus(askOrder(newReference()))
      expect(provider.callbacks.refreshKeys).toBeUndefined()
      expect(seen.map(({ line }) => line.split("/")[1])).toEqual(["payouts"])
    })
  )
})
