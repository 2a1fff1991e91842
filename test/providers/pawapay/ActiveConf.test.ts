import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { listed, openActiveConf, saidIn } from "../../../src/providers/pawapay/ActiveConf.ts"

import { answer, stub } from "../ProviderStub.ts"
import { chargeOf, open, overheard, party, payoutOf } from "./Orders.ts"

const keys = { "GET /public-key/http": [answer(200, [])] }
const payable = (operationTypes: unknown, provider = "MTN_MOMO_UGA", currency = "UGX") => ({
  country: "UGA",
  providers: [{ provider, currencies: [{ currency, operationTypes }] }]
})
const limitsOf = (minimum: bigint | null, maximum: bigint | null, availability = "operational", step = 1n) => ({
  availability,
  minimum,
  maximum,
  step
})

/** pawaPay as its lists of countries say, one after the other; each is read when the countries are asked for. */
const told = (...lists: ReadonlyArray<ReadonlyArray<unknown> | number>) =>
  Effect.gen(function* () {
    const answers = lists.map((one) => (typeof one === "number" ? answer(one, {}) : answer(200, { countries: one })))
    const { baseUrl, seen } = yield* stub({ ...keys, "GET /active-conf": answers })
    const { collections, payouts, provider } = yield* open(baseUrl)
    const countries = provider.reference?.countries
    if (collections.limits === undefined || payouts.limits === undefined || countries === undefined)
      return yield* Effect.die(new Error("pawaPay tells all of them"))
    const asked = () => seen.filter(({ line }) => line === "GET /active-conf").length
    return { payouts, collections, limits: payouts.limits, deposits: collections.limits, countries, asked }
  })
const mtn = party("UG", "MTN", "256770001234")
const airtel = party("UG", "AIRTEL", "256750001234")

describe("what pawaPay lists for the account", () => {
  it.live("is read once for many payments, in both forms, and names the limits, the decimals and what is closed", () =>
    Effect.gen(function* () {
      const { asked, deposits, limits } = yield* told([
        payable({
          DEPOSIT: { minAmount: "500", maxAmount: "5000000.5", status: "CLOSED" },
          PAYOUT: { minAmount: "1000.5", maxAmount: 2000, status: "DELAYED" }
        }),
        payable(
          [{ operationType: "PAYOUT", minTransactionLimit: "7", maxTransactionLimit: "8", status: "HIBERNATING" }],
          "AIRTEL_OAPI_UGA"
        ),
        payable({ PAYOUT: { minAmount: "1", maxAmount: "2", decimalsInAmount: "NONE" } }, "MPESA_KEN", "KES")
      ])
      const all = yield* Effect.all([limits(mtn, "UGX"), deposits(mtn, "UGX"), limits(airtel, "UGX")], {
        concurrency: "unbounded"
      })
      expect(all).toEqual([limitsOf(1001n, 2000n, "degraded"), limitsOf(500n, 5_000_000n, "down"), limitsOf(7n, 8n)])
      expect(yield* limits(party("KE", "MPESA", "254700001234"), "KES")).toEqual(limitsOf(100n, 200n, "operational", 100n))
      // A network or an operation that the whole list does not have is closed for the account.
      expect(yield* deposits(airtel, "UGX")).toEqual(limitsOf(null, null, "down"))
      expect(yield* limits(party("RW", "MTN", "250780001234"), "RWF")).toEqual(limitsOf(null, null, "down"))
      expect(asked()).toBe(1)
    })
  )

  it.live("is read in the mixed form of pawaPay's own page, too", () =>
    Effect.gen(function* () {
      const bounds = { minTransactionLimit: "1", maxTransactionLimit: "1000", decimalsInAmount: "NONE" }
      const { deposits, limits } = yield* told([
        payable([
          { DEPOSIT: { ...bounds, authType: "PROVIDER_AUTH", status: "CLOSED" } },
          { operationType: "PAYOUT", ...bounds, status: "DELAYED" },
          { operationType: "USSD_DEPOSIT", callbackUrl: "https://merchant.example/ussd" }
        ])
      ])
      expect(yield* limits(mtn, "UGX")).toEqual(limitsOf(1n, 1000n, "degraded"))
      expect(yield* deposits(mtn, "UGX")).toEqual(limitsOf(1n, 1000n, "down"))
    })
  )

  it.live("decides how many decimals a payment may have, against the table, too", () =>
    Effect.gen(function* () {
      const { collections, countries, payouts } = yield* told([
        payable({ PAYOUT: { decimalsInAmount: "NONE" }, DEPOSIT: { decimalsInAmount: "TWO_PLACES" } }, "MPESA_KEN", "KES")
      ])
      yield* countries
      expect(yield* payouts.send(payoutOf("KE", "KES", "MPESA", 1050n))).toMatchObject({ _tag: "Refused" })
      expect(yield* collections.charge(chargeOf("KE", "KES", "MPESA", 1050n))).not.toMatchObject({ _tag: "Refused" })
    })
  )

  it.live(
    "stays as it was while pawaPay does not answer, answers nothing, or hides a row, and what cannot be read bounds nothing",
    () =>
      Effect.gen(function* () {
        const good = payable({ PAYOUT: { minAmount: "500", maxAmount: "600" } })
        const torn = payable(
          { PAYOUT: { minAmount: "much", maxAmount: "0", decimalsInAmount: 7, status: null } },
          "AIRTEL_OAPI_UGA"
        )
        const { countries, limits } = yield* told([good], 503, [], [torn, { country: "UGA" }], [torn])
        expect(yield* limits(mtn, "UGX")).toEqual(limitsOf(500n, 600n))
        yield* Effect.flip(countries)
        expect(yield* limits(mtn, "UGX")).toEqual(limitsOf(500n, 600n))
        yield* countries
        expect(yield* limits(mtn, "UGX")).toEqual(limitsOf(500n, 600n))
        yield* overheard(countries)
        expect([yield* limits(mtn, "UGX"), yield* limits(airtel, "UGX")]).toEqual([limitsOf(500n, 600n), limitsOf(null, null)])
        yield* countries
        expect(yield* limits(mtn, "UGX")).toEqual(limitsOf(null, null, "down"))
      })
  )

  it("keeps one list however often a row is hidden, and knows nothing of what is closed once that is old", () => {
    const rows = (operationTypes: Readonly<Record<string, unknown>>, provider: string) => [
      { country: "UGA", providers: [{ provider, currencies: [{ currency: "UGX", operationTypes }] }] }
    ]
    let list = listed(rows({ PAYOUT: { minAmount: "500", maxAmount: "600", status: "CLOSED" } }, "MTN_MOMO_UGA"), true, null)
    for (let read = 0; read < 20_000; read++) list = listed(rows({ PAYOUT: {} }, "AIRTEL_OAPI_UGA"), false, list)
    expect(list.networks.size).toBe(2)
    const mtnLimits = { minimum: 500n, maximum: 600n, decimals: null }
    expect(saidIn(list)("MTN_MOMO_UGA", "payout", "UGX")).toEqual({ ...mtnLimits, availability: "down" })
    expect(saidIn(list, true)("MTN_MOMO_UGA", "payout", "UGX")).toEqual({ ...mtnLimits, availability: "operational" })
    expect(saidIn(list)("MTN_MOMO_RWA", "payout", "RWF")).toMatchObject({ availability: "down" })
    expect(saidIn(list, true)("MTN_MOMO_RWA", "payout", "RWF")).toBeUndefined()
  })

  it.live("refuses nothing where it was never read", () =>
    Effect.gen(function* () {
      const { limits } = yield* told(500)
      expect((yield* overheard(limits(mtn, "UGX"))).value).toEqual(limitsOf(null, null))
    })
  )

  it.effect("keeps all that read it waiting for two seconds together, and not each of them, while pawaPay does not answer", () =>
    Effect.gen(function* () {
      const { current } = yield* openActiveConf({ name: "pawapay", get: () => Effect.never })
      const reading = yield* Effect.forkChild(Effect.forEach(Array.from({ length: 50 }), () => current))
      yield* TestClock.adjust("2 seconds")
      expect(reading.pollUnsafe()).toBeDefined()
      expect(yield* Fiber.join(reading)).toStrictEqual(Array(50).fill(null))
    }).pipe(Effect.scoped)
  )
})
