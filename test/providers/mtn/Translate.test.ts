import { describe, expect, it } from "vitest"
import { Reference } from "../../../src/domain/Ids.ts"
import { minor } from "../../../src/domain/Money.ts"
import { found, posted } from "../../../src/providers/mtn/Translate.ts"
import type { Product } from "../../../src/providers/mtn/Wire.ts"
import { referenceIdOf } from "../../../src/providers/mtn/Wire.ts"
import type { ProviderResponse } from "../../../src/providers/Transport.ts"
import { newReference } from "../contract/Orders.ts"
import { unlessFound } from "../MoneyCallAnswer.ts"
import { statusOf } from "./Orders.ts"

const reference = newReference()
const id = referenceIdOf(reference)
const FEE = minor(300n)
const own = { reference, fee: () => FEE }

const answered = (status: number, body: unknown = "", contentType = "application/json"): ProviderResponse => ({
  _tag: "Answered",
  status,
  contentType,
  body: typeof body === "string" ? body : JSON.stringify(body)
})
const error = (code: string) => ({ code, message: "no" })
const asked = (product: Product, change: object = {}) => found(product, answered(200, statusOf(reference, change)), own)

describe("the X-Reference-Id", () => {
  it("is a UUID of version 4, the same for the same reference", () => {
    expect(referenceIdOf(Reference.make("AAA688MG9KT6BQ76F4NM4BJRH5"))).toBe("4e7585f2-be74-4714-b62a-6466b98edf52")
    for (let made = 0; made < 200; made++) {
      const one = newReference()
      expect(referenceIdOf(one)).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      expect(referenceIdOf(one)).toBe(referenceIdOf(one))
      expect(referenceIdOf(one)).not.toBe(id)
    }
  })
})

describe("the answer to the POST of a payout or charge", () => {
  const accepted = { _tag: "Accepted", providerReference: id, observedAmount: null, observedCurrency: null, note: "HTTP 202" }
  const refused = (kind: string) => ({ _tag: "Refused", providerReference: null, kind, failure: { code: "provider_rejected" } })
  const unknown = (reason: string) => ({ _tag: "Unknown", reason })
  const rows: ReadonlyArray<readonly [string, ProviderResponse, object, isLoud: boolean]> = [
    ["202 without a body is taken", answered(202), accepted, false],
    ["202 with white space is taken", answered(202, "\r\n", ""), accepted, false],
    ["202 with a body is not understood", answered(202, { status: "FAILED" }), unknown("bad_response"), true],
    ["200 is not understood", answered(200, statusOf(reference)), unknown("bad_response"), true],
    ["400 is a refusal", answered(400, error("BAD_REQUEST")), refused("other"), true],
    ["401 is a refusal", answered(401, { statusCode: 401 }), refused("config"), true],
    ["403 is a refusal", answered(403, error("FORBIDDEN")), refused("config"), true],
    ["404 is a refusal", answered(404, { statusCode: 404 }), refused("config"), true],
    ["400 of something on the way is unknown", answered(400, "<html>", "text/html"), unknown("bad_response"), true],
    ["404 of nobody is unknown", answered(404), unknown("bad_response"), true],
    ["500 NOT_ALLOWED is a refusal", answered(500, error("NOT_ALLOWED")), refused("config"), true],
    ["500, of the environment", answered(500, error("NOT_ALLOWED_TARGET_ENVIRONMENT")), refused("config"), true],
    ["500, of the callback's host", answered(500, error("INVALID_CALLBACK_URL_HOST")), refused("config"), true],
    ["500, of the currency", answered(500, error("INVALID_CURRENCY")), refused("config"), true],
    ["500 of its own is unknown", answered(500, error("INTERNAL_PROCESSING_ERROR")), unknown("unavailable"), false],
    ["500 of an unknown code is unknown", answered(500, error("NOT_ALLOWED_AT_ALL")), unknown("unavailable"), false],
    ["500 without a code is unknown", answered(500, "<html>NOT_ALLOWED</html>", "text/html"), unknown("unavailable"), false],
    ["503 is unknown, whatever its code", answered(503, error("NOT_ALLOWED")), unknown("unavailable"), false],
    ["429 is unknown", answered(429), unknown("unavailable"), false],
    ["408 is unknown", answered(408), unknown("timeout"), false],
    ["504 is unknown", answered(504), unknown("timeout"), false],
    ["a redirection is unknown", answered(302), unknown("bad_response"), true],
    ["no answer is unknown", { _tag: "Lost", reason: "timeout", note: "late" }, unknown("timeout"), false],
    ["nothing sent is not sent", { _tag: "NotSent", note: "refused" }, { _tag: "NotSent", note: "refused" }, false]
  ]
  for (const [name, response, fact, isLoud] of rows) {
    it(name, () => {
      const reading = unlessFound(posted(response, reference))
      expect(reading).toMatchObject({ fact })
      expect(reading.alarm !== null).toBe(isLoud)
    })
  }

  it("409 leaves the outcome to the status", () => {
    const repeated = posted(answered(409, error("RESOURCE_ALREADY_EXIST")), reference)
    if (!("confirm" in repeated)) throw new Error("a 409 is believed at once")
    expect(repeated.confirm(asked("collection", { status: "PENDING" })).fact).toMatchObject({
      _tag: "Accepted",
      providerReference: id
    })
    expect(repeated.confirm(asked("collection")).fact).toMatchObject({ _tag: "Succeeded", amount: 20_000n })
    expect(repeated.confirm(asked("collection", { status: "FAILED" })).fact).toMatchObject({ _tag: "Refused" })
    const nothing = repeated.confirm(found("collection", answered(404, error("RESOURCE_NOT_FOUND")), own))
    expect(nothing).toMatchObject({ fact: { _tag: "Unknown", reason: "bad_response" }, alarm: expect.any(String) })
  })
})

describe("the status of a payout or charge", () => {
  it.each(["PENDING", "ONGOING", "DELAYED"])("%s is still open", (status) => {
    const going = { fact: { _tag: "StillPending", providerReference: id }, alarm: null }
    expect(asked("collection", { status })).toMatchObject(going)
    // Whatever its status: a failure that goes on is none.
    expect(asked("disbursement", { status: "FAILED", reason: status })).toMatchObject(going)
  })

  it("SUCCESSFUL has the amount, and the fee of the contract", () => {
    expect(asked("collection").fact).toStrictEqual({
      _tag: "Succeeded",
      providerReference: id,
      receipt: "363440463",
      amount: 20_000n,
      currency: "UGX",
      fee: 300n,
      note: "status SUCCESSFUL, financial transaction 363440463"
    })
    const cedis = asked("disbursement", { amount: "123.45", currency: "GHS", financialTransactionId: undefined })
    expect(cedis.fact).toMatchObject({ amount: 12_345n, currency: "GHS", note: "status SUCCESSFUL" })
    expect(asked("collection", { amount: 20_000 }).fact).toMatchObject({ _tag: "Succeeded", amount: 20_000n })
  })

  const unread: ReadonlyArray<readonly [string, object]> = [
    ["an unknown status", { status: "ON_HOLD" }],
    ["a status in small letters", { status: "successful" }],
    ["another transaction", { externalId: newReference() }],
    ["no amount", { amount: undefined }],
    ["an amount finer than its currency", { amount: "20000.5" }],
    ["an amount in words", { amount: "20k" }],
    ["an unknown currency", { currency: "SSP" }],
    ["no currency", { currency: null }],
    ["no status", { status: undefined }]
  ]
  it.each(unread)("%s is unknown, with an alarm", (_, change) => {
    expect(asked("collection", change)).toMatchObject({
      fact: { _tag: "Unknown", reason: "bad_response" },
      alarm: expect.any(String)
    })
  })

  it("404 with its code means not found, and any other 404 nothing", () => {
    const none = found("collection", answered(404, error("RESOURCE_NOT_FOUND")), own)
    expect(none).toStrictEqual({ fact: { _tag: "NotFound", note: "HTTP 404, RESOURCE_NOT_FOUND" }, alarm: null })
    for (const body of [{ statusCode: 404, message: "Resource not found" }, "", error("NOT_FOUND")]) {
      expect(found("collection", answered(404, body), own)).toMatchObject({
        fact: { _tag: "Unknown", reason: "bad_response" },
        alarm: expect.any(String)
      })
    }
    expect(found("collection", answered(500, error("NOT_ALLOWED")), own).fact).toMatchObject({ _tag: "Unknown" })
    expect(found("collection", { _tag: "NotSent", note: "down" }, own).fact).toMatchObject({ _tag: "Unknown" })
  })
})

it("an error of MTN's own as the reason of a failure is to be looked at once more, in any spelling, and no other reason is", () => {
  for (const product of ["collection", "disbursement"] as const)
    for (const reason of ["INTERNAL_PROCESSING_ERROR", "Internal processing error", { code: "INTERNAL_PROCESSING_ERROR" }])
      expect(asked(product, { status: "FAILED", reason }).fact).toMatchObject({ _tag: "Refused", isUnsure: true })
  for (const reason of ["NOT_ENOUGH_FUNDS", "SERVICE_UNAVAILABLE", "GALACTIC_EVENT", undefined])
    expect(asked("collection", { status: "FAILED", reason }).fact).not.toHaveProperty("isUnsure")
  // After a 409 it is there, and a poll looks again.
  const repeated = posted(answered(409, error("RESOURCE_ALREADY_EXIST")), reference)
  if (!("confirm" in repeated)) throw new Error("a 409 is believed at once")
  const failed = asked("disbursement", { status: "FAILED", reason: "INTERNAL_PROCESSING_ERROR" })
  expect(repeated.confirm(failed).fact).toMatchObject({ _tag: "Accepted", providerReference: id })
})

describe("a failure that is said to go on", () => {
  // TRANSACTION_NOT_COMPLETED: "transaction is pending and not completed", in MTN's own list of error codes.
  it.each([
    "delayed",
    "Ongoing",
    "PAYER_DELAYED",
    "payee delayed",
    "PAYER_ONGOING",
    "Payee Ongoing",
    "TRANSACTION_NOT_COMPLETED"
  ])("%s is still open", (reason) => {
    for (const product of ["collection", "disbursement"] as const) {
      const going = { fact: { _tag: "StillPending" }, alarm: null }
      expect(asked(product, { status: "FAILED", reason })).toMatchObject(going)
      expect(asked(product, { status: "FAILED", reason: { code: reason } })).toMatchObject(going)
    }
  })
})

it("a failure's reason is read as `Reason` and as `code` beside the status, too", () => {
  for (const change of [{ Reason: "PAYEE_NOT_FOUND" }, { Reason: { code: "PAYEE_NOT_FOUND" } }, { code: "PAYEE_NOT_FOUND" }])
    expect(asked("disbursement", { status: "FAILED", reason: undefined, ...change }).fact).toMatchObject({
      _tag: "Refused",
      failure: { code: "invalid_destination" },
      note: "status FAILED, PAYEE_NOT_FOUND"
    })
  expect(asked("disbursement", { status: "FAILED", reason: null, code: "DELAYED" }).fact).toMatchObject({ _tag: "StillPending" })
})

it("a failure is still open where any of the members that may have the reason says that it goes on (38.7)", () => {
  const changes = [
    { reason: "", code: "PAYEE_DELAYED" },
    { reason: { code: "" }, Reason: "pending" },
    { reason: "INTERNAL_PROCESSING_ERROR", code: "DELAYED" },
    { reason: "PAYEE-DELAYED" }
  ]
  for (const change of changes)
    expect(asked("disbursement", { status: "FAILED", ...change }).fact).toMatchObject({ _tag: "StillPending" })
  expect(asked("disbursement", { status: "FAILED", reason: " ", code: "PAYEE_NOT_FOUND" }).fact).toMatchObject({
    note: "status FAILED, PAYEE_NOT_FOUND"
  })
})

it("a member beside the status that cannot be read makes nothing else of the answer unreadable", () => {
  for (const change of [{ code: 200 }, { Reason: { message: "done" } }, { Reason: 7, code: null }])
    expect(asked("collection", change).fact).toMatchObject({ _tag: "Succeeded", amount: 20_000n })
})

describe("a failure's reason, as a string and as an object (38.7)", () => {
  const rows: ReadonlyArray<
    readonly [reason: string, collection: readonly [string, string], transfer: readonly [string, string]]
  > = [
    ["PAYER_NOT_FOUND", ["party", "payer_not_found"], ["config", "provider_rejected"]],
    ["PAYEE_NOT_FOUND", ["config", "provider_rejected"], ["party", "invalid_destination"]],
    ["NOT_ENOUGH_FUNDS", ["party", "insufficient_funds"], ["pool", "provider_rejected"]],
    // 15. The payer of a transfer is our own account.
    ["PAYER_LIMIT_REACHED", ["limit", "limit_exceeded"], ["pool", "provider_rejected"]],
    ["PAYEE_NOT_ALLOWED_TO_RECEIVE", ["config", "provider_rejected"], ["party", "destination_unavailable"]],
    ["PAYMENT_NOT_APPROVED", ["party", "declined_by_payer"], ["other", "provider_rejected"]],
    ["APPROVAL_REJECTED", ["party", "declined_by_payer"], ["other", "provider_rejected"]],
    ["REJECTED", ["party", "declined_by_payer"], ["other", "provider_rejected"]],
    ["EXPIRED", ["party", "timed_out"], ["other", "provider_rejected"]],
    ["COULD_NOT_PERFORM_TRANSACTION", ["party", "timed_out"], ["other", "provider_rejected"]],
    ["TRANSACTION_CANCELED", ["other", "provider_rejected"], ["other", "provider_rejected"]],
    ["INTERNAL_PROCESSING_ERROR", ["other", "unknown"], ["other", "unknown"]],
    ["SERVICE_UNAVAILABLE", ["other", "unknown"], ["other", "destination_unavailable"]],
    ["NOT_ALLOWED", ["config", "provider_rejected"], ["config", "provider_rejected"]],
    ["NOT_ALLOWED_TARGET_ENVIRONMENT", ["config", "provider_rejected"], ["config", "provider_rejected"]],
    ["INVALID_CALLBACK_URL_HOST", ["config", "provider_rejected"], ["config", "provider_rejected"]],
    ["INVALID_CURRENCY", ["config", "provider_rejected"], ["config", "provider_rejected"]],
    ["RESOURCE_NOT_FOUND", ["other", "unknown"], ["other", "unknown"]],
    ["TRANSACTION_NOT_FOUND", ["other", "unknown"], ["other", "unknown"]],
    ["RESOURCE_ALREADY_EXIST", ["other", "unknown"], ["other", "unknown"]],
    ["VALIDATION_ERROR", ["other", "provider_rejected"], ["other", "provider_rejected"]],
    ["SENDER_ACCOUNT_NOT_ACTIVE", ["party", "payer_not_found"], ["config", "provider_rejected"]],
    ["PAYEE_LIMIT_REACHED", ["config", "provider_rejected"], ["limit", "limit_exceeded"]],
    ["LOW_BALANCE_OR_PAYEE_LIMIT_REACHED_OR_NOT_ALLOWED", ["party", "unknown"], ["other", "provider_rejected"]],
    ["PAYER_REJECTION", ["party", "declined_by_payer"], ["other", "provider_rejected"]]
  ]
  it.each(rows)("%s", (reason, collection, transfer) => {
    for (const [product, [kind, code]] of [["collection", collection] as const, ["disbursement", transfer] as const]) {
      for (const said of [reason, { code: reason, message: "words" }]) {
        expect(asked(product, { status: "FAILED", reason: said }).fact).toMatchObject({
          _tag: "Refused",
          providerReference: id,
          kind,
          failure: { code },
          note: `status FAILED, ${reason}`
        })
      }
    }
  })

  it("REJECTED and EXPIRED fail as statuses too", () => {
    expect(asked("collection", { status: "REJECTED" }).fact).toMatchObject({ failure: { code: "declined_by_payer" } })
    expect(asked("collection", { status: "EXPIRED" }).fact).toMatchObject({ failure: { code: "timed_out" } })
  })

  it.each([
    ["PAYER_REJECTION", { kind: "party", failure: { code: "declined_by_payer" } }],
    ["payment not approved", { kind: "party", failure: { code: "declined_by_payer" } }],
    ["LOW_BALANCE_OR_PAYEE_LIMIT_REACHED_OR_NOT_ALLOWED", { kind: "party", failure: { code: "unknown" } }]
  ])("%s is known of a collection, in any case and with blanks", (reason, fact) => {
    expect(asked("collection", { status: "FAILED", reason })).toMatchObject({ fact: { _tag: "Refused", ...fact }, alarm: null })
  })

  it("an unknown reason is still a failure; it alarms nobody and is not stored", () => {
    for (const reason of ["GALACTIC_EVENT", "toString", "Jane Doe has no account"]) {
      expect(asked("disbursement", { status: "FAILED", reason })).toMatchObject({
        fact: { _tag: "Refused", kind: "other", failure: { code: "unknown" } },
        alarm: null
      })
    }
    expect(asked("collection", { status: "FAILED", reason: "Jane Doe" }).fact).toMatchObject({
      note: "status FAILED, a reason in words"
    })
  })
})
