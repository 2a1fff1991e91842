import { expect, it } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { describe } from "vitest"
import { ProviderError } from "../../../src/domain/errors/Retriable.ts"
import type { Adapter } from "../../../src/services/ports/Provider.ts"
import type { ReferenceData } from "../../../src/services/ports/ProviderReads.ts"
import { answer, type Behaviour, reset, stub } from "../ProviderStub.ts"
import { open } from "./Orders.ts"

const BANKS = "GET /payouts/banks/UG"
const COUNTRIES = "GET /payouts/countries"
const RESOLVE = "POST /beneficiaries/accounts/banks"
const WALLETS = "GET /wallets"

const account = { country: "NG", bankCode: "14", accountNumber: Redacted.make("0012033048") }
const data = (inner: unknown) => answer(200, { code: 200, data: inner, success: true })

const referenceOf = ({ reference }: Adapter): Required<Omit<ReferenceData, "branches">> => {
  const { balances, banks, countries, resolve } = reference ?? {}
  if (banks === undefined || resolve === undefined || countries === undefined || balances === undefined)
    throw new Error("Eversend tells all of these")
  return { balances, banks, countries, resolve }
}

const before = Effect.fnUntraced(function* (behaviours: Readonly<Record<string, ReadonlyArray<Behaviour>>>) {
  const server = yield* stub(behaviours)
  return { server, reference: referenceOf(yield* open(server.baseUrl)) }
})

describe("Eversend's reference data", () => {
  it.effect("has the active banks, and none for a country that Eversend does not know", () =>
    Effect.gen(function* () {
      const { reference } = yield* before({
        [BANKS]: [
          data([
            { id: "342", active: true, name: "Default Bank", branch: { id: "312" }, code: "0000" },
            { id: 343, active: false, name: "Closed Bank", code: "0001" }
          ])
        ]
      })
      expect(yield* reference.banks("UG")).toStrictEqual([{ code: "0000", name: "Default Bank" }])
      expect(yield* reference.banks("RW")).toStrictEqual([])
    })
  )

  it.effect("resolves a name with the documented body", () =>
    Effect.gen(function* () {
      const { reference, server } = yield* before({
        [RESOLVE]: [data({ bank_code: "14", account_number: "0012033048", account_name: "JOHN DOE" })]
      })
      expect(yield* reference.resolve(account)).toStrictEqual(Redacted.make("JOHN DOE"))
      expect(JSON.parse(server.seen.at(-1)?.body ?? "")).toStrictEqual({
        accountNumber: "0012033048",
        bankCode: "14",
        countryCode: "NG"
      })
    })
  )

  for (const status of [400, 404, 422])
    it.effect(`treats ${status} as an account that does not exist`, () =>
      Effect.gen(function* () {
        const { reference } = yield* before({ [RESOLVE]: [answer(status, { message: "no such account" })] })
        expect(yield* reference.resolve(account)).toBe("unresolvable")
      })
    )

  for (const [why, behaviour] of [
    ["402", answer(402, {})],
    ["403", answer(403, {})],
    ["429", answer(429, {})],
    ["500", answer(500, {})],
    ["503", answer(503, {})],
    ["HTML", answer(200, "<html>", "text/html")],
    ["a page with 400", answer(400, "<html>", "text/html")],
    ["a page with 404", answer(404, "<html>", "text/html")],
    ["a page with 422", answer(422, "<html>", "text/html")],
    ["another shape", data({})],
    ["a blank name", data({ bank_code: "14", account_number: "1", account_name: " " })],
    ["a reset connection", reset]
  ] as const)
    it.effect(`treats ${why} as no answer`, () =>
      Effect.gen(function* () {
        const { reference } = yield* before({
          [BANKS]: [behaviour],
          [COUNTRIES]: [behaviour],
          [RESOLVE]: [behaviour],
          [WALLETS]: [behaviour]
        })
        const reads: ReadonlyArray<Effect.Effect<unknown, ProviderError>> = [
          reference.resolve(account),
          reference.banks("UG"),
          reference.countries,
          reference.balances
        ]
        for (const read of reads) expect(yield* Effect.flip(read)).toStrictEqual(new ProviderError({}))
      })
    )

  it.effect("translates payment types into methods and leaves out those that the gateway does not know", () =>
    Effect.gen(function* () {
      const uganda = { country: "UG", id: "999", name: "Uganda", paymentTypes: ["eversend", "cash", "momo"], phonePrefix: "+256" }
      const { reference } = yield* before({ [COUNTRIES]: [data({ countries: [uganda] })] })
      expect(yield* reference.countries).toStrictEqual([
        { country: "UG", name: "Uganda", phonePrefix: "+256", methods: ["momo", "wallet"] }
      ])
    })
  )

  it.effect("counts each wallet in its own minor units, and only the amount that could be paid out", () =>
    Effect.gen(function* () {
      const wallets = [
        { currency: "UGX", amount: 123, enabled: true },
        { currency: "KES", amount: "1783.829", enabled: true },
        { currency: "USDT", amount: 5, enabled: true },
        { currency: "GHS", amount: 7, enabled: false }
      ]
      const { reference } = yield* before({ [WALLETS]: [data(wallets), data([{ currency: "UGX", amount: -1, enabled: true }])] })
      expect(yield* reference.balances).toStrictEqual([
        { currency: "UGX", available: 123n, pending: null },
        { currency: "KES", available: 178_382n, pending: null }
      ])
      expect(yield* Effect.flip(reference.balances)).toStrictEqual(new ProviderError({}))
    })
  )
})
