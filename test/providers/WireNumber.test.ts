import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { withoutNoise } from "../../src/providers/WireNumber.ts"

describe("the noise of floating point", () => {
  const cases: ReadonlyArray<readonly [string, string]> = [
    ["19.709999999999997", "19.710000000"],
    ["2462.3700000000003", "2462.370000000"],
    ["0.30000000000000004", "0.300000000"],
    ["9.999999999999998", "10.000000000"],
    ["26.875", "26.875"],
    ["19.71", "19.71"],
    ["12345", "12345"],
    // A rate is really so fine.
    ["0.025828573078999998", "0.025828573078999998"],
    ["-0.30000000000000004", "-0.30000000000000004"]
  ]
  for (const [said, meant] of cases)
    it(`makes ${said} of ${meant}`, () => {
      expect(withoutNoise(said)).toBe(meant)
    })

  it("never changes an amount by half a millionth", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 10 ** 9 }), fc.integer({ min: 1, max: 999 }), (cents, perMille) => {
        const noisy = (cents / 100) * (1 + perMille * 2 ** -52)
        expect(Math.abs(Number(withoutNoise(String(noisy))) - noisy)).toBeLessThan(0.000_000_5)
      })
    )
  })
})
