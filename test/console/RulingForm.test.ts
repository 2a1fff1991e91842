import { describe, expect, it } from "@effect/vitest"
import { h } from "preact"
import { renderToString } from "preact-render-to-string"
import { rulingFields, rulingOf } from "../../src/console/pages/Reviews.ts"
import { minor } from "../../src/domain/Money.ts"
import type { Transaction } from "../../src/domain/Transaction.ts"
import { cases } from "../support/ReviewCases.ts"
import { collection } from "../support/SampleTransactions.ts"

const amountRead = (record: Transaction, amount: string) => {
  const ruling = rulingOf(new URLSearchParams({ outcome: "successful", evidence: "a statement", seen: "1", amount }), record)
  return typeof ruling === "string" ? ruling : ruling.resolution.amount
}
const asked = (name: string, record: Transaction) =>
  new RegExp(`<label for="field-${name}">(.*?)</label>`).exec(renderToString(h("form", null, rulingFields(record))))?.[1]
const amountAsked = (record: Transaction) => asked("amount", record)

describe("the form of a ruling", () => {
  it("asks for an amount in the currency that is booked, says which one is expected, and reads it in that currency", () => {
    const exchange = cases["pending exchange"]
    expect(amountAsked(exchange)).toBe("Amount, KES, if another than 348.64")
    expect(amountRead(exchange, "348.64")).toBe(34_864n)
    expect(amountAsked(cases["pending payout"])).toBe("Amount, UGX, if another than 10,000")
    expect(amountRead(cases["pending payout"], "10,000")).toBe(10_000n)
    const observed = { observedAmount: minor(5_000_000n), observedCurrency: "UGX" } as const
    expect(amountAsked(collection(observed))).toBe("Amount, UGX, if another than 5,000,000")
    expect(amountAsked(collection({ ...observed, observedCurrency: "KES" }))).toBe("Amount, UGX, if another than 50,000")
  })

  it("asks for the fee of what moved, or for what the provider kept of what did not", () => {
    expect(asked("fee", cases["pending payout"])).toBe("Provider's fee, UGX, if another than 1,000; of what failed, what it kept")
    expect(asked("fee", cases["pending exchange"])).toBeUndefined()
  })

  it("refuses digits that the currency does not have, more than can be counted, and commas that stand between no thousands", () => {
    const [ugx, kes] = [cases["pending payout"], cases["pending exchange"]]
    for (const wrong of ["12.50", "12.00", "1.000", "12,50", "1,0000", ",100", "1e3", "-5", "9007199254740992"])
      expect(amountRead(ugx, wrong)).toBe(
        "An amount of UGX is written as 1,000: it has no decimals, and the largest is 9,007,199,254,740,991."
      )
    for (const wrong of ["1.000", "12,50", "12.505", "12.500", "90,071,992,547,409.92"])
      expect(amountRead(kes, wrong)).toBe(
        "An amount of KES is written as 1,000 or 1,000.50: it has at most 2 decimals, and the largest is 90,071,992,547,409.91."
      )
    expect([amountRead(kes, "1,234.5"), amountRead(kes, " 1234.50 "), amountRead(ugx, "1,234,567")]).toEqual([
      123_450n,
      123_450n,
      1_234_567n
    ])
  })
})
