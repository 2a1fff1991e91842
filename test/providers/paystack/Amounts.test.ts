import { describe, expect, it } from "@effect/vitest"
import { Option, Result } from "effect"
import { fromSubunits, fromSubunitsDown, fromSubunitsUp, toSubunits } from "../../../src/providers/paystack/Amounts.ts"

describe("amounts in hundredths", () => {
  it("are exact both ways, for a currency without decimals too", () => {
    expect([toSubunits(12_345n, "GHS"), toSubunits(500n, "XOF")]).toStrictEqual([12_345n, 50_000n])
    expect(
      [fromSubunits("12345", "GHS"), fromSubunits("50000", "XOF")].map((one) => Option.getOrThrow(Result.getSuccess(one)))
    ).toStrictEqual([12_345n, 500n])
    expect(toSubunits(9_007_199_254_740_991n, "XOF")).toBe(900_719_925_474_099_100n)
  })

  it("that are not whole minor units are inexact; a fee is rounded up and a balance down", () => {
    for (const text of ["50050", "1.5", "-100", "1e4", ""])
      expect(Option.isNone(Result.getSuccess(fromSubunits(text, "XOF")))).toBe(true)
    expect(Option.getOrNull(Result.getSuccess(fromSubunitsUp("50001", "XOF")))).toBe(501n)
    expect(Option.getOrNull(Result.getSuccess(fromSubunitsDown("50099", "XOF")))).toBe(500n)
  })
})
