import { describe, expect, it } from "@effect/vitest"
import { Redacted } from "effect"
import { referenceFrom } from "../../../src/domain/Ids.ts"
import { chargedParty, recipientBody } from "../../../src/providers/paystack/Networks.ts"
import { identity, notFound } from "../../../src/providers/paystack/Refusals.ts"
import {
  chargeFound,
  chargeOutcome,
  lookupOfRefusedCharge,
  recipientIn,
  transferFound,
  transferOutcome,
  voucherOutcome
} from "../../../src/providers/paystack/Translate.ts"
import { ownReference, wireReference } from "../../../src/providers/paystack/Wire.ts"
import type { ProviderResponse } from "../../../src/providers/Transport.ts"
import { unlessFound } from "../MoneyCallAnswer.ts"

const reference = referenceFrom(Buffer.from("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
const own = wireReference(reference)
const order = { reference, currency: "GHS" } as const

const answered = (status: number, body: unknown, contentType = "application/json"): ProviderResponse => ({
  _tag: "Answered",
  status,
  contentType,
  body: typeof body === "string" ? body : JSON.stringify(body)
})
const said = (data: object): ProviderResponse => answered(200, { status: true, message: "said", data })
const refused = (status: number, error: object = {}): ProviderResponse =>
  answered(status, { status: false, message: "no", ...error })
/** A request that was not carried out for its own sake. */
const ofRequest = (status: number, error: object = {}): ProviderResponse =>
  refused(status, { type: "validation_error", ...error })

const transfer = (status: string, change: object = {}) =>
  said({ transfer_code: "TRF_1", reference: own, status, amount: 12345, currency: "GHS", fee_charged: 500, ...change })
const charge = (status: string, change: object = {}) => said({ reference: own, status, ...change })
const verified = (status: string, change: object = {}) =>
  said({ id: 4099260516, reference: own, status, amount: 12345, currency: "GHS", fees: 186, ...change })

const sum = { amount: 12345n, currency: "GHS" }

describe("the status of a transfer", () => {
  const rows = [
    ["pending", { _tag: "StillPending", providerReference: "TRF_1" }, false],
    ["received", { _tag: "StillPending", providerReference: "TRF_1" }, false],
    ["otp", { _tag: "StillPending", providerReference: "TRF_1" }, true],
    ["success", { _tag: "Succeeded", providerReference: "TRF_1", ...sum, fee: 500n }, false],
    ["failed", { _tag: "Refused", providerReference: "TRF_1", kind: "other" }, false],
    ["abandoned", { _tag: "Refused" }, false],
    ["rejected", { _tag: "Refused" }, false],
    ["blocked", { _tag: "Refused" }, false],
    ["reversed", { _tag: "Returned", ...sum, fee: 0n, charged: 500n, at: null }, false],
    ["delayed", { _tag: "Unknown", reason: "bad_response" }, true]
  ] as const
  for (const [status, fact, loud] of rows)
    it(`${status} is ${fact._tag}${loud ? ", and an alarm" : ""}`, () => {
      const reading = transferFound(transfer(status), order)
      expect(reading.fact).toMatchObject(fact)
      expect(reading.alarm !== null).toBe(loud)
    })

  it("is that of the transfer's own answer; a success is asked for again, because the answer names no fee", () => {
    const tagOf = (status: string) => unlessFound(transferOutcome(transfer(status, { fee_charged: undefined }), order)).fact._tag
    expect(["pending", "received", "otp", "success"].map(tagOf)).toStrictEqual(["Accepted", "Accepted", "Accepted", "Accepted"])
    expect(["failed", "abandoned", "rejected", "blocked"].map(tagOf)).toStrictEqual(["Refused", "Refused", "Refused", "Refused"])
    expect(["reversed", "delayed"].map(tagOf)).toStrictEqual(["Unknown", "Unknown"])
    expect(unlessFound(transferOutcome(transfer("otp"), order)).alarm).not.toBeNull()
  })

  it("is ignored when the answer names another reference, and unreadable with an amount that is not a whole number", () => {
    for (const change of [{ reference: "other" }, { amount: 123.45 }, { amount: -1 }, { currency: "ZAR" }, { fee_charged: "x" }])
      expect(transferFound(transfer("success", change), order)).toMatchObject({
        fact: { _tag: "Unknown", reason: "bad_response" },
        ...("fee_charged" in change ? {} : { alarm: expect.any(String) })
      })
  })

  it("has the number that the banks' network has of it, and is read as before where there is none", () => {
    const named = transferFound(
      transfer("success", { session: { provider: "nip", id: "000013251129140512000123456789" } }),
      order
    )
    expect(named.fact).toMatchObject({ _tag: "Succeeded", receipt: "000013251129140512000123456789" })
    for (const session of [null, [], {}, "", { provider: null, id: null }, { id: {} }]) {
      const { fact } = transferFound(transfer("success", { session }), order)
      expect(fact).toMatchObject({ _tag: "Succeeded", ...sum })
      expect(fact).not.toHaveProperty("receipt")
    }
  })

  it("keeps the reserved fee when it names none", () => {
    expect(transferFound(transfer("success", { fee_charged: null }), order).fact).toMatchObject({
      _tag: "Succeeded",
      fee: null
    })
  })
})

describe("the status of a charge", () => {
  const unread = { _tag: "Unknown", reason: "bad_response" }
  const rows = [
    ["pay_offline", { _tag: "Accepted" }, { _tag: "StillPending" }, false],
    ["pending", { _tag: "Accepted" }, { _tag: "StillPending" }, false],
    ["ongoing", { _tag: "Accepted" }, { _tag: "StillPending" }, false],
    ["processing", { _tag: "Accepted" }, { _tag: "StillPending" }, false],
    ["queued", { _tag: "Accepted" }, { _tag: "StillPending" }, false],
    ["send_otp", { _tag: "VoucherMissing" }, { _tag: "StillPending", isUnfinished: true }, false],
    ["open_url", unread, { _tag: "StillPending" }, true],
    ["success", { _tag: "Succeeded", ...sum, fee: 186n }, { _tag: "Succeeded", ...sum, fee: 186n }, false],
    ["failed", { _tag: "Refused", failure: { code: "unknown" } }, { _tag: "Refused", failure: { code: "unknown" } }, false],
    ["abandoned", { _tag: "Accepted" }, { _tag: "StillPending", isUnfinished: true }, false],
    ["timeout", { _tag: "Refused", failure: { code: "timed_out" } }, { _tag: "Refused", failure: { code: "timed_out" } }, false],
    ["send_pin", { _tag: "Accepted" }, { _tag: "StillPending", isUnfinished: true }, true],
    ["send_phone", { _tag: "Accepted" }, { _tag: "StillPending", isUnfinished: true }, true],
    ["send_birthday", { _tag: "Accepted" }, { _tag: "StillPending", isUnfinished: true }, true],
    ["send_address", { _tag: "Accepted" }, { _tag: "StillPending", isUnfinished: true }, true],
    ["reversed", unread, { _tag: "Returned", ...sum, fee: 0n, charged: 186n, at: null }, true],
    ["sleeping", unread, unread, true]
  ] as const
  for (const [status, placed, found, loud] of rows)
    it(`${status} is ${placed._tag} in the answer, and ${found._tag} when asked for`, () => {
      const { alarm, fact } = unlessFound(chargeOutcome(verified(status), order))
      expect(fact).toMatchObject(placed)
      expect(alarm !== null).toBe(loud)
      expect(chargeFound(verified(status), order).fact).toMatchObject(found)
    })

  it("open_url is a payment page, and only a web address", () => {
    const page = "https://pay.example/1"
    expect(unlessFound(chargeOutcome(charge("open_url", { url: page }), order)).fact).toMatchObject({
      _tag: "NeedsRedirect",
      redirectUrl: page
    })
    for (const url of ["javascript:alert(1)", "", null])
      expect(unlessFound(chargeOutcome(charge("open_url", { url }), order)).fact).toMatchObject(unread)
  })

  it("success without fees is one without a known fee, with an amount that is not a whole franc it is none; both raise an alarm", () => {
    const feeless = chargeFound(verified("success", { fees: null }), order)
    expect(feeless).toMatchObject({ fact: { _tag: "Succeeded", fee: null }, alarm: expect.stringContaining("its fee") })
    for (const change of [{ currency: "XOF", amount: 50_050 }, { amount: "12.5" }])
      expect(chargeFound(verified("success", change), order)).toMatchObject({ fact: unread, alarm: expect.any(String) })
  })
})

describe("a refusal", () => {
  it("of a transfer is recognised by its code, and a short balance by its only documented text", () => {
    const kindOf = (response: ProviderResponse) => unlessFound(transferOutcome(response, order)).fact
    expect(kindOf(refused(400, { code: "invalid_transfer_recipient" }))).toMatchObject({ _tag: "Refused", kind: "party" })
    expect(kindOf(refused(400, { message: "Recipient specified is invalid" }))).toMatchObject({ _tag: "Refused", kind: "party" })
    for (const spelling of ["fulfil", "fulfill"])
      expect(kindOf(refused(400, { message: `Your balance is not enough to ${spelling} this request` }))).toMatchObject({
        kind: "pool"
      })
    expect(kindOf(ofRequest(400, { message: "Your balance is not enough, says somebody" }))).toMatchObject({ kind: "other" })
    expect(kindOf(ofRequest(422))).toMatchObject({ _tag: "Refused", kind: "other" })
    expect(unlessFound(transferOutcome(refused(401), order))).toMatchObject({
      fact: { _tag: "Refused", kind: "config" },
      alarm: expect.any(String)
    })
  })

  it("is not one with 429 or 5xx, nor when it does not come from Paystack", () => {
    for (const response of [
      refused(429),
      refused(500),
      refused(503),
      answered(400, "<html>", "text/html"),
      answered(403, "{}")
    ]) {
      expect(unlessFound(transferOutcome(response, order)).fact._tag).toBe("Unknown")
      expect(unlessFound(chargeOutcome(response, order)).fact._tag).toBe("Unknown")
    }
  })

  it("that is not of the request, or in no documented words, proves nothing, although nothing is found", () => {
    const unproven = [
      { type: "processor_error", code: "unknown" },
      { type: "api_error" },
      { type: "API_ERROR", message: "Your balance is not enough to fulfil this request" },
      { type: "validation_problem" },
      { type: "processor_error", code: "invalid_transfer_recipient" },
      { type: null },
      { message: "read ECONNRESET" },
      {}
    ]
    for (const error of unproven)
      for (const status of [400, 404, 422]) {
        const response = refused(status, error)
        const open = { fact: { _tag: "Unknown", note: `HTTP ${status}, which does not prove that nothing was made` } }
        expect(unlessFound(transferOutcome(response, order))).toMatchObject(open)
        expect(unlessFound(chargeOutcome(response, order))).toMatchObject(open)
      }
    const short = transferOutcome(
      refused(400, { type: "api_error", message: "Your balance is not enough to fulfil this request" }),
      order
    )
    expect(unlessFound(short).alarm).toContain("the balance there is not enough")
  })

  it("of a voucher is believed in documented words only: of any other the charge may be under way", () => {
    const tagOf = (response: ProviderResponse) => unlessFound(voucherOutcome(response, order)).fact._tag
    expect(tagOf(refused(400, { message: "Provided registration token is invalid" }))).toBe("CodeRejected")
    expect(tagOf(refused(400, { message: "Too many attempts. You have to wait for 30 minutes" }))).toBe("CodeRejected")
    expect(tagOf(ofRequest(400))).toBe("CodeRejected")
    expect(tagOf(refused(401))).toBe("Refused")
    for (const error of [{}, { type: "processor_error" }, { type: "api_error" }])
      expect(tagOf(refused(400, error))).toBe("Unknown")
  })

  it("is believed once nothing is found, and replaced by what is found", () => {
    const first = transferOutcome(ofRequest(400), order)
    if (!("confirm" in first)) throw new Error("a 400 is believed at once")
    expect(first.confirm(transferFound(refused(404), order)).fact).toMatchObject({ _tag: "Refused" })
    expect(first.confirm(transferFound(transfer("pending"), order)).fact).toMatchObject({ _tag: "Accepted" })
    expect(first.confirm(transferFound(transfer("success"), order)).fact).toMatchObject({ _tag: "Succeeded" })
    expect(first.confirm(transferFound(transfer("reversed"), order)).fact).toMatchObject({ _tag: "Unknown" })
    expect(first.confirm(transferFound(refused(500), order)).fact).toMatchObject({ _tag: "Unknown" })
  })

  it("because the reference was used is never believed", () => {
    const texts = [
      "Please provide a unique reference. Reference already exists on a transfer",
      "Duplicate Transaction Reference",
      "Duplicate charge request for reference",
      "Transaction reference is invalid"
    ]
    for (const message of texts)
      expect(unlessFound(transferOutcome(ofRequest(400, { message }), order))).toMatchObject({
        fact: { _tag: "Unknown" },
        alarm: expect.any(String)
      })
  })

  it("of a recipient is the recipient's fault, and any other there means that nothing was sent", () => {
    expect(recipientIn(said({ recipient_code: "RCP_1" }))).toBe("RCP_1")
    for (const status of [400, 404, 422])
      expect(recipientIn(refused(status))).toMatchObject({ fact: { _tag: "Refused", kind: "party" } })
    expect(recipientIn(ofRequest(400))).toMatchObject({ fact: { _tag: "Refused", kind: "party" } })
    const faults = [refused(400, { type: "processor_error" }), refused(400, { type: "api_error" })]
    for (const response of [...faults, refused(401), refused(429), refused(500), said({}), answered(400, "<html>", "text/html")])
      expect(recipientIn(response)).toMatchObject({ fact: { _tag: "NotSent" } })
  })
})

it("a voucher that was not sent says nothing about its charge, which was sent before it", () => {
  expect(voucherOutcome({ _tag: "NotSent", note: "ECONNREFUSED" }, order)).toMatchObject({
    fact: { _tag: "Unknown", reason: "unavailable", note: "the voucher was not sent: ECONNREFUSED" },
    alarm: null
  })
})

describe("a not-found answer", () => {
  it("is believed in Paystack's own format, and not as another page with the same status", () => {
    expect(notFound(refused(404))?.fact._tag).toBe("NotFound")
    expect(notFound(refused(400, { code: "transaction_not_found" }))?.fact._tag).toBe("NotFound")
    expect(notFound(refused(400))).toBeUndefined()
    expect(notFound(answered(404, "<html>", "text/html"))).toBeUndefined()
    const first = chargeOutcome(ofRequest(400), order)
    if (!("confirm" in first)) throw new Error("a 400 is believed at once")
    expect(lookupOfRefusedCharge(refused(404), order, first).fact._tag).toBe("Refused")
    expect(lookupOfRefusedCharge(refused(500), order, first).fact._tag).toBe("Unknown")
    expect(chargeFound(answered(404, "nothing", "text/plain"), order).fact._tag).toBe("Unknown")
  })

  it("is not the same as no answer", () => {
    expect(identity.readAsUnknown({ _tag: "Lost", reason: "timeout", note: "" }).fact).toMatchObject({ reason: "timeout" })
    expect(identity.readAsUnknown({ _tag: "NotSent", note: "ECONNREFUSED" }).fact).toMatchObject({ reason: "unavailable" })
    expect(identity.readAsUnknown(answered(504, "")).fact).toMatchObject({ reason: "timeout" })
    expect(identity.readAsUnknown(answered(200, "{"))).toMatchObject({
      fact: { reason: "bad_response" },
      alarm: expect.any(String)
    })
  })
})

describe("a phone number", () => {
  it("is written as each country's charges and recipients require, with or without a plus sign (38.14)", () => {
    const momo = (country: string, network: string, number: string) =>
      ({ _tag: "momo", country, network, msisdn: Redacted.make(number) }) as const
    for (const plus of ["", "+"]) {
      expect(chargedParty(momo("GH", "AT", `${plus}233271234567`), "GHS")).toStrictEqual({ phone: "0271234567", provider: "atl" })
      expect(chargedParty(momo("KE", "MPESA", `${plus}254712345678`), "KES")).toStrictEqual({
        phone: "+254712345678",
        provider: "mpesa"
      })
      expect(chargedParty(momo("CI", "ORANGE", `${plus}2250712345678`), "XOF")).toMatchObject({ phone: "+2250712345678" })
      const recipient = { type: "mobile_money", account_number: "0712345678", bank_code: "MPESA", currency: "KES" }
      expect(recipientBody(momo("KE", "MPESA", `${plus}254712345678`), "KES")).toMatchObject(recipient)
    }
    expect(chargedParty(momo("KE", "AIRTEL", "+254732345678"), "KES")).toStrictEqual({ phone: "+254732345678", provider: "atl" })
    expect(chargedParty(momo("KE", "MTN", "+254712345678"), "KES")).toBeUndefined()
    expect(chargedParty(momo("GH", "MTN", "+233271234567"), "KES")).toBeUndefined()
  })
})

describe("our reference", () => {
  it("is sent in small letters and read back unchanged; another's reference is not ours", () => {
    expect(own).toMatch(/^[a-z0-9]{26}$/)
    expect(ownReference(own)).toBe(reference)
    expect([ownReference(reference), ownReference("acv_9ee55786"), ownReference("")]).toStrictEqual([null, null, null])
  })
})
