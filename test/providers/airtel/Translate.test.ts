import { describe, expect, it } from "vitest"
import { Reference } from "../../../src/domain/Ids.ts"
import { minor } from "../../../src/domain/Money.ts"
import type { PaymentKind } from "../../../src/domain/Payment.ts"
import { found, posted } from "../../../src/providers/airtel/Translate.ts"
import { wireId } from "../../../src/providers/airtel/Wire.ts"
import type { ProviderResponse } from "../../../src/providers/Transport.ts"
import { newReference } from "../contract/Orders.ts"
import { unlessFound } from "../MoneyCallAnswer.ts"

const reference = newReference()
const id = wireId(reference)
const own = { reference, currency: "UGX", fee: minor(225n), isEarly: false } as const

const answered = (body: unknown, status = 200, contentType = "application/json"): ProviderResponse => ({
  _tag: "Answered",
  status,
  contentType,
  body: typeof body === "string" ? body : JSON.stringify(body)
})

/** As Airtel's documents show an answer: the transaction, and beside it how the call went. */
const said = (transaction: object, codes: object, success = true) => ({
  data: { transaction: { id, ...transaction } },
  status: { code: success ? "200" : "400", message: "Ada K, 752604418", success, ...codes }
})
const refusal = (codes: object, transaction: object = { id: false, status: "no" }) => said(transaction, codes, false)

describe("the transaction.id", () => {
  it("is 32 hexadecimal digits, the same for the same reference, and never another's", () => {
    expect(wireId(Reference.make("AAA688MG9KT6BQ76F4NM4BJRH5"))).toBe("46d1d98f438b44c69577a3c380f56db8")
    for (let made = 0; made < 200; made++) expect(wireId(newReference())).toMatch(/^[0-9a-f]{32}$/)
    expect(wireId(newReference())).not.toBe(id)
  })
})

type Row = readonly [string, PaymentKind, ProviderResponse, object, isLoud: boolean]

describe("the answer to the POST of a payout or charge", () => {
  const refused = (kind: string, code: string) => ({ _tag: "Refused", providerReference: null, kind, failure: { code } })
  const unknown = (reason = "bad_response") => ({ _tag: "Unknown", reason })
  const accepted = { _tag: "Accepted", providerReference: id }
  const prompt = { response_code: "DP00800001006", result_code: "ESB000010" }
  const rows: ReadonlyArray<Row> = [
    [
      "a prompt that was sent is under way, in the words of a success",
      "collection",
      answered(said({ status: "SUCCESS" }, prompt)),
      accepted,
      false
    ],
    ["its other spelling, too", "collection", answered(said({ status: "Success." }, prompt)), accepted, false],
    [
      "a charge that is said to be paid in the answer is not understood",
      "collection",
      answered(said({ status: "TS" }, { response_code: "DP00800001001" })),
      unknown(),
      true
    ],
    [
      "a disbursement that is done",
      "payout",
      answered(said({ status: "TS", reference_id: "CI261128.1507.H00406" }, { response_code: "DP00900001001" })),
      { _tag: "Succeeded", amount: null, currency: "UGX", fee: null, providerReference: id, receipt: "CI261128.1507.H00406" },
      false
    ],
    [
      "a disbursement in progress",
      "payout",
      answered(said({ status: "TIP" }, { response_code: "DP00900001006" })),
      accepted,
      false
    ],
    [
      "a disbursement that Airtel reconciles",
      "payout",
      answered(said({ status: "TA" }, { response_code: "DP00900001006" })),
      accepted,
      false
    ],
    [
      "a word that nobody knows",
      "payout",
      answered(said({ status: "DONE" }, { response_code: "DP00900001001" })),
      unknown(),
      true
    ],
    [
      "another's transaction",
      "payout",
      answered(said({ id: "5d21ce90a7b84f31", status: "TS" }, { response_code: "DP00900001001" })),
      unknown(),
      true
    ],
    [
      "a success beside a refusal is asked for",
      "payout",
      answered(said({ status: "TF" }, { response_code: "DP00900001001" })),
      unknown(),
      true
    ],
    [
      "HTTP 200, and our wallet is short",
      "payout",
      answered(refusal({ response_code: "DP00900001007" })),
      refused("pool", "provider_rejected"),
      true
    ],
    [
      "HTTP 200, and the number is wrong",
      "payout",
      answered(refusal({ response_code: "DP00900001013", result_code: "521002" })),
      refused("other", "provider_rejected"),
      false
    ],
    [
      "HTTP 200, and the recipient is unknown",
      "payout",
      answered(refusal({ response_code: "DP00900001012" })),
      refused("party", "invalid_destination"),
      false
    ],
    [
      "HTTP 200, and the payer has too little",
      "collection",
      answered(refusal({ response_code: "DP00800001007" })),
      refused("party", "insufficient_funds"),
      false
    ],
    [
      "HTTP 200, and the payer did not act",
      "collection",
      answered(refusal({ response_code: "DP00800001029" })),
      refused("party", "timed_out"),
      false
    ],
    [
      "the same under another status",
      "collection",
      answered(refusal({ response_code: "DP00800001008" }), 400),
      refused("other", "provider_rejected"),
      false
    ],
    ["a limit", "payout", answered(refusal({ response_code: "DP00900001003" })), refused("limit", "limit_exceeded"), false],
    [
      "a missing parameter",
      "payout",
      answered({ status: { response_code: "ROUTER003" } }),
      refused("config", "provider_rejected"),
      true
    ],
    ["a wrong PIN", "payout", answered({ status: { response_code: "ROUTER115" } }), refused("config", "provider_rejected"), true],
    [
      "a signature that is not taken",
      "payout",
      answered(refusal({ response_code: "DP00900001018" })),
      refused("config", "provider_rejected"),
      true
    ],
    [
      "a token that is not taken",
      "payout",
      answered({ error: "invalid_token" }, 401),
      refused("config", "provider_rejected"),
      true
    ],
    ["ambiguous", "payout", answered(refusal({ response_code: "DP00900001000" })), unknown("unavailable"), false],
    [
      "timed out, and may have been processed",
      "payout",
      answered(refusal({ response_code: "DP00900001014" })),
      unknown("unavailable"),
      false
    ],
    [
      "timed out before Airtel",
      "collection",
      answered({ status: { response_code: "ROUTER117" } }),
      unknown("unavailable"),
      false
    ],
    [
      "a refusal beside an ambiguous older code",
      "payout",
      answered(refusal({ response_code: "DP00900001005", result_code: "ESB000008" })),
      unknown("unavailable"),
      false
    ],
    ["a code that nobody knows", "payout", answered(refusal({ response_code: "DP00900001002" })), unknown(), true],
    [
      "a refusal under HTTP 500",
      "payout",
      answered(refusal({ response_code: "DP00900001013" }), 500),
      unknown("unavailable"),
      false
    ],
    ["a refusal under HTTP 408", "payout", answered(refusal({ response_code: "DP00900001013" }), 408), unknown("timeout"), false],
    [
      "a refusal under HTTP 429",
      "payout",
      answered(refusal({ response_code: "DP00900001013" }), 429),
      unknown("unavailable"),
      false
    ],
    ["a page under 403", "payout", answered("<html>Request Rejected</html>", 403, "text/html"), unknown(), true],
    ["no answer", "payout", { _tag: "Lost", reason: "timeout", note: "late" }, unknown("timeout"), false],
    ["nothing sent", "payout", { _tag: "NotSent", note: "refused" }, { _tag: "NotSent", note: "refused" }, false]
  ]
  for (const [name, kind, response, fact, isLoud] of rows)
    it(name, () => {
      const reading = unlessFound(posted(kind, response, own))
      expect(reading).toMatchObject({ fact })
      expect(reading.alarm !== null).toBe(isLoud)
      // The message has names, numbers and balances in it.
      expect(JSON.stringify(reading)).not.toMatch(/Ada|752604418/)
    })

  it.each(["TIP", "TI", "TA", "TS", "TR"])(
    "a refusal beside %s is none: what the transaction's status says is asked for",
    (status) => {
      for (const response_code of ["DP00900001012", "DP00900001005", "ROUTER110", "ROUTER115", "DP00900001018"])
        expect(posted("payout", answered(refusal({ response_code }, { status })), own)).toMatchObject({
          fact: { _tag: "Unknown", reason: "bad_response" },
          alarm: expect.any(String)
        })
    }
  )

  it("a disbursement that failed, and is not found, is not over: only its status fails it", () => {
    const placed = posted("payout", answered(refusal({ response_code: "DP00900001005" })), own)
    if (!("confirm" in placed)) throw new Error("a failure is believed at once")
    expect(placed.confirm(absent).fact).toMatchObject({ _tag: "Unknown", reason: "bad_response" })
    const failed = found("payout", answered(said({ status: "TF" }, { response_code: "DP00900001005" })), own)
    expect(placed.confirm(failed).fact).toMatchObject({ _tag: "Refused", failure: { code: "provider_rejected" } })
  })

  const absent = found("payout", answered(refusal({ response_code: "DP00900001015" })), own)
  const done = found("payout", answered(said({ status: "TS" }, { response_code: "DP00900001001" })), own)

  it("a refusal is believed once nothing is found by our id, and never against what is found", () => {
    const placed = posted("payout", answered(refusal({ response_code: "DP00900001013" })), own)
    if (!("confirm" in placed)) throw new Error("a refusal is believed at once")
    expect(placed.confirm(absent).fact).toMatchObject({ _tag: "Refused" })
    expect(placed.confirm(done).fact).toMatchObject({ _tag: "Succeeded" })
  })

  it.each<readonly [PaymentKind, object]>([
    ["payout", { response_code: "DP00900001011", result_code: "521050" }],
    ["payout", { response_code: "DP00900001017" }],
    ["collection", { result_code: "ESB000041" }]
  ])("a used id of a %s (%o) is another request's, unless this one was sent twice: no status has an amount", (kind, codes) => {
    const open = found("payout", answered(said({ status: "TIP" }, {})), own)
    const failed = found("payout", answered(said({ status: "TF" }, { response_code: "DP00900001012" })), own)
    const unsure = found("payout", answered(said({ status: "TF" }, {})), own)
    const first = posted(kind, answered(refusal(codes)), own)
    const second = posted(kind, answered(refusal(codes)), { ...own, isRepeated: true })
    if (!("confirm" in first) || !("confirm" in second)) throw new Error("a duplicate is believed at once")
    for (const looked of [done, open, unsure, absent])
      expect(first.confirm(looked)).toMatchObject({ fact: { _tag: "Mismatched" }, alarm: expect.any(String) })
    expect(first.confirm(failed).fact).toMatchObject({ _tag: "Refused" })
    expect(second.confirm(done).fact).toMatchObject({ _tag: "Succeeded" })
    expect(second.confirm(open).fact).toMatchObject({ _tag: "Accepted" })
    expect(second.confirm(absent)).toMatchObject({ fact: { _tag: "Unknown" }, alarm: expect.any(String) })
  })
})

describe("the status of a payout or charge", () => {
  const asked = (kind: PaymentKind, transaction: object, codes: object = {}, success = true) =>
    found(kind, answered(said(transaction, codes, success)), own)

  it.each(["TIP", "TI", "TA"])("%s is still open, whatever stands beside it", (status) => {
    const open = { fact: { _tag: "StillPending", providerReference: id }, alarm: null }
    expect(asked("collection", { status })).toMatchObject(open)
    expect(asked("payout", { status }, { response_code: "DP00900001013" }, false)).toMatchObject(open)
  })

  it("TS is a success without an amount, with the fee of the contract and Airtel's own number", () => {
    const paid = asked(
      "collection",
      { status: "TS", airtel_money_id: "CI261128.1422.H71203" },
      { response_code: "DP00800001001" },
      false
    )
    expect(paid).toStrictEqual({
      fact: {
        _tag: "Succeeded",
        providerReference: id,
        receipt: "CI261128.1422.H71203",
        amount: null,
        currency: "UGX",
        fee: 225n,
        note: "status TS, DP00800001001, 400"
      },
      alarm: null
    })
  })

  it("TF is a failure, of which the code says why; within three minutes of a charge it is looked at once more", () => {
    const failed = asked("collection", { status: "TF" }, { response_code: "DP00800001007" }, false)
    expect(failed.fact).toMatchObject({ _tag: "Refused", kind: "party", failure: { code: "insufficient_funds" } })
    expect(failed.fact).not.toHaveProperty("isUnsure")
    const early = found("collection", answered(said({ status: "TF" }, {})), { ...own, isEarly: true })
    expect(early.fact).toMatchObject({ _tag: "Refused", isUnsure: true })
    expect(asked("payout", { status: "TF" }, { response_code: "DP00900001001" }).fact).toMatchObject({
      _tag: "Refused",
      failure: { code: "unknown" }
    })
  })

  it("TR of a charge came back whole, as refunds of Airtel's are; without the charge's amount a person looks", () => {
    const reversed = answered(said({ status: "TR" }, { response_code: "DP00800001001" }))
    const { fact } = found("collection", reversed, { ...own, charged: minor(15_000n) })
    expect(fact).toMatchObject({ _tag: "Returned", amount: 15_000n, currency: "UGX", fee: 0n, charged: 225n })
    expect(found("payout", reversed, own)).toMatchObject({ fact: { _tag: "Unknown" }, alarm: expect.any(String) })
  })

  it("TE is a failure of a payer who did not act", () => {
    expect(asked("collection", { status: "TE" }, { response_code: "DP00800001029" }).fact).toMatchObject({
      _tag: "Refused",
      failure: { code: "timed_out" }
    })
  })

  it.each<readonly [PaymentKind, object]>([
    ["collection", { response_code: "DP00800001025" }],
    ["payout", { response_code: "DP00900001015" }],
    ["payout", { result_code: "ESB000045" }]
  ])("a %s that is not found (%o)", (kind, codes) => {
    expect(found(kind, answered(refusal(codes)), own)).toMatchObject({ fact: { _tag: "NotFound" }, alarm: null })
  })

  it.each([
    ["DP00900001015", id, "NotFound"],
    ["DP00900001015", false, "NotFound"],
    ["ESB000045", false, "NotFound"],
    ["DP00900001000", id, "Unknown"],
    ["DP00900001014", false, "Unknown"],
    ["ROUTER117", id, "Unknown"]
  ])("TF beside %s, with the id %o, is no failure: %s", (response_code, ownId, tag) => {
    const reading = found("payout", answered(refusal({ response_code }, { id: ownId, status: "TF" })), own)
    expect(reading).toMatchObject({ fact: { _tag: tag }, alarm: null })
  })

  it("TF of a payout without a code that refuses is looked at once more", () => {
    for (const codes of [{}, { response_code: "DP00900001001" }, { response_code: "DP00900001099" }])
      expect(asked("payout", { status: "TF" }, codes).fact).toMatchObject({ _tag: "Refused", isUnsure: true })
    expect(asked("payout", { status: "TF" }, { response_code: "DP00900001005" }).fact).not.toHaveProperty("isUnsure")
  })

  it.each(["TS", "TF", "TE", "TR"])("%s without our id proves nothing, in a status and in the answer to a payout", (status) => {
    for (const transaction of [
      { status, id: false },
      { status, id: null }
    ])
      for (const response_code of ["DP00900001001", "DP00900001012"])
        expect(asked("payout", transaction, { response_code }).fact).toMatchObject({ _tag: "Unknown", reason: "bad_response" })
    expect(posted("payout", answered(said({ status, id: false }, { response_code: "DP00900001001" })), own)).toMatchObject({
      fact: { _tag: "Unknown" }
    })
  })

  const unread: ReadonlyArray<readonly [string, ProviderResponse]> = [
    ["an unknown word", answered(said({ status: "TU" }, { response_code: "DP00800001001" }))],
    ["a word in small letters", answered(said({ status: "ts" }, { response_code: "DP00800001001" }))],
    ["no word", answered(said({}, { response_code: "DP00800001001" }))],
    ["another transaction", answered(said({ id: wireId(newReference()), status: "TS" }, {}))],
    ["a success that came back, without how much", answered(said({ status: "TR" }, {}))],
    ["a refused question", answered(refusal({ response_code: "ROUTER007" }))],
    ["a page under 404", answered("<html>", 404, "text/html")]
  ]
  it.each(unread)("%s proves nothing, and the operator is told", (_, response) => {
    expect(found("collection", response, own)).toMatchObject({
      fact: { _tag: "Unknown", reason: "bad_response" },
      alarm: expect.any(String)
    })
  })
})
