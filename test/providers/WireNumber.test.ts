import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { type Currency, exponents, isCurrency } from "../../src/domain/Currency.ts"
import { LARGEST_AMOUNT, toDecimal } from "../../src/domain/Money.ts"
import { withoutNoise } from "../../src/providers/WireNumber.ts"

const currencies = Object.keys(exponents).filter(isCurrency)
const anyCurrency = fc.constantFrom<Currency>(...currencies)
/** Up to a milliard major units. */
const amountOf = (currency: Currency) => fc.bigInt({ min: 1n, max: 10n ** 9n * 10n ** BigInt(exponents[currency]) })

/** So many doubles further. */
const beside = (value: number, steps: number): number => {
  const bits = new BigInt64Array(new Float64Array([value]).buffer)
  bits[0] = (bits[0] ?? 0n) + BigInt(steps)
  return new Float64Array(bits.buffer)[0] ?? Number.NaN
}

describe("the noise of floating point", () => {
  const cases: ReadonlyArray<readonly [string, Currency, string]> = [
    ["19.709999999999997", "KES", "19.71"],
    ["2462.3700000000003", "KES", "2462.37"],
    ["66000.12000000001", "KES", "66000.12"],
    ["999999999.9899999", "KES", "999999999.99"],
    ["0.30000000000000004", "KES", "0.30"],
    ["9.999999999999998", "KES", "10.00"],
    ["65999.99999999999", "UGX", "66000"],
    // What is left where large figures cancel.
    ["0.09999999997671694", "KES", "0.10"],
    ["26.875", "KES", "26.875"],
    ["19.71", "KES", "19.71"],
    ["12345", "KES", "12345"],
    // A rate is really so fine, and so may a fee be.
    ["0.025828573078999998", "USD", "0.025828573078999998"],
    ["26.875000000000004", "KES", "26.875000000000004"],
    // So large a double does not tell.
    ["90071992547409.915", "KES", "90071992547409.915"],
    ["-0.30000000000000004", "KES", "-0.30000000000000004"]
  ]
  for (const [said, currency, meant] of cases)
    it(`makes ${said} ${currency} ${said === meant ? "stay as it is" : meant}`, () => {
      expect(withoutNoise(said, currency)).toBe(meant)
    })

  it("is cleaned at every size up to a milliard, in every currency", () => {
    const noisy = anyCurrency.chain((currency) =>
      fc.tuple(fc.constant(currency), amountOf(currency), fc.integer({ min: -4, max: 4 }))
    )
    fc.assert(
      fc.property(noisy, ([currency, amount, steps]) => {
        const meant = toDecimal(amount, currency)
        const value = beside(Number(meant), steps)
        const said = String(value)
        // Some doubles beside an amount are amounts themselves.
        fc.pre(/^\d+\.\d+$/.test(said) && (said.split(".")[1]?.length ?? 0) > exponents[currency])
        expect(withoutNoise(said, currency)).toBe(meant)
      })
    )
  })

  it("is never seen in what is exact within the currency's decimals, nor in one digit more", () => {
    const exact = anyCurrency.chain((currency) =>
      fc.tuple(fc.constant(currency), fc.bigInt({ min: 1n, max: LARGEST_AMOUNT }), fc.integer({ min: 1, max: 9 }))
    )
    fc.assert(
      fc.property(exact, ([currency, amount, digit]) => {
        const decimal = toDecimal(amount, currency)
        const finer = `${decimal}${decimal.includes(".") ? "" : "."}${digit}`
        expect([decimal, finer].map((text) => withoutNoise(text, currency))).toStrictEqual([decimal, finer])
      })
    )
  })
})
