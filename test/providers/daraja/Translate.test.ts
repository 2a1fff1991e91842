import { Option } from "effect"
import { describe, expect, it } from "vitest"
import { minor } from "../../../src/domain/Money.ts"
import { chargePosted, payoutFound, payoutPosted, promptFound, resultIn } from "../../../src/providers/daraja/Translate.ts"
import { conversationIdOf, parametersOf } from "../../../src/providers/daraja/Wire.ts"
import type { ProviderResponse } from "../../../src/providers/Transport.ts"
import type { StatusQuery } from "../../../src/services/ports/Provider.ts"
import { newReference } from "../contract/Orders.ts"

const reference = newReference()
const order: StatusQuery = {
  charge: { country: "KE", method: "momo", network: "MPESA", amount: minor(12_500n), fee: minor(188n) },
  reference,
  providerReference: "checkout-1",
  currency: "KES",
  destinationCurrency: null,
  sentAt: 0
}
const said = (status: number, body: object): ProviderResponse => ({
  _tag: "Answered",
  status,
  contentType: "application/json",
  body: JSON.stringify(body)
})
const refused = (status: number, errorCode: string) => said(status, { requestId: "1", errorCode, errorMessage: "x" })
const prompt = (ResultCode: string, id = "ws_CO_1") =>
  promptFound(said(200, { ResponseCode: "0", CheckoutRequestID: id, ResultCode, ResultDesc: "x" }), {
    id: "ws_CO_1",
    handle: "checkout-1",
    reported: null,
    order,
    fee: () => minor(188n)
  })
const handle = () => "checkout-1"
const fact = (answer: object) => ("fact" in answer ? answer.fact : "looked up")
const alarm = (answer: object) => ("alarm" in answer ? answer.alarm : null)

describe("the result of a prompt", () => {
  it.each([
    ["1", "party", "insufficient_funds"],
    ["2", "limit", "limit_exceeded"],
    ["3", "limit", "limit_exceeded"],
    ["4", "limit", "limit_exceeded"],
    ["8", "config", "provider_rejected"],
    ["17", "limit", "limit_exceeded"],
    ["1001", "other", "unknown"],
    ["1019", "party", "timed_out"],
    ["1025", "other", "unknown"],
    ["1031", "party", "declined_by_payer"],
    ["1032", "party", "declined_by_payer"],
    ["2001", "party", "declined_by_payer"],
    ["2006", "party", "payer_not_found"],
    ["2028", "config", "provider_rejected"],
    ["8006", "party", "declined_by_payer"],
    ["SFC_IC0003", "config", "provider_rejected"]
  ])("%s is a failure: %s, %s", (code, kind, failure) => {
    const { alarm: told, fact: made } = prompt(code)
    expect(made).toMatchObject({ _tag: "Refused", kind, failure: { code: failure } })
    expect(made).not.toHaveProperty("isUnsure")
    expect(told !== null).toBe(kind === "config")
  })

  it.each(["26", "1037", "9999"])("%s is a failure that is asked about once more", (code) => {
    expect(prompt(code).fact).toMatchObject({ _tag: "Refused", isUnsure: true })
  })

  it("0 is paid with what was asked for, with the fee of the tariff", () => {
    expect(prompt("0").fact).toMatchObject({
      _tag: "Succeeded",
      amount: 12_500n,
      currency: "KES",
      fee: 188n,
      providerReference: "checkout-1"
    })
  })

  it.each(["4999"])("%s is under way", (code) => {
    expect(prompt(code).fact).toMatchObject({ _tag: "StillPending" })
  })

  it.each(["5", "77777", "", "0 ", "SFC_IC9999"])("%j, which no document has, is unknown, loudly", (code) => {
    const { alarm: told, fact: made } = prompt(code)
    expect(made).toMatchObject({ _tag: "Unknown", reason: "bad_response" })
    expect(told).not.toBeNull()
  })

  it("of another prompt is not this one's", () => {
    expect(prompt("0", "ws_CO_2").fact).toMatchObject({ _tag: "Unknown" })
  })

  it("500.001.1001 to a question is under way, to the call itself a refusal", () => {
    const response = refused(500, "500.001.1001")
    const question = promptFound(response, { id: "ws_CO_1", handle: "checkout-1", reported: null, order, fee: () => null })
    expect(question.fact).toMatchObject({ _tag: "StillPending", providerReference: "checkout-1" })
    expect(fact(chargePosted(response, handle))).toMatchObject({ _tag: "Refused", kind: "other" })
  })
})

describe("the answer to a call that moves money", () => {
  it.each([
    [400, "400.002.02", "Refused", "looked up"],
    [400, "400.002.05", "Refused", "looked up"],
    [400, "400.003.02", "Refused", "looked up"],
    [404, "404.001.03", "Refused", "Refused"],
    [401, "401.002.01", "Refused", "Refused"],
    [404, "404.003.01", "Refused", "Refused"],
    [405, "405.001", "Refused", "Refused"],
    [403, "403.002.1001", "Refused", "Refused"],
    [500, "500.003.02", "Refused", "Unknown"],
    [429, "500.003.03", "Refused", "Unknown"],
    [500, "500.001.1001", "Refused", "Unknown"],
    [500, "500.002.1001", "Unknown", "looked up"],
    [500, "500.003.1001", "Unknown", "Unknown"],
    [500, "00.002.1001", "Unknown", "Unknown"],
    [400, "400.999.99", "Unknown", "Unknown"]
  ])("%i %s is %s of a prompt and %s of a payout", (status, code, charge, payout) => {
    const tag = (answer: object) => ("fact" in answer ? (fact(answer) as { readonly _tag: string })._tag : "looked up")
    expect([tag(chargePosted(refused(status, code), handle)), tag(payoutPosted(refused(status, code), reference))]).toEqual([
      charge,
      payout
    ])
  })

  it.each(["ws_CO_\u0000", "ws_CO_\ud800", "", "x".repeat(257)])(
    "names a prompt that can be kept, and else %j is unknown",
    (id) => {
      const response = said(200, { ResponseCode: "0", CheckoutRequestID: id })
      expect(fact(chargePosted(response, handle))).toMatchObject({ _tag: "Unknown" })
    }
  )

  it("that takes it with another ResponseCode is unknown of a prompt, and looked up of a payout", () => {
    const taken = said(200, { ResponseCode: "1", CheckoutRequestID: "ws_CO_1" })
    expect(fact(chargePosted(taken, handle))).toMatchObject({ _tag: "Unknown" })
    expect(alarm(chargePosted(taken, handle))).not.toBeNull()
    expect(payoutPosted(taken, reference)).toHaveProperty("confirm")
  })
})

const result = (code: string | number, parameters: Readonly<Record<string, unknown>> | null = null, change: object = {}) =>
  Option.getOrThrow(
    resultIn({
      Result: {
        ResultType: 0,
        ResultCode: code,
        ...(parameters === null
          ? {}
          : { ResultParameters: { ResultParameter: Object.entries(parameters).map(([Key, Value]) => ({ Key, Value })) } }),
        ...change
      }
    })
  )
const shown = (word: string) => ({
  TransactionStatus: word,
  Amount: "780.00",
  ReceiptNo: "TKS532NMUA",
  OriginatorConversationID: conversationIdOf(reference)
})
const payout = (...[asked, reported = null]: [Parameters<typeof payoutFound>[0], Parameters<typeof payoutFound>[1]?]) =>
  payoutFound(asked, reported, { ...order, providerReference: conversationIdOf(reference) })

describe("the status of a payout", () => {
  it.each([
    ["Completed", "Succeeded"],
    ["Authorized", "StillPending"],
    ["Initiated", "StillPending"],
    ["Pending", "StillPending"],
    ["Cancelled", "Refused"],
    ["Declined", "Refused"],
    ["Expired", "Refused"],
    ["Sleeping", "Unknown"],
    ["", "Unknown"]
  ])("%s is %s", (word, tag) => {
    expect(payout(result(0, shown(word))).fact._tag).toBe(tag)
  })

  const ownId = conversationIdOf(reference)
  it.each([
    ["1", "pool"],
    ["2", "limit"],
    ["4", "limit"],
    ["8", "limit"],
    ["11", "config"],
    ["21", "config"],
    ["2001", "config"],
    ["2006", "config"],
    ["2028", "config"],
    ["2040", "party"],
    ["8006", "config"],
    ["SFC_IC0003", "party"],
    ["24", "config"]
  ])("that is Declined after its result said %s failed: %s", (code, kind) => {
    const reported = result(code, null, { OriginatorConversationID: ownId })
    expect(payout(result(0, shown("Declined")), reported).fact).toMatchObject({ _tag: "Refused", kind })
  })

  it.each([
    [{}],
    [{ OriginatorConversationID: "another" }],
    [{ OriginatorConversationID: ownId, ResultType: 1 }],
    [{ OriginatorConversationID: ownId, ResultType: null }]
  ])("takes no reason from a result that is not final, or not of this payout: %j", (change) => {
    const reported = result("1", null, change)
    expect(payout(result(0, shown("Declined")), reported).fact).toMatchObject({ _tag: "Refused", kind: "other" })
  })

  it.each(["1", "11", "15", "17", "18", "26", "29", "2001", "2006", "2028", "100000000", "100000002", "SFC_IC0003"])(
    "is unknown where the question itself failed with %s",
    (code) => {
      const reported = result("1", null, { OriginatorConversationID: ownId })
      expect(payout(result(code), reported)).toMatchObject({ fact: { _tag: "Unknown" }, alarm: expect.any(String) })
    }
  )

  it.each(["1", "2", "2040", "SFC_IC0003", "15", "999"])(
    "that an error is said of is no failure, whatever its result said: %s",
    (code) => {
      const reported = result(code, null, { OriginatorConversationID: ownId })
      expect(payout(result("R000002"), reported).fact).toMatchObject({ _tag: "NotFound" })
    }
  )

  it("of which more follows is under way; one parameter alone is read, and what is no text is left out", () => {
    expect(payout(result(0, null, { ResultType: 1 })).fact).toMatchObject({ _tag: "StillPending" })
    const one = { ResultParameters: { ResultParameter: { Key: "TransactionStatus", Value: "Initiated" } } }
    expect(parametersOf(result(0, null, one))).toEqual(new Map([["TransactionStatus", "Initiated"]]))
    expect(payout(result(0, { ...shown("Completed"), DebitPartyCharges: { odd: true } })).fact).toMatchObject({ fee: null })
  })

  it("with an amount that cannot be read, or of another identifier or none, is unknown", () => {
    const { OriginatorConversationID: _none, ...unnamed } = shown("Completed")
    expect(payout(result(0, unnamed)).fact).toMatchObject({ _tag: "Unknown" })
    expect(payout(result(0, { ...shown("Completed"), Amount: "much" })).fact).toMatchObject({ _tag: "Unknown" })
    expect(payout(result(0, { ...shown("Completed"), OriginatorConversationID: "another" })).fact).toMatchObject({
      _tag: "Unknown"
    })
  })
})
