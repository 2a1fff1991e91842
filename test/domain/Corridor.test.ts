import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { Availability, availabilityOf, Country, corridorKeyOf, networkOf, worse } from "../../src/domain/Corridor.ts"
import { Currency, exponents, isCurrency } from "../../src/domain/Currency.ts"

describe("the network of a request is found", () => {
  const ghana = { networks: ["MTN", "TELECEL", "AT"] }
  const tanzania = { networks: ["MPESA", "AIRTEL"] }

  it.each([
    [ghana, "GH", "MTN", "MTN"],
    [ghana, "GH", "mtn", "MTN"],
    [ghana, "GH", "Vodafone", "TELECEL"],
    [ghana, "GH", "AirtelTigo", "AT"],
    [ghana, "GH", "TELECEL", "TELECEL"],
    [tanzania, "TZ", "vodacom", "MPESA"],
    [tanzania, "TZ", "MPESA", "MPESA"]
  ])("whatever its case, and by its former name: %o in %s: %s is %s", (corridor, country, network, code) => {
    expect(networkOf(corridor, country, network)).toBe(code)
  })

  it("nowhere where the corridor does not have it, and a former name is that of its own country alone", () => {
    expect(networkOf(ghana, "GH", "GLO")).toBeUndefined()
    expect(networkOf({ networks: ["MTN"] }, "GH", "VODAFONE")).toBeUndefined()
    expect(networkOf({ networks: ["TELECEL", "MPESA"] }, "UG", "VODAFONE")).toBeUndefined()
    expect(networkOf({ networks: ["TELECEL", "MPESA"] }, "GH", "VODACOM")).toBeUndefined()
  })
})

describe("the availability of a corridor", () => {
  it.each([
    [1, 0, "operational"],
    [3, 0, "operational"],
    [3, 1, "degraded"],
    [3, 2, "degraded"],
    [3, 3, "down"],
    [1, 1, "down"]
  ] as const)("with %d providers of which %d are held back is %s", (tried, open, expected) => {
    expect(availabilityOf(tried, open)).toBe(expected)
  })

  it("of two is the worse one, in either order", () => {
    const order = ["operational", "degraded", "down"] as const
    expect(Availability.literals).toStrictEqual(order)
    for (const [at, one] of order.entries())
      for (const [to, other] of order.entries()) expect(worse(one, other)).toBe(order[Math.max(at, to)])
  })
})

describe("a corridor is named", () => {
  it("by country, currency, direction and method, whatever else a row has", () => {
    const key = { country: "UG", currency: "UGX", direction: "payout", method: "momo" } as const
    const row = { ...key, active: true }
    expect(corridorKeyOf(row)).toStrictEqual(key)
  })

  it("with a country of two capital letters", () => {
    const isCountry = Schema.is(Country)
    expect(["UG", "KE"].filter(isCountry)).toStrictEqual(["UG", "KE"])
    expect(["ug", "U", "UGA", " UG", "UG ", "UG\n", "U1", "", "xUG"].filter(isCountry)).toStrictEqual([])
    expect(() => Schema.decodeUnknownSync(Country)("Uganda")).toThrow("two capital letters such as UG")
  })

  it("with one of twelve currencies, each of which has its decimals", () => {
    expect(Currency.literals).toStrictEqual(Object.keys(exponents))
    const whole = Currency.literals.filter((currency) => exponents[currency] === 0)
    expect(whole).toStrictEqual(["UGX", "RWF", "XAF", "XOF"])
    const cents = Currency.literals.filter((currency) => exponents[currency] === 2)
    expect(cents).toStrictEqual(["KES", "GHS", "NGN", "TZS", "ZMW", "USD", "EUR", "GBP"])
    expect(["UGX", "ugx", "JPY", "", null, 1].filter(isCurrency)).toStrictEqual(["UGX"])
  })
})
