import { describe, expect, it } from "vitest"
import type { Fact } from "../../src/domain/Fact.ts"
import { decide } from "../../src/domain/Moves.ts"
import { receiptIdentity, receiptOf } from "../../src/domain/ProviderReceipt.ts"
import { transactionView } from "../../src/domain/View.ts"
import { collection, NOON, payout } from "../support/SampleTransactions.ts"

const LATER = NOON + 60_000
const pending = (receipt?: string): Fact => ({
  _tag: "StillPending",
  providerReference: "P-1",
  note: "",
  ...(receipt === undefined ? {} : { receipt })
})
const succeeded = (receipt?: string): Fact => ({
  _tag: "Succeeded",
  providerReference: "P-1",
  amount: null,
  currency: null,
  fee: null,
  note: "",
  ...(receipt === undefined ? {} : { receipt })
})

describe("the number of a provider's receipt", () => {
  it("is kept from whatever answer names it, and the tenant sees a new version", () => {
    const { event, next } = decide(payout(), pending("MP251129.1404.A12345"), "reconciler", LATER)
    expect(transactionView(next)).toMatchObject({ provider_receipt: "MP251129.1404.A12345", version: 2, status: "pending" })
    expect([next.updatedAt, event]).toStrictEqual([LATER, null])
    const ended = decide(next, succeeded(), "callback", LATER).next
    expect(transactionView(ended)).toMatchObject({ provider_receipt: "MP251129.1404.A12345", version: 3, status: "successful" })
  })

  it("comes with the success as one version, and after it as one more", () => {
    const told = decide(payout(), succeeded("TKS41Q7ZPD"), "request", LATER).next
    expect(told).toMatchObject({ providerReceipt: "TKS41Q7ZPD", version: 2 })
    const untold = decide(payout(), succeeded(), "request", LATER).next
    expect(decide(untold, succeeded("TKS41Q7ZPD"), "reconciler", LATER)).toMatchObject({
      next: { providerReceipt: "TKS41Q7ZPD", version: 3, status: "successful" },
      entry: null,
      event: null
    })
    expect(decide(told, succeeded("TKS41Q7ZPD"), "reconciler", LATER).next.version).toBe(2)
  })

  it("is taken away by no answer, and replaced by a newer one", () => {
    const known = collection({ providerReceipt: "1" })
    const silent: ReadonlyArray<Fact> = [
      pending(),
      { _tag: "NotFound", note: "" },
      { _tag: "Unknown", reason: "timeout", note: "" },
      { _tag: "Expired", note: "" }
    ]
    for (const fact of silent) expect(decide(known, fact, "reconciler", LATER).next).toMatchObject({ providerReceipt: "1" })
    expect(decide(known, pending("2"), "reconciler", LATER).next).toMatchObject({ providerReceipt: "2" })
  })

  it("of another request by our reference is none of this record", () => {
    expect(decide(payout({ ofAnother: true }), succeeded("TKS41Q7ZPD"), "reconciler", LATER).next).not.toHaveProperty(
      "providerReceipt"
    )
  })

  it("is no number of the customer's that an operator repeats, however it is written", () => {
    for (const echo of ["256772123456", "0772123456", "772123456", "00256772123456", "0772-123-456"])
      for (const record of [payout(), collection()])
        expect(decide(record, pending(echo), "reconciler", LATER).next).not.toHaveProperty("providerReceipt")
    // What the record has already stays, and it is no new version.
    const known = decide(collection({ providerReceipt: "1" }), pending("256772123456"), "reconciler", LATER).next
    expect(known).toMatchObject({ providerReceipt: "1", version: 1 })
    for (const own of ["256772123457", "MP251129.3456", "12345678903456", "3456"])
      expect(decide(payout(), pending(own), "reconciler", LATER).next).toMatchObject({ providerReceipt: own })
    expect(decide(collection({ maskedSource: null }), pending("256772123456"), "reconciler", LATER).next).toMatchObject({
      providerReceipt: "256772123456"
    })
  })

  it("is read where it is a number as operators write it, and never makes an answer unreadable", () => {
    for (const said of ["363440463", "TKS41Q7ZPD", "MP251129.1404.A12345", "000013251129-1/7"])
      expect(receiptOf(said)).toStrictEqual({ receipt: said })
    expect(receiptOf(12356789)).toStrictEqual({ receipt: "12356789" })
    for (const said of [null, undefined, "", " ", "paid by JANE DOE", "x".repeat(65), "a\u0000", [], {}, true, "<b>", "=1+1"])
      expect(receiptOf(said)).toStrictEqual({})
  })

  it("is the same in any spelling of people", () => {
    for (const said of ["tks 41q7zpd", " TKS-41Q7ZPD", "ＴＫＳ41Q7ZPD", "tks.41q7.zpd"])
      expect(receiptIdentity(said)).toBe("TKS41Q7ZPD")
  })
})
