import { describe, expect, it } from "vitest"
import type { Corridor } from "../../src/domain/Corridor.ts"
import { quoteView } from "../../src/domain/Exchange.ts"
import { Reference } from "../../src/domain/Ids.ts"
import { json } from "../../src/domain/Json.ts"
import { minor } from "../../src/domain/Money.ts"
import type { NextAction } from "../../src/domain/Payment.ts"
import { corridorView, positionView, recordView } from "../../src/domain/View.ts"
import { cases } from "../support/ReviewCases.ts"
import { collection, NOON, payout } from "../support/SampleTransactions.ts"

const SHOWN = "2026-11-21T08:00:00.000Z"
const LATER = "2026-11-21T08:15:00.000Z"
const ID = "00000000000000000000000001"
const id = Reference.make(ID)
/** As the tenant reads it. */
const read = (view: unknown): unknown => JSON.parse(json(view))

const corridor = { country: "UG", currency: "UGX", method: "momo" }
const head = { id: ID, reference: ID, provider: "eversend", status: "pending", needs_review: false }
const tail = {
  network: "MTN",
  provider_receipt: null,
  narration: null,
  metadata: {},
  version: 1,
  is_test_mode: false,
  failure: null,
  created_at: SHOWN,
  updated_at: SHOWN,
  completed_at: null
}
const shownPayout = {
  ...head,
  kind: "payout",
  amount_minor: 10_000,
  amount_currency: "UGX",
  currency: "UGX",
  fees_minor: 1_000,
  total_amount_minor: 11_000,
  destination_amount_minor: 10_000,
  destination_currency: "UGX",
  amount_type: null,
  deduct_fee_from_amount: false,
  masked_destination: "••••3456",
  holder: null,
  returned: null,
  refund_of: null,
  corridor: { ...corridor, direction: "payout" },
  ...tail,
  expires_at: null
}
const shownCollection = {
  ...head,
  kind: "collection",
  amount_minor: 50_000,
  amount_currency: "UGX",
  currency: "UGX",
  fees_minor: null,
  observed_amount_minor: null,
  observed_currency: null,
  masked_source: "••••3456",
  next_action: null,
  late_success: false,
  reversed: null,
  refunded_minor: 0,
  corridor: { ...corridor, direction: "collection" },
  ...tail,
  expires_at: LATER
}

describe("a tenant is shown", () => {
  it("a refund beside the collection that it refunds, with the sum that was read with it", () => {
    expect(read(recordView(payout({ refundOf: Reference.make(ID) })))).toStrictEqual({ ...shownPayout, refund_of: ID })
    const refunded = { ...collection(), refunded: minor(700n) }
    expect(read(recordView(refunded))).toStrictEqual({ ...shownCollection, refunded_minor: 700 })
  })

  it("a payout", () => {
    expect(read(recordView(payout()))).toStrictEqual(shownPayout)
    const returned = { amount: minor(9_000n), at: NOON + 900_000, reason: "account closed" }
    expect(read(recordView(payout({ mode: "test", status: "successful", completedAt: NOON, returned })))).toStrictEqual({
      ...shownPayout,
      status: "successful",
      is_test_mode: true,
      completed_at: SHOWN,
      returned: { amount_minor: 9_000, at: LATER, reason: "account closed" }
    })
  })

  it.each([
    ["the fee that it cost", payout({ status: "successful", fees: minor(700n) }), 10_700],
    ["the fee that is held, while none is known", payout({ fees: null }), 11_000],
    ["the fee that was held, where it failed", payout({ status: "failed", fees: minor(0n) }), 11_000]
  ])("the total of a payout with %s", (_, given, total) => {
    expect(read(recordView(given))).toMatchObject({ total_amount_minor: total })
  })

  it.each<[string, NextAction, object]>([
    [
      "a code to say",
      { _tag: "otp", pinId: "V1", message: "say it", expiresAt: NOON },
      { type: "otp", pin_id: "V1", message: "say it", expires_at: SHOWN }
    ],
    [
      "a page to pay on",
      { _tag: "redirect", redirectUrl: "https://pay.example/1", message: "go there", expiresAt: NOON },
      { type: "redirect", redirect_url: "https://pay.example/1", message: "go there", expires_at: SHOWN }
    ]
  ])("a collection with %s", (_, nextAction, shown) => {
    expect(read(recordView(collection()))).toStrictEqual(shownCollection)
    expect(read(recordView(collection({ nextAction })))).toStrictEqual({ ...shownCollection, next_action: shown })
  })

  it("an exchange, and the quote before it with the same amounts", () => {
    const amounts = {
      source_currency: "UGX",
      source_amount_minor: 10_000,
      destination_currency: "KES",
      destination_amount_minor: 34_864,
      rate: "0.03486486486486",
      fee_minor: 0,
      fee_currency: "UGX"
    }
    const made = cases["pending exchange"]
    const shown = {
      reference: ID,
      status: "pending",
      needs_review: true,
      quote_id: "00000000000000000000000002",
      ...amounts,
      metadata: {},
      version: 1,
      is_test_mode: false,
      failure: null,
      created_at: SHOWN,
      updated_at: SHOWN,
      completed_at: null
    }
    expect(read(recordView(made))).toStrictEqual(shown)
    expect(read(recordView({ ...made, mode: "test", completedAt: NOON }))).toStrictEqual({
      ...shown,
      is_test_mode: true,
      completed_at: SHOWN
    })
    const quote = { ...made, id, token: "t", expiresAt: NOON } as const
    expect(read(quoteView(quote))).toStrictEqual({ quote_id: ID, ...amounts, expires_at: SHOWN, is_test_mode: false })
    expect(read(quoteView({ ...quote, mode: "test" }))).toMatchObject({ is_test_mode: true })
  })

  it("a float position", () => {
    const [available, reserved, collected, paidOut, providerFees] = [minor(1n), minor(2n), minor(3n), minor(4n), minor(5n)]
    expect(read(positionView({ currency: "UGX", available, reserved, collected, paidOut, providerFees }))).toStrictEqual({
      currency: "UGX",
      available_minor: 1,
      reserved_minor: 2,
      collected_minor: 3,
      paid_out_minor: 4,
      provider_fees_minor: 5
    })
  })

  it("a corridor", () => {
    const row: Corridor = {
      country: "KE",
      currency: "KES",
      direction: "payout",
      method: "momo",
      active: true,
      providers: ["eversend", "other"],
      networks: ["MPESA"],
      minimum: minor(1_000n),
      maximum: null,
      customerAction: "none",
      requiresRedirectUrl: false,
      requiresMsisdn: true,
      preference: "order",
      requiresName: false,
      destinationCurrencies: ["KES"],
      availability: "degraded",
      inactiveReason: null,
      updatedAt: NOON
    }
    expect(read(corridorView(row, "eversend"))).toStrictEqual({
      country: "KE",
      currency: "KES",
      direction: "payout",
      method: "momo",
      active: true,
      provider: "eversend",
      networks: ["MPESA"],
      minimum_minor: 1_000,
      maximum_minor: null,
      exponent: 2,
      customer_action: "none",
      requires_redirect_url: false,
      requires_msisdn: true,
      requires_name: false,
      destination_currencies: ["KES"],
      availability: "degraded",
      inactive_reason: null,
      updated_at: SHOWN
    })
  })
})
