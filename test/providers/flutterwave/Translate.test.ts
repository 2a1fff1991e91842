import { describe, expect, it } from "vitest"
import { chargeFound, chargeOutcome, payoutOutcome, transferFound } from "../../../src/providers/flutterwave/Translate.ts"
import type { ProviderResponse } from "../../../src/providers/Transport.ts"
import { chargeOrder, momo, newReference } from "../contract/Orders.ts"
import { unlessFound } from "../MoneyCallAnswer.ts"

const answered = (status: number, body: unknown): ProviderResponse => ({
  _tag: "Answered",
  status,
  contentType: "application/json",
  body: typeof body === "string" ? body : JSON.stringify(body)
})
const error = { status: "error", message: "a text", data: null }
const reference = newReference()
const own = { reference, currency: "NGN" } as const

const transfer = (change: object = {}) => ({
  id: 396432,
  reference,
  amount: 5500,
  currency: "NGN",
  fee: 26.875,
  status: "NEW",
  ...change
})
const taken = (change: object = {}) =>
  answered(200, { status: "success", message: "Transfer Queued Successfully", data: transfer(change) })
const listed = (...rows: ReadonlyArray<object>) => answered(200, { status: "success", message: "Transfers fetched", data: rows })

const charge = (change: object = {}) => ({
  id: 8415006,
  tx_ref: reference,
  amount: 2500,
  currency: "NGN",
  app_fee: 35,
  amount_settled: 2462.37,
  status: "successful",
  ...change
})
const verified = (change: object = {}) =>
  answered(200, { status: "success", message: "Transaction fetched successfully", data: charge(change) })

describe("the answer to a transfer", () => {
  const accepted = { _tag: "Accepted", providerReference: "396432", observedAmount: 550_000n, observedCurrency: "NGN" }
  const rows: ReadonlyArray<readonly [string, ProviderResponse, object, boolean]> = [
    ["NEW", taken(), accepted, false],
    ["PENDING", taken({ status: "PENDING" }), accepted, false],
    ["SUCCESSFUL at once is asked for", taken({ status: "SUCCESSFUL" }), accepted, false],
    ["FAILED at once", taken({ status: "FAILED" }), { _tag: "Refused", providerReference: "396432", kind: "other" }, false],
    ["a status that nobody knows", taken({ status: "HELD" }), { _tag: "Unknown", reason: "bad_response" }, true],
    ["a status in other letters", taken({ status: "new" }), { _tag: "Unknown", reason: "bad_response" }, true],
    ["somebody else's transfer", taken({ reference: newReference() }), { _tag: "Unknown", reason: "bad_response" }, true],
    ["400", answered(400, error), { _tag: "Refused", providerReference: null, kind: "other" }, false],
    ["401", answered(401, error), { _tag: "Refused", kind: "config" }, true],
    ["403", answered(403, error), { _tag: "Refused", kind: "config" }, true],
    ["404", answered(404, error), { _tag: "Unknown", reason: "bad_response" }, false],
    ["429", answered(429, error), { _tag: "Unknown", reason: "unavailable" }, false],
    ["503, as after 28 seconds of its own", answered(503, error), { _tag: "Unknown", reason: "unavailable" }, false],
    ["an error under 200", answered(200, error), { _tag: "Unknown", reason: "bad_response" }, true],
    ["a firewall's 400", answered(400, "<html></html>"), { _tag: "Unknown", reason: "bad_response" }, false],
    ["silence", { _tag: "Lost", reason: "timeout", note: "" }, { _tag: "Unknown", reason: "timeout" }, false],
    ["a refused connection", { _tag: "NotSent", note: "ECONNREFUSED" }, { _tag: "NotSent" }, false]
  ]
  for (const [name, response, fact, isLoud] of rows)
    it(name, () => {
      const reading = unlessFound(payoutOutcome(response, own))
      expect(reading.fact).toMatchObject(fact)
      expect(reading.alarm !== null).toBe(isLoud)
    })
})

describe("the status of a transfer", () => {
  const failed = (complete_message: string) => listed(transfer({ status: "FAILED", complete_message }))
  const rows: ReadonlyArray<readonly [string, ProviderResponse, object, boolean]> = [
    ["nothing by our reference", listed(), { _tag: "NotFound" }, false],
    ["NEW", listed(transfer()), { _tag: "StillPending", providerReference: "396432" }, false],
    ["PENDING", listed(transfer({ status: "PENDING" })), { _tag: "StillPending" }, false],
    [
      "SUCCESSFUL, its fee rounded up to the kobo",
      listed(transfer({ status: "SUCCESSFUL" })),
      { _tag: "Succeeded", amount: 550_000n, currency: "NGN", fee: 2688n },
      false
    ],
    ["SUCCESSFUL without a fee", listed(transfer({ status: "SUCCESSFUL", fee: null })), { _tag: "Unknown" }, true],
    ["SUCCESSFUL with half a kobo", listed(transfer({ status: "SUCCESSFUL", amount: 0.005 })), { _tag: "Unknown" }, true],
    ["SUCCESSFUL in another currency", listed(transfer({ status: "SUCCESSFUL", currency: "KES" })), { currency: "KES" }, true],
    [
      "FAILED for our empty wallet",
      failed("DISBURSE FAILED: Insufficient funds in customer wallet"),
      { _tag: "Refused", kind: "pool" },
      true
    ],
    [
      "FAILED for our empty wallet, bare",
      failed("Insufficient funds in customer wallet"),
      { _tag: "Refused", kind: "pool" },
      true
    ],
    ...["", "DISBURSE FAILED: "].map(
      (prefix) =>
        [
          `15. FAILED for our account's daily limit (${prefix})`,
          failed(`${prefix}You have exceeded your daily limit for this product`),
          { _tag: "Refused", kind: "pool", failure: { code: "provider_rejected" } },
          true
        ] as const
    ),
    [
      "FAILED for our restricted wallet",
      failed("DISBURSE FAILED: wallet currently restricted. please contact administrator"),
      { _tag: "Refused", kind: "pool" },
      true
    ],
    [
      "FAILED for a recipient who is nobody",
      failed("DISBURSE FAILED: Unable to obtain user details"),
      { _tag: "Refused", kind: "party", failure: { code: "invalid_destination" } },
      false
    ],
    ["FAILED for whatever reason", failed("insufficient funds, or so"), { _tag: "Refused", kind: "other" }, false],
    ["REVERSED, which nobody knows", listed(transfer({ status: "REVERSED" })), { _tag: "Unknown" }, true],
    ["two transfers by one reference", listed(transfer(), transfer({ id: 2 })), { _tag: "Unknown" }, true],
    ["one transfer, listed twice", listed(transfer(), transfer()), { _tag: "StillPending" }, false],
    ["a list that was not filtered", listed(transfer({ reference: "other" })), { _tag: "Unknown" }, true],
    ["404", answered(404, error), { _tag: "Unknown" }, false],
    ["401", answered(401, error), { _tag: "Unknown" }, true]
  ]
  for (const [name, response, fact, isLoud] of rows)
    it(name, () => {
      const reading = transferFound(response, own)
      expect(reading.fact).toMatchObject(fact)
      expect(reading.alarm !== null).toBe(isLoud)
    })
})

describe("the status of a charge", () => {
  const rows: ReadonlyArray<readonly [string, ProviderResponse, object, boolean]> = [
    ["successful, with the tax on the fee", verified(), { _tag: "Succeeded", amount: 250_000n, fee: 3763n }, false],
    ["without what was settled", verified({ amount_settled: null }), { _tag: "Succeeded", fee: 3500n }, false],
    ["with neither", verified({ amount_settled: null, app_fee: null }), { _tag: "Succeeded", fee: null }, true],
    ["with more settled than was paid", verified({ amount_settled: 2500.01 }), { _tag: "Unknown" }, true],
    ["the payer bears the fee", verified({ amount_settled: 2500 }), { _tag: "Succeeded", fee: 0n }, false],
    ["settled finer than the currency", verified({ amount_settled: 2462.375 }), { _tag: "Succeeded", fee: 3763n }, false],
    ["pending", verified({ status: "pending" }), { _tag: "StillPending", providerReference: "8415006" }, false],
    ["a validation outstanding", verified({ status: "success-pending-validation" }), { _tag: "StillPending" }, false],
    ["cancelled", verified({ status: "cancelled" }), { _tag: "StillPending", isUnfinished: true }, false],
    ["abandoned", verified({ status: "abandoned" }), { _tag: "StillPending", isUnfinished: true }, false],
    ["error", verified({ status: "error" }), { _tag: "StillPending", isUnfinished: true }, false],
    ["failed", verified({ status: "failed" }), { _tag: "Refused", providerReference: "8415006" }, false],
    ["another word", verified({ status: "SUCCESSFUL" }), { _tag: "Unknown" }, true],
    ["another charge", verified({ tx_ref: "other" }), { _tag: "Unknown" }, true],
    ["400", answered(400, error), { _tag: "NotFound" }, false],
    ["404", answered(404, error), { _tag: "NotFound" }, false],
    ["a firewall's 404", answered(404, "gone"), { _tag: "Unknown" }, false],
    ["403", answered(403, error), { _tag: "Unknown" }, true]
  ]
  for (const [name, response, fact, isLoud] of rows)
    it(name, () => {
      const reading = chargeFound(response, own)
      expect(reading.fact).toMatchObject(fact)
      expect(reading.alarm !== null).toBe(isLoud)
    })
})

describe("the answer to a charge", () => {
  const lacking = { ...error, message: "email is required" }
  const order = { ...chargeOrder({ ...momo("GH", "GHS", "MTN", "23320000"), redirect: true }, "1234"), reference }
  const page = (redirect: unknown) =>
    answered(200, { status: "success", meta: { authorization: { redirect, mode: "redirect" } } })
  const rows: ReadonlyArray<readonly [string, ProviderResponse, object, boolean]> = [
    [
      "a page to visit, whose only handle is our own reference",
      page("https://pay.example/captcha/1:2"),
      { _tag: "NeedsRedirect", redirectUrl: "https://pay.example/captcha/1:2", providerReference: reference },
      false
    ],
    ["a page that is none", page("javascript:alert(1)"), { _tag: "Unknown", reason: "bad_response" }, true],
    ["neither a page nor a charge", answered(200, { status: "success" }), { _tag: "Unknown" }, true],
    [
      "pending",
      answered(200, { status: "success", data: charge({ status: "pending", currency: "GHS" }) }),
      { _tag: "Accepted", providerReference: "8415006", observedAmount: 250_000n, observedCurrency: "GHS" },
      false
    ],
    [
      "pending, and somebody else's",
      answered(200, { status: "success", data: charge({ status: "pending", tx_ref: "x" }) }),
      { _tag: "Unknown" },
      true
    ],
    ["what the request lacks", answered(400, lacking), { _tag: "Refused", kind: "other" }, false],
    ["another 400, which may hide a charge", answered(400, error), { _tag: "Unknown", reason: "bad_response" }, false],
    ["401", answered(401, error), { _tag: "Refused", kind: "config" }, true],
    ["422", answered(422, error), { _tag: "Unknown", reason: "bad_response" }, false],
    ["503", answered(503, error), { _tag: "Unknown", reason: "unavailable" }, false]
  ]
  for (const [name, response, fact, isLoud] of rows)
    it(name, () => {
      const reading = unlessFound(chargeOutcome(response, order))
      expect(reading.fact).toMatchObject(fact)
      expect(reading.alarm !== null).toBe(isLoud)
    })
})

it("believes a refused transfer only once nothing is found by our reference", () => {
  const refused = payoutOutcome(answered(400, error), own)
  if (!("confirm" in refused)) throw new Error("a 400 is believed at once")
  expect(refused.confirm(transferFound(listed(), own))).toMatchObject({
    fact: { _tag: "Refused", note: "HTTP 400" },
    alarm: null
  })
  expect(refused.confirm(transferFound(listed(transfer()), own)).fact).toMatchObject({
    _tag: "Accepted",
    providerReference: "396432"
  })
  expect(refused.confirm(transferFound(answered(503, error), own)).fact).toMatchObject({ _tag: "Unknown" })
})
