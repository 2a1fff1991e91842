import { describe, expect, it } from "vitest"
import { minor } from "../../../src/domain/Money.ts"
import type { ProviderResponse } from "../../../src/providers/Transport.ts"
import { payoutFound, payoutPlaced, sessionFound, sessionPlaced } from "../../../src/providers/wave/Translate.ts"
import { newReference } from "../contract/Orders.ts"
import { unlessFound } from "../MoneyCallAnswer.ts"
import { payoutShown, sessionShown } from "./Orders.ts"

const answered = (status: number, body: unknown): ProviderResponse => ({
  _tag: "Answered",
  status,
  contentType: "application/json",
  body: typeof body === "string" ? body : JSON.stringify(body)
})
const reference = newReference()
const own = { reference, currency: "XOF" } as const
const error = (status: number, code: string) => answered(status, { code, message: "a text" })
const failed = (error_code: string) =>
  payoutShown(reference, { status: "failed", payout_error: { error_code, error_message: "a text" } })
const unknown = { _tag: "Unknown", reason: "bad_response" }
const refused = (kind: string, code: string) => ({ _tag: "Refused", kind, failure: { code } })

describe("the answer to a payout", () => {
  const sum = { amount: 25_000n, currency: "XOF", fee: 250n }
  const rows: ReadonlyArray<readonly [what: string, answer: ProviderResponse, fact: object, isAlarm: boolean]> = [
    [
      "processing",
      answered(200, payoutShown(reference, { status: "processing" })),
      { _tag: "Accepted", providerReference: "pt-1r7dv2kg0tz4a" },
      false
    ],
    ["succeeded", answered(200, payoutShown(reference)), { _tag: "Succeeded", ...sum }, false],
    ["reversed at once makes no sense", answered(200, payoutShown(reference, { status: "reversed" })), unknown, true],
    ["a word that nobody knows", answered(200, payoutShown(reference, { status: "SUCCEEDED" })), unknown, true],
    ["another's payout", answered(200, payoutShown(newReference())), unknown, true],
    ["a payout without a reference", answered(200, payoutShown(reference, { client_reference: null })), unknown, true],
    ["an amount with decimals", answered(200, payoutShown(reference, { receive_amount: "25000.5" })), unknown, true],
    [
      "failed, recipient-limit-exceeded",
      answered(200, failed("recipient-limit-exceeded")),
      refused("limit", "limit_exceeded"),
      false
    ],
    [
      "failed, recipient-account-blocked",
      answered(200, failed("recipient-account-blocked")),
      refused("party", "destination_unavailable"),
      false
    ],
    [
      "failed, recipient-account-inactive",
      answered(200, failed("recipient-account-inactive")),
      refused("party", "invalid_destination"),
      false
    ],
    ["failed, recipient-minor", answered(200, failed("recipient-minor")), refused("party", "destination_unavailable"), false],
    ["failed, insufficient-funds", answered(200, failed("insufficient-funds")), refused("pool", "provider_rejected"), true],
    [
      "failed for a reason that nobody knows",
      answered(200, failed("Jane Doe left")),
      refused("other", "provider_rejected"),
      false
    ],
    ["400 insufficient-funds", error(400, "insufficient-funds"), refused("pool", "provider_rejected"), true],
    [
      "422 insufficient-funds, in the form of a payout's own error",
      answered(422, { error_code: "insufficient-funds", error_message: "Insufficient funds in wallet." }),
      refused("pool", "provider_rejected"),
      true
    ],
    ["400 country-mismatch", error(400, "country-mismatch"), refused("party", "invalid_destination"), false],
    ["422 request-validation-error", error(422, "request-validation-error"), refused("other", "provider_rejected"), true],
    ["400 currency-mismatch", error(400, "currency-mismatch"), refused("config", "provider_rejected"), true],
    [
      "400 in the form of batches",
      answered(400, { error_code: "recipient-minor", error_message: "a text" }),
      refused("party", "destination_unavailable"),
      false
    ],
    [
      "400 with the code within",
      answered(400, { error: { code: "recipient-minor", message: "a text", httpcode: 400 } }),
      refused("party", "destination_unavailable"),
      false
    ],
    ["401 api-key-revoked", error(401, "api-key-revoked"), refused("config", "provider_rejected"), true],
    ["403 disabled-wallet", error(403, "disabled-wallet"), refused("config", "provider_rejected"), true],
    ["404 not-found", error(404, "not-found"), refused("other", "provider_rejected"), true],
    ["408", error(408, "request-timeout"), { _tag: "Unknown", reason: "timeout" }, false],
    ["429", error(429, "too-many-requests"), { _tag: "Unknown", reason: "unavailable" }, false],
    ["500", error(500, "internal-server-error"), { _tag: "Unknown", reason: "unavailable" }, false],
    ["503", error(503, "service-unavailable"), { _tag: "Unknown", reason: "unavailable" }, false],
    ["a firewall's 403", answered(403, "<html></html>"), unknown, true]
  ]
  for (const [what, answer, fact, isAlarm] of rows)
    it(what, () => {
      const { alarm, fact: read } = unlessFound(payoutPlaced(answer, own))
      expect(read).toMatchObject(fact)
      expect(alarm !== null).toBe(isAlarm)
    })

  it.each([
    ["the key was used with another body", error(409, "idempotency-mismatch")],
    ["that is said under another status", error(400, "idempotency-mismatch")],
    ["that is said as if our key were refused", error(403, "idempotency-mismatch")],
    ["there is a conflict in other words", error(409, "request-in-progress")],
    ["there is a conflict in a refusal's words", error(409, "currency-mismatch")],
    ["there is a conflict without words", answered(409, "")]
  ])("is looked up where %s, and no refusal then", (_what, conflict) => {
    const placed = payoutPlaced(conflict, own)
    if (!("confirm" in placed)) throw new Error("a fact without a lookup")
    expect(placed.confirm(payoutFound(answered(200, { result: [payoutShown(reference)] }), own)).fact).toMatchObject({
      _tag: "Succeeded"
    })
    expect(unlessFound(placed)).toMatchObject({ fact: unknown, alarm: expect.any(String) })
  })
})

describe("the search for a payout", () => {
  const found = (...result: ReadonlyArray<object>) => payoutFound(answered(200, { result }), own)

  it("finds nothing in an empty list, and one that came back with its fee", () => {
    expect(found().fact).toMatchObject({ _tag: "NotFound" })
    expect(found(payoutShown(reference, { status: "reversed" })).fact).toMatchObject({
      _tag: "Returned",
      amount: 25_000n,
      charged: 250n
    })
  })

  it("takes a row that is repeated for one payout, and believes neither several payouts nor another's", () => {
    expect(found(payoutShown(reference), payoutShown(reference)).fact).toMatchObject({ _tag: "Succeeded" })
    expect(found(payoutShown(reference), payoutShown(reference, { id: "pt-2" }))).toMatchObject({
      fact: unknown,
      alarm: expect.any(String)
    })
    expect(found(payoutShown(newReference())).fact).toMatchObject(unknown)
  })
})

describe("a checkout session", () => {
  const fee = () => minor(225n)
  const found = (...result: ReadonlyArray<object>) => sessionFound(answered(200, { result }), { ...own, fee })
  const session = (checkout_status: string, payment_status: string, change: object = {}) =>
    sessionShown(reference, { checkout_status, payment_status, ...change })

  it("is a page to visit", () => {
    expect(unlessFound(sessionPlaced(answered(200, sessionShown(reference)), own))).toMatchObject({
      fact: {
        _tag: "NeedsRedirect",
        providerReference: "cos-1s9t0xyz2a4b6",
        redirectUrl: "https://pay.wave.com/c/cos-1s9t0xyz2a4b6?a=15000&c=XOF",
        observedAmount: 15_000n,
        observedCurrency: "XOF"
      },
      alarm: null
    })
  })

  it("that conflicts with something is looked up, and not refused where nothing is found", () => {
    expect(unlessFound(sessionPlaced(error(409, "checkout-session-conflict"), own))).toMatchObject({ fact: unknown })
  })

  const rows: ReadonlyArray<readonly [checkout: string, payment: string, fact: object]> = [
    ["open", "processing", { _tag: "StillPending", isUnfinished: true }],
    ["open", "cancelled", { _tag: "StillPending", isUnfinished: true }],
    ["open", "succeeded", unknown],
    ["complete", "processing", { _tag: "StillPending" }],
    ["complete", "succeeded", { _tag: "Succeeded", amount: 15_000n, currency: "XOF", fee: 225n }],
    ["complete", "cancelled", { _tag: "Refused" }],
    ["expired", "processing", refused("other", "timed_out")],
    ["expired", "cancelled", { _tag: "Refused" }],
    ["expired", "succeeded", unknown],
    ["Complete", "succeeded", unknown],
    ["paused", "processing", unknown]
  ]
  for (const [checkout, payment, fact] of rows)
    it(`${checkout} and ${payment}`, () => {
      expect(found(session(checkout, payment)).fact).toMatchObject(fact)
    })

  it("whose payment failed goes on while it is open, and has failed for that once it expired", () => {
    const last_payment_error = { code: "insufficient-funds", message: "a text" }
    expect(found(session("open", "processing", { last_payment_error })).fact).toMatchObject({
      _tag: "StillPending",
      isUnfinished: true
    })
    expect(found(session("expired", "processing", { last_payment_error })).fact).toMatchObject(
      refused("party", "insufficient_funds")
    )
  })

  it("that was paid counts before the others of its reference, and two that were paid are nobody's success", () => {
    const [stray, paid] = [session("expired", "processing", { id: "cos-stray" }), session("complete", "succeeded")]
    expect(found(stray, paid).fact).toMatchObject({ _tag: "Succeeded", providerReference: "cos-1s9t0xyz2a4b6" })
    expect(found(paid, session("complete", "succeeded", { id: "cos-2" })).fact).toMatchObject(unknown)
    expect(found(stray, session("open", "processing")).fact).toMatchObject({ _tag: "StillPending" })
  })
})
