import { describe, expect, it } from "vitest"
import { minor } from "../../../src/domain/Money.ts"
import { found, initiated } from "../../../src/providers/pawapay/Translate.ts"
import { paymentId } from "../../../src/providers/pawapay/Wire.ts"
import type { ProviderResponse } from "../../../src/providers/Transport.ts"
import { newReference } from "../contract/Orders.ts"
import { unlessFound } from "../MoneyCallAnswer.ts"

const reference = newReference()
const id = paymentId(reference)
const answered = (status: number, body: unknown): ProviderResponse => ({
  _tag: "Answered",
  status,
  contentType: "application/json",
  body: JSON.stringify(body)
})
const rejected = (failureCode: string, change: object = {}) => ({
  payoutId: id,
  status: "REJECTED",
  failureReason: { failureCode, failureMessage: "in words" },
  ...change
})
const start = (response: ProviderResponse) => unlessFound(initiated("payout", response, reference))
const startDeposit = (response: ProviderResponse) => unlessFound(initiated("collection", response, reference))

const repeated = initiated("payout", answered(200, { payoutId: id, status: "DUPLICATE_IGNORED" }), reference)

describe("our identifier at pawaPay", () => {
  it("is a UUID of version 4 that follows from the reference alone", () => {
    for (let made = 0; made < 100; made++) {
      const one = newReference()
      expect(paymentId(one)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(paymentId(one)).toBe(paymentId(one))
      expect(paymentId(one)).not.toBe(id)
    }
  })
})

describe("the answer to a payout or a deposit", () => {
  const accepted = { _tag: "Accepted", providerReference: id, observedAmount: null, observedCurrency: null, note: "ACCEPTED" }

  it("is accepted, or is a duplicate", () => {
    expect(start(answered(200, { payoutId: id, status: "ACCEPTED", created: "2026-11-20T11:17:01Z" }))).toEqual({
      fact: accepted,
      alarm: null
    })
    expect(startDeposit(answered(200, { depositId: id, status: "ACCEPTED" })).fact).toEqual(accepted)
    expect(repeated).toHaveProperty("confirm")
  })

  const refusals: ReadonlyArray<readonly [number, string, string, string, boolean]> = [
    [401, "NO_AUTHENTICATION", "config", "provider_rejected", true],
    [403, "AUTHENTICATION_ERROR", "config", "provider_rejected", true],
    [403, "AUTHORISATION_ERROR", "config", "provider_rejected", true],
    [403, "HTTP_SIGNATURE_ERROR", "config", "provider_rejected", true],
    [403, "PAYOUTS_NOT_ALLOWED", "config", "provider_rejected", true],
    [403, "DEPOSITS_NOT_ALLOWED", "config", "provider_rejected", true],
    [400, "INVALID_INPUT", "config", "provider_rejected", true],
    [400, "MISSING_PARAMETER", "config", "provider_rejected", true],
    [400, "UNSUPPORTED_PARAMETER", "config", "provider_rejected", true],
    [400, "INVALID_PARAMETER", "config", "provider_rejected", true],
    [400, "DUPLICATE_METADATA_FIELD", "config", "provider_rejected", true],
    [200, "INVALID_CURRENCY", "config", "provider_rejected", true],
    [200, "INVALID_PROVIDER", "config", "provider_rejected", true],
    [200, "AMOUNT_OUT_OF_BOUNDS", "limit", "limit_exceeded", false],
    [200, "INVALID_AMOUNT", "other", "provider_rejected", false],
    [200, "INVALID_PHONE_NUMBER", "party", "invalid_destination", false],
    [200, "PROVIDER_TEMPORARILY_UNAVAILABLE", "other", "destination_unavailable", false],
    [200, "PAWAPAY_WALLET_OUT_OF_FUNDS", "pool", "provider_rejected", true],
    [200, "SOMETHING_NEW", "other", "unknown", true],
    [200, "constructor", "other", "unknown", true]
  ]
  for (const [status, failureCode, kind, code, isLoud] of refusals) {
    it(`${status} ${failureCode}: refused (${kind}, ${code})`, () => {
      const { alarm, fact } = start(answered(status, rejected(failureCode)))
      expect(fact).toMatchObject({ _tag: "Refused", providerReference: null, kind, failure: { code } })
      expect(alarm !== null).toBe(isLoud)
    })
  }

  it("is refused without the identifier too, and a payer's number as the payer's", () => {
    expect(start(answered(200, rejected("AMOUNT_OUT_OF_BOUNDS", { payoutId: null }))).fact).toMatchObject({ _tag: "Refused" })
    expect(start(answered(401, rejected("NO_AUTHENTICATION", { payoutId: undefined }))).fact).toMatchObject({ _tag: "Refused" })
    const answer = answered(200, rejected("INVALID_PHONE_NUMBER", { payoutId: undefined, depositId: id }))
    expect(startDeposit(answer).fact).toMatchObject({ kind: "party", failure: { code: "payer_not_found" } })
  })

  const unknown: ReadonlyArray<readonly [string, ProviderResponse, string, boolean]> = [
    [
      "an error without a status",
      answered(500, { payoutId: id, failureReason: { failureCode: "UNKNOWN_ERROR" } }),
      "unavailable",
      false
    ],
    ["a refusal that another server wrote", answered(500, rejected("INVALID_AMOUNT")), "unavailable", false],
    ["an acceptance under HTTP 400", answered(400, { payoutId: id, status: "ACCEPTED" }), "bad_response", true],
    ["another payment", answered(200, { payoutId: paymentId(newReference()), status: "ACCEPTED" }), "bad_response", true],
    ["a refusal of another payment", answered(200, rejected("INVALID_AMOUNT", { payoutId: "x" })), "bad_response", true],
    ["a refusal without a reason", answered(200, { payoutId: id, status: "REJECTED" }), "bad_response", true],
    ["no identifier", answered(200, { status: "ACCEPTED" }), "bad_response", true],
    ["a deposit's identifier", answered(200, { depositId: id, status: "ACCEPTED" }), "bad_response", true],
    ["a status that is new", answered(200, { payoutId: id, status: "QUEUED" }), "bad_response", true],
    [
      "a forbidding page",
      { _tag: "Answered", status: 403, contentType: "text/html", body: "<html></html>" },
      "bad_response",
      true
    ],
    ["no time", { _tag: "Lost", reason: "timeout", note: "x" }, "timeout", false]
  ]
  for (const [name, response, reason, isLoud] of unknown) {
    it(`${name}: unknown, ${isLoud ? "with an alarm" : "without an alarm"}`, () => {
      const { alarm, fact } = start(response)
      expect(fact).toMatchObject({ _tag: "Unknown", reason })
      expect(alarm !== null).toBe(isLoud)
    })
  }
})

describe("the status of a payment", () => {
  const fee = minor(300n)
  const payment = (change: object) => ({ payoutId: id, status: "COMPLETED", amount: "123.00", currency: "ZMW", ...change })
  const look = (body: unknown, status = 200) => found("payout", answered(status, body), { reference }, () => fee)
  const status = (change: object) => look({ status: "FOUND", data: payment(change) })

  it("completed: succeeded with its exact amount, and the contract's fee", () => {
    const succeeded = { _tag: "Succeeded", providerReference: id, currency: "ZMW", fee, note: "COMPLETED" }
    for (const [amount, units] of [
      ["123.00", 12_300n],
      ["123", 12_300n],
      ["0.1", 10n],
      ["90071992547409.91", 9_007_199_254_740_991n]
    ] as const)
      expect(status({ amount })).toEqual({ fact: { ...succeeded, amount: minor(units) }, alarm: null })
    expect(status({ amount: "20000", currency: "UGX", clientReferenceId: reference }).fact).toMatchObject({ amount: 20_000n })
  })

  it("has the operator's number of it, whatever its status, and is read as before where that is none", () => {
    const named = { providerTransactionId: "12356789" }
    expect(status(named).fact).toMatchObject({ _tag: "Succeeded", receipt: "12356789" })
    expect(status({ ...named, status: "PROCESSING" }).fact).toMatchObject({ _tag: "StillPending", receipt: "12356789" })
    expect(status({ ...named, status: "FAILED" }).fact).toMatchObject({ _tag: "Refused", receipt: "12356789" })
    for (const providerTransactionId of [null, "", {}, ["1"], "paid by JANE DOE"]) {
      const { fact } = status({ providerTransactionId })
      expect(fact).toMatchObject({ _tag: "Succeeded", amount: 12_300n })
      expect(fact).not.toHaveProperty("receipt")
    }
  })

  for (const open of ["ACCEPTED", "ENQUEUED", "PROCESSING", "SUBMITTED", "IN_RECONCILIATION"])
    it(`${open}: still pending, and taken where a request is answered so`, () => {
      expect(start(answered(200, { payoutId: id, status: open }))).toMatchObject({
        fact: { _tag: "Accepted", providerReference: id, note: open },
        alarm: null
      })
      expect(status({ status: open })).toEqual({
        fact: { _tag: "StillPending", providerReference: id, note: open },
        alarm: null
      })
    })

  const failures: ReadonlyArray<readonly [string, string, string]> = [
    ["PAYMENT_NOT_APPROVED", "party", "declined_by_payer"],
    ["INSUFFICIENT_BALANCE", "party", "insufficient_funds"],
    ["PAYMENT_IN_PROGRESS", "party", "provider_rejected"],
    ["TRANSACTION_ALREADY_IN_PROCESS", "party", "provider_rejected"],
    ["PAYER_NOT_FOUND", "party", "invalid_destination"],
    ["RECIPIENT_NOT_FOUND", "party", "invalid_destination"],
    ["PAYER_LIMIT_REACHED", "limit", "limit_exceeded"],
    ["RECIPIENT_LIMIT_REACHED", "limit", "limit_exceeded"],
    ["WALLET_LIMIT_REACHED", "limit", "limit_exceeded"],
    ["MANUALLY_CANCELLED", "other", "provider_rejected"],
    ["PAWAPAY_WALLET_OUT_OF_FUNDS", "pool", "provider_rejected"],
    ["UNSPECIFIED_FAILURE", "other", "unknown"],
    ["UNKNOWN_ERROR", "other", "unknown"],
    ["SOMETHING_NEW", "other", "unknown"]
  ]
  for (const [failureCode, kind, code] of failures)
    it(`failed with ${failureCode}: refused (${kind}, ${code})`, () => {
      const reading = status({ status: "FAILED", failureReason: { failureCode } })
      expect(reading.fact).toMatchObject({ _tag: "Refused", providerReference: id, kind, failure: { code } })
      expect("isUnsure" in reading.fact).toBe(failureCode === "UNKNOWN_ERROR")
    })

  it("failed without a reason is still failed", () => {
    expect(status({ status: "FAILED" }).fact).toMatchObject({ _tag: "Refused", failure: { code: "unknown" } })
  })

  it("not found is said with HTTP 200; an HTTP 404 says nothing", () => {
    expect(look({ status: "NOT_FOUND" })).toEqual({ fact: { _tag: "NotFound", note: "NOT_FOUND" }, alarm: null })
    expect(look({ failureReason: { failureCode: "NOT_FOUND" } }, 404).fact).toMatchObject({ _tag: "Unknown" })
  })

  const senseless: ReadonlyArray<readonly [string, object]> = [
    ["a status that is new", { status: "REVERSED" }],
    ["another payment", { payoutId: paymentId(newReference()) }],
    ["another reference", { clientReferenceId: newReference() }],
    ["finer than the currency", { amount: "1.001" }],
    ["no amount", { amount: undefined }],
    ["no decimal", { amount: "1,000" }],
    ["an unknown currency", { currency: "MWK" }]
  ]
  for (const [name, change] of senseless)
    it(`${name}: unknown, with an alarm`, () => {
      const { alarm, fact } = status(change)
      expect(fact).toMatchObject({ _tag: "Unknown", reason: "bad_response" })
      expect(alarm).not.toBeNull()
    })

  it("found without a payment is unknown", () => {
    for (const body of [{ status: "FOUND" }, { status: "FOUND", data: null }, { status: "MAYBE" }])
      expect(look(body)).toMatchObject({ fact: { _tag: "Unknown" }, alarm: expect.any(String) })
  })

  it("of an existing payment decides; without one the payment is under way", () => {
    const before = (body: object, code = 200) => "confirm" in repeated && repeated.confirm(look(body, code)).fact
    const underWay = { _tag: "Accepted", providerReference: id, note: "DUPLICATE_IGNORED" }
    expect(before({ status: "FOUND", data: payment({}) })).toMatchObject({ _tag: "Succeeded", amount: 12_300n })
    expect(before({ status: "FOUND", data: payment({ status: "FAILED" }) })).toMatchObject({ _tag: "Refused" })
    expect(before({ status: "FOUND", data: payment({ status: "PROCESSING" }) })).toMatchObject(underWay)
    expect(before({ status: "NOT_FOUND" })).toMatchObject(underWay)
    expect(before({}, 503)).toMatchObject(underWay)
  })
})
